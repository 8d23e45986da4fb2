"""Parameters of quantities: numbers, which are inputs of its compiled code, and choices, which select the code.

The annotation of a parameter names its kind. A kind splits the caller's argument into a choice (hashable, part of the
code's identity) and arrays of numbers, and joins traced numbers of one state into the algorithm's argument, of the same
form as the caller's.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np

from dalembert.compiler.backends.signature import Record, Role
from dalembert.compiler.execute import is_single, is_traced, real_array
from dalembert.compiler.interop import is_foreign
from dalembert.dynamics.algorithms import constraint_count
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model

from .structure import ORIGIN, Wrench

__all__ = [
    "ORIGIN",
    "Axes",
    "Configuration",
    "External",
    "FrameName",
    "FrameNames",
    "Input",
    "Joints",
    "Kind",
    "Method",
    "Multipliers",
    "Number",
    "OptionalFrame",
    "Point",
    "Request",
    "Rows",
    "Tangent",
    "TaskDamping",
]

LOAD = ("torque", "force", "point")  # numbers of a wrench, three each
PARTS = {"orientation": (0, 1, 2), "position": (3, 4, 5)}  # rows of a frame
NEWTON_EULER, LAGRANGE, GENERALIZED = "newton-euler", "lagrange", "generalized-newton-euler"
# terms of other libraries, and the equivalents here
PINOCCHIO = {
    "local": "'body'",
    "local_world_aligned": "'world'",
}


@dataclass
class Request:
    """A call of a quantity, as far as its parameters have been examined."""

    quantity: str
    model: Model
    state: list[Any] = field(default_factory=list)  # the arrays so far, whose precision plain numbers take
    choices: dict[str, Any] = field(default_factory=dict)


class Kind:
    """A kind of parameter; this one is a choice that may be any hashable value."""

    chooses: ClassVar[bool] = True  # whether it selects the code
    role: ClassVar[Role] = Role.CHOICE  # in fast calls
    record: ClassVar[Record | None] = None  # of records

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        """(choice, arrays of numbers) of the value that the caller passed."""
        return value, []

    def sizes(self, model: Model, name: str, choice: Any) -> dict[str, int]:
        """Input name → size, of the arrays of numbers."""
        return {}

    def join(self, choice: Any, numbers: Iterator[np.ndarray]) -> Any:
        """The value that the algorithm sees."""
        return choice


@dataclass(frozen=True)
class Input(Kind):
    """Numbers (…, size); size: a number, "nq" or "nv". configuration: whether its quaternions must have unit length."""

    size: int | str
    configuration: bool = False
    chooses, role = False, Role.ARRAY

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        request.state.append(value)
        return None, [value]

    def sizes(self, model: Model, name: str, choice: Any) -> dict[str, int]:
        return {name: dimension(self.size, model, {})}

    def join(self, choice: Any, numbers: Iterator[np.ndarray]) -> Any:
        return next(numbers)


@dataclass(frozen=True)
class NumberInput(Kind):
    """A number, or one per state (…); `called`: the name of the input, where the parameter's would be ambiguous."""

    called: str | None = None
    chooses, role = False, Role.SCALAR

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        return None, [column(f"{request.quantity}: {name}", value, request.state)]

    def sizes(self, model: Model, name: str, choice: Any) -> dict[str, int]:
        return {self.called or name: 1}

    def join(self, choice: Any, numbers: Iterator[np.ndarray]) -> Any:
        return next(numbers)[0]


class PointInput(Kind):
    """A point (…, 3) in a frame; the choice is whether it is another one than the origin."""

    role = Role.OPTIONAL

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        if value is ORIGIN:
            return False, []
        return True, [beside(f"{request.quantity}: {name}", value, request.state)]

    def sizes(self, model: Model, name: str, choice: Any) -> dict[str, int]:
        return {name: 3} if choice else {}

    def join(self, choice: Any, numbers: Iterator[np.ndarray]) -> Any:
        return next(numbers) if choice else np.zeros(3)


class ExternalWrenches(Kind):
    """Wrenches of the surroundings; the choice is on which frames and along which axes, their vectors are numbers."""

    role = Role.RECORDS
    # an example of which no two fields are the same object
    record = Record(("frame", "axes"), LOAD, Wrench((1.0,) * 3, (2.0,) * 3, "frame", (3.0,) * 3, "axes"))

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        external = wrenches(value)
        places = tuple(_load_place(request.model, wrench) for wrench in external)
        numbers = [
            beside(f"{request.quantity}: {name}[{k}].{part}", getattr(wrench, part), request.state)
            for k, wrench in enumerate(external)
            for part in LOAD
        ]
        return places, numbers

    def sizes(self, model: Model, name: str, choice: Any) -> dict[str, int]:
        return {f"{name}[{k}].{part}": 3 for k in range(len(choice)) for part in LOAD}

    def join(self, choice: Any, numbers: Iterator[np.ndarray]) -> tuple[Wrench, ...]:
        return tuple(Wrench(frame=frame, axes=axes, **{part: next(numbers) for part in LOAD}) for frame, axes in choice)


class OneFrame(Kind):
    """The name of a frame."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        return frame_name(request, name, value), []


class PerhapsFrame(Kind):
    """The name of a frame, or None."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        return None if value is None else frame_name(request, name, value), []


class SomeFrames(OneFrame):
    """The name of a frame, or several; the algorithm sees a tuple of names."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            return (frame_name(request, name, value),), []
        if not value:
            raise DalembertError(f"{request.quantity}: which frame? pass a name or several")
        return tuple(frame_name(request, name, one) for one in value), []


class AxesName(Kind):
    """Along which axes a result is written: "world", "body" or the name of a frame."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        if isinstance(value, str) and value in ("world", "body"):
            return value, []
        try:
            return frame_name(request, name, value), []
        except DalembertError as error:
            meaning = PINOCCHIO.get(str(value).lower())
            hint = f"{name}={value!r} is {meaning} here" if meaning else str(error)
            raise DalembertError(f"{name}: expected 'world', 'body' (the frame's own) or a frame; {hint}") from None


class RowNumbers(Kind):
    """Which rows of the frames, 6 each: "position", "orientation" or numbers; None for all."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        frames = request.choices.get("frame")
        return chosen_rows(request.quantity, value, len(frames) if isinstance(frames, tuple) else 1), []


class JointNames(Kind):
    """Names of joints, one or several; the algorithm sees them in the order of the model, each once."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        names = {value} if isinstance(value, str) else set(value)
        for joint in names:
            request.model.joint(joint)
        return tuple(b.joint.name for b in request.model.bodies if b.joint.nv and b.joint.name in names), []


@dataclass(frozen=True)
class OneOf(Kind):
    """One of several names."""

    names: tuple[str, ...]

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        if not isinstance(value, str):
            raise DalembertError(f"{name}={value!r}: expected a name")
        if value not in self.names:
            raise unknown(name, value, self.names)
        return value, []


# Annotations of parameters. To a type checker they are the types that the caller may pass.
Configuration = Annotated[Any, Input("nq", configuration=True)]
Tangent = Annotated[Any, Input("nv")]
Multipliers = Annotated[Any, Input("nc")]
Number = Annotated[Any, NumberInput()]
TaskDamping = Annotated[Any, NumberInput("task_damping")]  # beside the group "damping" of live parameters
Point = Annotated[Any, PointInput()]
External = Annotated[Sequence[Wrench], ExternalWrenches()]
FrameName = Annotated[str, OneFrame()]
OptionalFrame = Annotated[str | None, PerhapsFrame()]
FrameNames = Annotated[str | Sequence[str], SomeFrames()]
Axes = Annotated[str, AxesName()]
Rows = Annotated[str | Sequence[int] | None, RowNumbers()]
Joints = Annotated[str | Sequence[str], JointNames()]
Method = Annotated[str, OneOf((NEWTON_EULER, LAGRANGE, GENERALIZED))]


def frame_name(request: Request, what: str, name: Any) -> str:
    """The name of a frame, checked."""
    if not isinstance(name, str):
        raise DalembertError(f"{what}={name!r}: expected the name of a frame of robot {request.model.name!r}")
    return request.model.frame(name).name


def chosen_rows(name: str, rows: str | Sequence[int] | None, frames: int = 1) -> tuple[int, ...] | None:
    """The rows of a task as numbers; None for all."""
    if rows is None:
        return None
    count = 6 * frames
    words = f"{name}: rows={rows!r}, expected 'position', 'orientation' or different numbers from 0 to {count - 1}"
    if isinstance(rows, str):
        if rows not in PARTS:
            raise DalembertError(words)
        return tuple(6 * f + k for f in range(frames) for k in PARTS[rows])
    try:
        chosen = tuple(int(k) for k in rows)
    except (TypeError, ValueError):
        raise DalembertError(words) from None
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= k < count for k in chosen):
        raise DalembertError(words)
    return chosen


def wrenches(external: Sequence[Wrench]) -> tuple[Wrench, ...]:
    """The external wrenches as a tuple; its entries are validated later."""
    try:
        return tuple(external)
    except TypeError:
        raise DalembertError(
            f"external: expected a sequence of dalembert.Wrench, got a {type(external).__name__}: write external=[…]"
        ) from None


def _load_place(model: Model, wrench: Wrench) -> tuple[str, str]:
    """Frame and axes of a wrench, by name."""
    if not isinstance(wrench, Wrench):
        raise DalembertError(f"external: expected a sequence of dalembert.Wrench, got {type(wrench).__name__}")
    if not wrench.frame:
        raise DalembertError("external: a Wrench says on which frame it acts: write Wrench(…, frame='tool')")
    model.frame(wrench.frame)
    if wrench.axes not in ("frame", "world"):
        if wrench.axes == "body":
            raise DalembertError("external: axes='body' of a Wrench: write 'frame' for the axes of its own frame")
        model.frame(wrench.axes)
    return wrench.frame, wrench.axes


def column(name: str, x: Any, state: Sequence[Any]) -> Any:
    """Numbers (…) as vectors of one element (…, 1), so that they take part in broadcasting."""
    if type(x) is float and all(type(i) is np.ndarray and i.dtype == np.float64 for i in state):
        return np.array((x,))  # the usual case
    if is_traced(x):
        return np.atleast_1d(np.asarray(x, object))
    if is_foreign(x):
        return x[..., None]
    if any(map(is_foreign, state)) and not isinstance(x, np.ndarray):
        return real_array(name, x, "expected a number or an array of them")[..., None].tolist()
    return x if is_traced(*state) else beside(name, x, state, "expected a number or an array of them")[..., None]


def beside(what: str, x: Any, state: Sequence[Any], expected: str = "expected (…, 3)") -> Any:
    """x as an array; Python's numbers take the precision of the arrays that they are used with."""
    if is_traced(x, *state):
        return x
    plain = type(x) in (int, float, list, tuple)
    if is_foreign(x) or (plain and any(map(is_foreign, state))):
        return x  # becomes an array of that library, in its precision
    a = real_array(what, x, expected)
    return a.astype(np.float32) if plain and all(is_single(i) for i in state) else a


def dimension(text: int | str, model: Model, choices: Mapping[str, Any]) -> int:
    """The size of an axis, such as "nv", "10 nb", "nq + 6" or 6.

    nq, nv; nb: bodies; nf: frames; nk: closures, nc: their equations; rows: of the chosen frames, 6 each, or those
    chosen; pairs: of links.
    """
    if isinstance(text, int):
        return text
    return sum(prod(_factor(word, model, choices) for word in term.split()) for term in text.split("+"))


def _factor(word: str, model: Model, choices: Mapping[str, Any]) -> int:
    if word.isdigit():
        return int(word)
    if word not in _SIZES:
        raise unknown("size", word, _SIZES, "shape")
    return _SIZES[word](model, choices)


def _rows(model: Model, choices: Mapping[str, Any]) -> int:
    return 6 * len(choices["frame"]) if choices["rows"] is None else len(choices["rows"])


_SIZES: dict[str, Any] = {
    "nq": lambda model, choices: model.nq,
    "nv": lambda model, choices: model.nv,
    "nb": lambda model, choices: len(model.bodies),
    "nf": lambda model, choices: len(model.frames),
    "nc": lambda model, choices: constraint_count(model),
    "nk": lambda model, choices: len(model.closures),
    "rows": _rows,
    "pairs": lambda model, choices: len(choices["pairs"]),
}
