"""The definition of a quantity: its function, the kinds of its parameters, its result; and the variants of its code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model

from .kinds import NEWTON_EULER, AxesName, ExternalWrenches, Input, Kind, OneFrame, Request
from .live import GROUPS, checked
from .results import ArrayResult, Shape, result

CONTROLS = dict.fromkeys(("out", "threads", "check", "backend")).keys()  # keywords of the call itself
REQUIRED = inspect.Parameter.empty


class Parameter(NamedTuple):
    """A parameter of a quantity's function.

    default: REQUIRED where it has none. positional: whether it may be passed by position.
    """

    kind: Kind
    default: Any
    positional: bool


@dataclass(frozen=True)
class Variant:
    """The selection of a quantity's code beside the robot: choices by parameter, and groups of live parameters."""

    choices: tuple[tuple[str, Any], ...] = ()
    live: tuple[str, ...] = ()

    def chosen(self, **choices: Any) -> Variant:
        """The variant with other choices."""
        return replace(self, choices=tuple((dict(self.choices) | choices).items()))


class Definition:
    """The definition of a quantity: `function(robot, …)` computes it for one state, of floats or traced scalars.

    shape: of the result, or of each field of a named tuple; by field where these differ; None: as computed. See
    `quantity` for the others.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shape: Shape | dict[str, Shape] | None,
        *,
        name: str | None = None,
        refuses: Callable[[Model], str | None] = lambda model: None,
        unit_quaternions: bool = True,
        differentiates: bool = False,
        in_double: bool = False,
        singular: Callable[[Model, Mapping[str, Any], np.ndarray], str] | None = None,
        unbounded: Callable[[Model, Mapping[str, np.ndarray]], str] | None = None,
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.function, self.name, self.shape = function, name or function.__name__, shape
        self.refuses, self.unit_quaternions, self.differentiates = refuses, unit_quaternions, differentiates
        self.in_double, self.singular, self.unbounded = in_double, singular, unbounded
        self.elsewhere = elsewhere or {}
        self.method: Callable[..., Any] = function  # replaced by what `Robot` has under its name

    def __repr__(self) -> str:
        return f"<Quantity {self.name}>"

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters after the robot, in order."""
        _, *signature = inspect.signature(self.function).parameters.values()
        parameters = {}
        for p in signature:
            if p.kind is not p.VAR_KEYWORD and p.name not in self.elsewhere:
                parameters[p.name] = Parameter(self._kind(p), p.default, p.kind is not p.KEYWORD_ONLY)
        return parameters

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """Names of the parameters that may be passed by position."""
        return tuple(name for name, p in self.parameters.items() if p.positional)

    def _kind(self, parameter: inspect.Parameter) -> Kind:
        for mark in get_args(self._annotation(parameter.annotation))[1:]:
            if isinstance(mark, Kind):
                return mark
        raise DalembertError(
            f"{self.name}: of which kind is {parameter.name!r}? annotate it, with dalembert.kinds.Configuration, "
            "Tangent or Number, for instance"
        )

    def _annotation(self, annotation: Any) -> Any:
        """The object that an annotation names; None where its name is unknown at run time."""
        if not isinstance(annotation, str):
            return annotation
        with suppress(NameError, AttributeError):
            return eval(annotation, self.function.__globals__)
        return None

    @cached_property
    def result(self) -> ArrayResult:
        """The memory layout of the result."""
        return result(self._annotation(inspect.signature(self.function).return_annotation), self.shape)

    @cached_property
    def state(self) -> int:
        """Number of leading arrays that a call must have."""
        kinds = list(self.parameters.values())
        plain = [isinstance(p.kind, Input) and p.positional and p.default is REQUIRED for p in kinds]
        return plain.index(False) if False in plain else len(plain)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the arrays of numbers that every call has."""
        return tuple(
            getattr(p.kind, "called", None) or name for name, p in self.parameters.items() if not p.kind.chooses
        )

    @property
    def framed(self) -> bool:
        """Whether it is of a frame."""
        return any(isinstance(p.kind, OneFrame) and p.default is REQUIRED for p in self.parameters.values())

    @property
    def loaded(self) -> bool:
        """Whether external wrenches change it."""
        return any(isinstance(p.kind, ExternalWrenches) for p in self.parameters.values())

    def sizes(self, model: Model, variant: Variant) -> dict[str, int]:
        """Input name → size, in the order of the compiled call: parameters, then groups of live parameters."""
        choices = dict(variant.choices)
        sizes: dict[str, int] = {}
        for name, p in self.parameters.items():
            sizes |= p.kind.sizes(model, name, choices.get(name))
        return sizes | {name: len(GROUPS[name].values(model)) for name in variant.live}

    def shapes(self, model: Model, variant: Variant) -> dict[str, tuple[int, ...]] | None:
        """Output name → shape for one state; None where they are not declared."""
        return self.result.shapes(self.name, model, dict(variant.choices))

    def variant(self, model: Model, live: str | Iterable[str] = (), **options: Any) -> Variant:
        """The variant with these options, all of them checked; None means the default."""
        request = Request(self.name, model)
        for name, p in self.parameters.items():
            value = options.pop(name, None)
            if p.kind.chooses:
                value = p.default if value is None else value
                if value is REQUIRED:
                    frames = f", one of: {', '.join(f.name for f in model.frames[:8])} …"
                    hint = frames if isinstance(p.kind, OneFrame) else ""
                    raise DalembertError(f"{self.name}: which {name}? pass {name}=…{hint}")
                request.choices[name], _ = p.kind.split(request, name, value)
        self._refuse(request, {name: value for name, value in options.items() if value is not None})
        return Variant(tuple(request.choices.items()), checked(live))

    def _refuse(self, request: Request, options: dict[str, Any]) -> None:
        """Raise for options that the quantity does not have; frame and axes are shared by several quantities."""
        options.pop("frame", None)
        if "axes" in options:
            AxesName().split(request, "axes", options.pop("axes"))
        if options.pop("external", None):
            raise DalembertError(f"{self.name}: no external wrench acts on it: leave out external")
        if (method := options.pop("method", NEWTON_EULER)) != NEWTON_EULER:
            raise unknown("method", str(method), [NEWTON_EULER])
        if options:
            raise DalembertError(f"{self.name}: has no option {next(iter(options))!r}")

    def admit(self, model: Model) -> None:
        """Raise if the model cannot have it."""
        if reason := self.refuses(model):
            raise DalembertError(f"{self.name}: {reason}")

    def bound(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """(value of every parameter, keywords of the call itself)."""
        positional = self.positional
        if len(inputs) > len(positional):
            count = f"{len(positional) + 1} positional arguments but {len(inputs) + 1} were given"  # with the robot
            raise TypeError(f"{self.name}() takes {count}")
        values, controls = dict(zip(positional, inputs, strict=False)), dict[str, Any]()
        for name, value in keywords.items():
            if name in values:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
            if name in self.parameters:
                values[name] = value
            elif name in CONTROLS:
                controls[name] = value
            else:
                *known, last = [*(n for n in self.parameters if n not in positional), *CONTROLS]
                raise TypeError(f"{self.name}() has no keyword {name!r}: expected {', '.join(known)} or {last}")
        missing = [name for name, p in self.parameters.items() if values.setdefault(name, p.default) is REQUIRED]
        if missing:
            how = "positional" if missing[0] in positional else "keyword-only"
            names = " and ".join(map(repr, missing))
            raise TypeError(
                f"{self.name}() missing {len(missing)} required {how} argument{'s'[: len(missing) - 1]}: {names}"
            )
        return values, controls
