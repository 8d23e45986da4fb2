"""Quantities, and their one path from a method call to numbers.

A quantity is defined by one function of a robot and one state, decorated with `quantity`: its signature and docstring
are those of the method of `Robot`, the annotations of its parameters say of what kind they are (see `kinds`), and its
body is the algorithm, which is traced once per robot and choice of code. Single calls, batches, named tuples, frames
and the use inside other traced functions all come from `Quantity.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial, update_wrapper, wraps
from inspect import getattr_static
from types import BuiltinFunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast, overload

import numpy as np

from dalembert.compiler import execute
from dalembert.compiler.backends.signature import Parameter
from dalembert.compiler.execute import Call, content, is_traced
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError
from dalembert.math.arrays import as_traced
from dalembert.model import Model

from . import residuals
from .definition import REQUIRED, Definition, Variant
from .fast import documented, finite, in_double, way_of_call
from .guards import check_quaternions, first_unbounded, overflow, quaternion_guards
from .kinds import ExternalWrenches, Input, Request
from .live import DIVIDING, GROUPS, check_live, with_conditions
from .results import Dim, Shape
from .tangent import differentiated

if TYPE_CHECKING:
    from dalembert.robot import Robot

F = TypeVar("F", bound=Callable[..., Any])


class Keywords(TypedDict, total=False):
    """Keywords of every numeric method.

    out: array to write the result into. threads: the most to use for a batch (default: DALEMBERT_THREADS, else all
    processors). check: False lets NaN, inf and quaternions that are not of unit length through; "residual" puts results
    into a law that another algorithm computes (dynamics, velocities, derivatives), and raises where they miss it.
    backend: what computes, by name: "llvm" (default), "interpreter", "cuda", "jax", "torch", or one added with
    `register_backend`.
    """

    out: Any
    threads: int | None
    check: bool | str
    backend: str | None


class Quantity(Definition):
    """A quantity and its numbers: compiled for a robot on first use, by its fast call from then on."""

    def evaluate(self, robot: Robot, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result of a call of the method; afterwards its fast call takes calls with the same choices."""
        for keyword, method in self.elsewhere.items():
            if keyword in keywords and (given := keywords.pop(keyword)) is not None:
                return getattr(robot, method)(*inputs, **{keyword: given}, **keywords)
        values, controls = self.bound(inputs, keywords)
        if not robot._is_traced and residuals.wanted(self.name, controls.get("check")):
            result = self.evaluate(robot, inputs, keywords | {"check": True})
            if not is_traced(*values.values()):
                residuals.verify(self.name, robot, result, values)
            return result
        request, numbers = Request(self.name, robot.model), list[Any]()
        for name, (kind, _, _) in self.parameters.items():
            choice, arrays = kind.split(request, name, values[name])
            numbers += arrays
            if kind.chooses:
                request.choices[name] = choice
        variant = Variant(tuple(request.choices.items()))
        fast = robot._fast.get((self, variant))
        if fast is not None:
            value = fast(*numbers, **controls)
        else:
            value = self._finished(robot.model, variant, partial(self.run, robot, variant))(*numbers, **controls)
            call = robot._calls.get((self, variant))
            if call is None:  # inside a traced function
                return value
            builtin = call.builtin(self.name, "", partial(self.run, robot, variant))
            fast = robot._fast[self, variant] = self._finished(robot.model, variant, builtin)
        self._lead(robot, variant, values)
        return value

    def fast_method(self, robot: Robot, slow: Callable[..., Any]) -> Callable[..., Any]:
        """The fast call of the method, with `slow` behind it for what it does not take; or `slow` itself."""
        parameters = [
            Parameter(name, p.kind.role, p.default, p.default is REQUIRED, p.kind.record)
            for name, p in self.parameters.items()
        ]
        return execute.method(self.name, self._signature, parameters, len(self.positional), slow, robot)

    @cached_property
    def _signature(self) -> str:
        return documented(self.method)

    def _lead(self, robot: Robot, variant: Variant, values: Mapping[str, Any]) -> None:
        """Let the fast call of the method take calls with these choices."""
        builtin = robot._methods.get(self)
        if not isinstance(builtin, BuiltinFunctionType) or self.singular is not None or self.in_double:
            return  # there is none, or Python goes over the result
        way = way_of_call(self.parameters, values)
        if way is None or (self, *way.choices) in robot._led:
            return
        call = robot._calls[self, variant]
        if len(way.places) != len(call.sizes):  # a parameter of the user's own kind
            return
        kind, views = self.result.parts(robot.model, dict(variant.choices))
        table = robot._led.get((self, variant))
        table = call.variant(way.places, kind, views) if table is None else table
        if table is not None:
            execute.lead(builtin, way.choices, table)
            robot._led[self, variant] = robot._led[self, *way.choices] = table

    def run(self, robot: Robot, variant: Variant, *numbers: Any, **controls: Any) -> Any:
        """The outputs for arrays of numbers, or their expressions if these are traced."""
        if robot._is_traced or is_traced(*numbers):
            return self._trace(robot, variant, numbers)
        return self.call(robot, variant)(*numbers, **controls)

    def call(self, robot: Robot, variant: Variant) -> Call:
        """The compiled call."""
        call = robot._calls.get((self, variant))
        if call is None:
            call = robot._calls.setdefault((self, variant), self._compiled(robot, variant))
        return call

    def outputs(self, robot: Robot, variant: Variant, *numbers: np.ndarray) -> Any:
        """The outputs for one state, of floats or traced scalars; live parameters take the place of the constants."""
        count = len(numbers) - len(variant.live)
        model = robot.model
        for name, x in zip(variant.live, numbers[count:], strict=True):
            model = GROUPS[name].put(model, x)
        robot = robot._traced(model)
        choices, state = dict(variant.choices), iter(numbers[:count])
        arguments = {name: p.kind.join(choices.get(name), state) for name, p in self.parameters.items()}
        return self.result.pack(self.function(robot, **arguments))

    def live_function(self, robot: Robot, variant: Variant) -> Callable[..., Any]:
        """A function of the inputs and of live parameters, by position or by name."""
        call = self.call(robot, variant)
        loads = "external=(), " if self.loaded else ""
        signature = f"({', '.join(call.sizes)}, *, {loads}out=None, threads=None, check=True)"
        doc = f"{signature}\n--\n\n{self.name} with live parameters: {', '.join(variant.live)}."
        return call.builtin(self.name, doc, partial(self.evaluate_named, robot, variant))

    def evaluate_named(self, robot: Robot, variant: Variant, *inputs: Any, external: Any = (), **keywords: Any) -> Any:
        """The outputs for inputs in the order of `sizes`, or by name; external wrenches beside them."""
        names = list(self.sizes(robot.model, variant))
        arrays = [*inputs, *(keywords.pop(n) for n in names[len(inputs) :] if n in keywords)]
        if len(arrays) != len(names):
            raise TypeError(f"{self.name}() takes {len(names)} arguments ({', '.join(names)}), got {len(arrays)}")
        if external and not self.loaded:
            raise DalembertError(f"{self.name}: no external wrench acts on it: leave out external")
        if external:
            request = Request(self.name, robot.model, list(arrays))
            places, loads = ExternalWrenches().split(request, "external", external)
            count = len(arrays) - len(variant.live)
            arrays[count:count] = loads
            variant = variant.chosen(external=places)
        return self.run(robot, variant, *arrays, **keywords)

    def _finished(self, model: Model, variant: Variant, run: Callable[..., Any]) -> Callable[..., Any]:
        """`run` with its post-processing: rounding, the check for singular states, named tuples."""
        choices = dict(variant.choices)
        if self.singular is not None:
            run = finite(self.name, run, partial(self.singular, model, choices))
        if self.in_double:
            run = in_double(self.name, run, self.state)
        unpack = self.result.unpacker(model, choices)
        return run if unpack is None else lambda *numbers, **controls: unpack(run(*numbers, **controls))

    def _trace(self, robot: Robot, variant: Variant, numbers: tuple[Any, ...]) -> Any:
        """The outputs as expressions of traced inputs, for use inside a traced function."""
        self.admit(robot.model)
        arrays = []
        for (argument, size), x in zip(self.sizes(robot.model, variant).items(), numbers, strict=True):
            array = np.atleast_1d(np.asarray(x, object))
            if array.shape != (size,):
                raise DalembertError(
                    f"{self.name}: {argument} has shape {array.shape}, expected ({size},) inside a traced function"
                )
            arrays.append(array)
        compute = partial(self.outputs, robot, variant)
        value = (differentiated(compute) if self.differentiates else compute)(*arrays)
        shown = (lambda x: x) if robot._is_traced else as_traced  # by the functions of users
        if isinstance(value, Mapping):
            return tuple(shown(np.asarray(x, object)) for x in value.values())
        value = np.asarray(value, object)
        return shown(value) if value.ndim else value[()]

    def _compiled(self, robot: Robot, variant: Variant) -> Call:
        """The compiled form for one model. Users' code is traced now, and identified by its graph."""
        model, shapes = robot.model, self.shapes(robot.model, variant)
        self.admit(model)
        sizes = self.sizes(model, variant)
        configurations = [n for n, p in self.parameters.items() if isinstance(p.kind, Input) and p.kind.configuration]
        live = variant.live if self.name in DIVIDING else ()
        guards = with_conditions(
            model, sizes, live, quaternion_guards(model, sizes, configurations, self.unit_quaternions)
        )
        compute = partial(self.outputs, robot._traced(model), variant)
        vectors = shapes is not None and all(len(shape) <= 1 for shape in shapes.values())
        rates = [name for name in sizes if name not in configurations] if vectors else []  # matrices: it takes time
        build = partial(trace, compute, sizes, self.name, guards, finite=bool(rates or self.unbounded))
        identity = content(model, variant, self.function)
        if shapes is None or identity is None:
            function, identity = build(), None
            computed = {o.name: o.shape for o in function.outputs}
            if shapes not in (None, computed):
                raise DalembertError(f"{self.name}: declared with shape {shapes}, but its function computes {computed}")
            shapes, build = computed, lambda: function  # type: ignore[assignment]

        def explain(named: dict[str, np.ndarray]) -> None:
            states = {name: named[name] for name in configurations}
            check_quaternions(model, self.name, states, unit=self.unit_quaternions)
            check_live(model, self.name, {group: named[group] for group in live})
            if rates or self.unbounded:
                place, state = first_unbounded(call, named)
                why = self.unbounded(model, state) if self.unbounded else overflow(model, state, rates)
                raise DalembertError(f"{self.name}{place}: {why}")

        call = Call(self.name, f"robot {model.name!r}", identity, sizes, shapes, build, explain)
        return call


class Method:
    """A quantity as a method: of a robot it is the fast call, of the class the function."""

    def __init__(self, definition: Quantity, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.quantity, self.function = definition, function
        definition.method = function

    def __call__(self, robot: Robot, /, *inputs: Any, **keywords: Any) -> Any:
        return self.__get__(robot)(*inputs, **keywords)

    def __get__(self, robot: Robot | None, kind: type | None = None) -> Callable[..., Any]:
        if robot is None:
            return self.function
        fast = robot._methods.get(self.quantity)
        if fast is None:
            slow = MethodType(self.function, robot)
            if robot._is_traced or residuals.EVERYWHERE:
                return slow
            fast = robot._methods.setdefault(self.quantity, self.quantity.fast_method(robot, slow))
            name = self.quantity.name
            if fast is not slow and getattr_static(type(robot), name, None) is self:
                robot.__dict__[name] = fast  # the next time nothing is asked here
        return fast


@overload
def quantity(function: F, /) -> F: ...


@overload
def quantity(
    *shape: Dim,
    fields: dict[str, Shape] | None = None,
    name: str | None = None,
    refuses: Callable[[Model], str | None] = ...,
    unit_quaternions: bool = True,
    differentiates: bool = False,
    in_double: bool = False,
    singular: Callable[[Model, Mapping[str, Any], np.ndarray], str] | None = None,
    unbounded: Callable[[Model, Mapping[str, np.ndarray]], str] | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> Callable[[F], F]: ...


def quantity(*shape: Any, fields: dict[str, Shape] | None = None, **traits: Any) -> Any:
    """Define a quantity by the function that computes it for one state; the result is called in the same way.

    shape: sizes of the result's axes, numbers or "nq", "nv", "nb" (bodies), "10 nb" …, none for a number; where the
    function returns a named tuple, of each field, or by field in `fields`. The decorator without parentheses takes the
    shape from what the function computes. The function's first parameter is the robot; the annotations of the others
    say what they are: `Configuration`, `Tangent`, `Number`, `Point`, `External`, `FrameName` …

    name: in messages and in generated code, default that of the function. refuses(model): why a robot cannot have it,
    in words, or None. unit_quaternions: whether those of its configurations must have unit length. differentiates:
    whether it takes derivatives in its inputs. in_double: whether single precision is computed in double. singular:
    words for a result that is not finite; unbounded: the same, from the state, where the compiled code looks for it.
    elsewhere: keywords without a kind, and the methods of the robot that answer calls with them.
    """

    def define(function: Callable[..., Any]) -> Callable[..., Any]:
        declared = None if undeclared else fields or shape
        definition = Quantity(function, declared, **traits)

        @wraps(function)
        def method(robot: Robot, /, *inputs: Any, **keywords: Any) -> Any:
            return definition.evaluate(robot, inputs, keywords)

        method.quantity = definition  # type: ignore[attr-defined]
        return Method(definition, method)

    undeclared = len(shape) == 1 and callable(shape[0])
    return define(shape[0]) if undeclared else define


def definition(function: Callable[..., Any]) -> Quantity:
    """The definition behind a function decorated with `quantity`."""
    return cast(Quantity, function.quantity)  # type: ignore[attr-defined]
