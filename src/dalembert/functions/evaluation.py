"""How a robot's methods come to their numbers: calls compiled on first use, and the fast call from then on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.execute import Call, is_single, is_traced, real_array
from dalembert.interop import is_foreign
from dalembert.model import Model

from .calls import catalogued, quantity_call
from .catalogue import CATALOGUE, LOAD, METHOD, LoadPlace, Options, checked
from .structure import ORIGIN, Wrench

# words of another library, and what is asked for with them here
PINOCCHIO = {
    "local": "'body'",
    "local_world_aligned": "'world'",
}


class Keywords(TypedDict, total=False):
    """Keywords of every numeric method.

    out: array to write the result into. threads: at most so many for a batch (default: DALEMBERT_THREADS, else all
    processors). check: False lets NaN, inf and quaternions that are not of unit length through. backend: what computes,
    by name: "llvm" (default), "interpreter", "cuda", "jax", "torch", or one added with `register_backend`.
    """

    out: Any
    threads: int | None
    check: bool
    backend: str | None


class Evaluation:
    """A model and its compiled functions."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._calls: dict[tuple[str, Options], Call] = {}
        self._fast: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._frames: dict[str, dict[str, Any]] = {}  # quantity → frame → the self of its fast call

    def _evaluate(
        self,
        name: str,
        inputs: tuple[Any, ...],
        keywords: Keywords,
        external: Sequence[Wrench] = (),
        options: Options | None = None,
        method: str = METHOD,
    ) -> Any:
        """A quantity that needs no frame; from then on the fast call stands in the method's place."""
        usual = CATALOGUE[name].usual
        if options is None:
            options = usual if method == usual.method else replace(usual, method=_text("method", method))
        places, numbers = self._loads(name, inputs, external)
        if places:
            return self._fast_call(name, replace(options, loads=places))(*inputs, *numbers, **keywords)
        result = self._compute(name, options, *inputs, **keywords)
        if options == usual and self._is_new(name):
            slow, doc = partial(getattr(type(self), name), self), _documented(type(self), name)
            self.__dict__[name] = self._calls[name, usual].builtin(name, doc, slow, owner=self)
        return result

    def _is_new(self, name: str) -> bool:
        """Whether a quantity has been compiled and its fast call not yet put in the method's place."""
        return name not in self.__dict__ and (name, CATALOGUE[name].usual) in self._calls and self._is_ours(name)

    def _is_ours(self, name: str) -> bool:
        """Whether the method is our own: a subclass that overrides it stays in charge."""
        return getattr(type(self), name).__module__.startswith("dalembert.")

    def _framed(self, name: str, inputs: tuple[Any, ...], frame: str, point: Any, axes: str, keywords: Keywords) -> Any:
        """A quantity of a frame; at the frame's origin through its fast call once there is one."""
        if point is not ORIGIN:
            options = self._options(frame, axes, point=True)
            return self._compute(name, options, *inputs, _beside(f"{name}: point", point, inputs), **keywords)
        try:
            fast = self._fast.get((name, frame, axes))
        except (TypeError, ValueError):  # unhashable: not a name
            fast = None
        if fast is not None:
            return fast(*inputs, **keywords)
        options = self._options(frame, axes, point=False)
        result = self._compute(name, options, *inputs, **keywords)
        if (name, options) in self._calls:
            slow = partial(self._compute, name, options)
            fast = self._fast[name, frame, axes] = self._calls[name, options].builtin(name, "", slow)
            if axes == CATALOGUE[name].usual.axes and self._is_ours(name):
                self._put_in_place(name, frame, fast, self._calls[name, options])
        return result

    def _put_in_place(self, name: str, frame: str, fast: Any, call: Call) -> None:
        """Let the method go to a frame's fast call without a detour through Python."""
        frames = self._frames.setdefault(name, {})
        if name not in self.__dict__:
            method = call.named(
                name, _documented(type(self), name), frames, partial(getattr(type(self), name), self), self
            )
            if method is None:
                return
            self.__dict__[name] = method
        frames[frame] = fast.__self__

    def _packed(
        self,
        name: str,
        kind: type[tuple],
        inputs: tuple[Any, ...],
        keywords: Keywords,
        external: Sequence[Wrench] = (),
    ) -> Any:
        """A named tuple of arrays of one shape, computed as one (…, n, *shape); then through its fast call."""
        places, numbers = self._loads(name, inputs, external)
        compute = self._fast_call(name, Options(loads=places)) if places else partial(self._compute, name, Options())
        result = compute(*inputs, *numbers, **keywords)
        rank = len(CATALOGUE[name].shape(self.model, Options()))
        if self._is_new(name):
            fast = self._calls[name, Options()].builtin(name, "", partial(self._compute, name, Options()))
            self.__dict__[name] = _Packed(self, name, fast, kind, rank)
        return _unpacked(kind, result, rank)

    def _compute(self, name: str, options: Options, *inputs: Any, **keywords: Any) -> Any:
        """The numbers, or the expression when the inputs are traced."""
        if is_traced(*inputs):
            return self._trace(name, options, inputs)
        return self._call(name, options)(*inputs, **keywords)

    def _call(self, name: str, options: Options) -> Call:
        call = self._calls.get((name, options))
        if call is None:
            call = self._calls.setdefault((name, options), quantity_call(self.model, name, options))
        return call

    def _fast_call(self, name: str, options: Options) -> Callable[..., Any]:
        """The fast call of a quantity with these options, made on first use."""
        if (name, options) not in self._fast:
            call = self._call(name, options)
            self._fast[name, options] = call.builtin(name, "", partial(self._compute, name, options))
        return self._fast[name, options]

    def _named(
        self,
        name: str,
        frame: str | None,
        axes: str | None,
        live: str | Iterable[str] = (),
        method: str = METHOD,
        external: Sequence[Wrench] = (),
    ) -> Options:
        """The options of a quantity given by name, all of them checked; axes None: the usual ones."""
        if not isinstance(name, str) or name not in CATALOGUE:
            raise unknown("quantity", name, CATALOGUE, f"robot {self.model.name!r}")
        usual = CATALOGUE[name].usual
        axes = usual.axes if axes is None else axes
        more: dict[str, Any] = {"live": checked(live), "loads": self._loads(name, (), external)[0]}
        if not CATALOGUE[name].framed:
            return replace(usual, axes=self._axes(axes), method=_text("method", method), **more)
        if frame is None:
            some = ", ".join(f.name for f in self.model.frames[:8])
            raise DalembertError(f"{name}: which frame? pass frame=…, one of: {some} …")
        return replace(self._options(frame, axes, point=False), **more)

    def _named_call(
        self,
        name: str,
        frame: str | None,
        axes: str | None,
        live: str | Iterable[str] = (),
        method: str = METHOD,
        external: Sequence[Wrench] = (),
    ) -> Call:
        """The call of a quantity given by name."""
        return self._call(name, self._named(name, frame, axes, live, method, external))

    def _by_name(
        self, name: str, options: Options, *inputs: Any, external: Sequence[Wrench] = (), **keywords: Any
    ) -> Any:
        """A quantity whose inputs may be given by keyword."""
        names = list(CATALOGUE[name].arguments(self.model, options))
        given = [*inputs, *(keywords.pop(n) for n in names[len(inputs) :] if n in keywords)]
        if len(given) != len(names):
            raise TypeError(f"{name}() takes {len(names)} arguments ({', '.join(names)}), got {len(given)}")
        places, numbers = self._loads(name, tuple(given), external)
        count = len(given) - len(options.live)
        return self._compute(name, replace(options, loads=places), *given[:count], *numbers, *given[count:], **keywords)

    def _options(self, frame: str, axes: str, point: bool) -> Options:
        return Options(frame=self._name("frame", frame), axes=self._axes(axes), point=point)

    def _axes(self, axes: str) -> str:
        """Checked: "world", "body" or the name of a frame."""
        if isinstance(axes, str) and axes in ("world", "body"):
            return axes
        try:
            return self._name("axes", axes)
        except DalembertError as error:
            meant = PINOCCHIO.get(str(axes).lower())
            hint = f"axes={axes!r} is {meant} here" if meant else str(error)
            raise DalembertError(f"axes: expected 'world', 'body' (the frame's own) or a frame; {hint}") from None

    def _name(self, what: str, name: str) -> str:
        """The name of a frame, checked."""
        if not isinstance(name, str):
            raise DalembertError(f"{what}={name!r}: expected the name of a frame of robot {self.model.name!r}")
        return self.model.frame(name).name

    def _trace(self, name: str, options: Options, inputs: tuple[Any, ...]) -> Any:
        """The quantity as an expression of traced inputs, for use inside a traced function."""
        quantity = catalogued(name, self.model)
        arrays = []
        for (argument, size), x in zip(quantity.arguments(self.model, options).items(), inputs, strict=True):
            array = np.atleast_1d(np.asarray(x, object))
            if array.shape != (size,):
                raise DalembertError(
                    f"{name}: {argument} has shape {array.shape}, expected ({size},) inside a traced function"
                )
            arrays.append(array)
        result = np.asarray(quantity.evaluate(self.model, options, *arrays), object)
        return result if result.ndim else result[()]

    def _loads(
        self, name: str, inputs: tuple[Any, ...], external: Sequence[Wrench]
    ) -> tuple[tuple[LoadPlace, ...], list[Any]]:
        """Where the external wrenches act, and their numbers as further inputs."""
        given = wrenches(external)
        if given and not CATALOGUE[name].loaded:
            raise DalembertError(f"{name}: no external wrench acts on it: leave out external")
        return tuple(self._load_place(w) for w in given), _load_numbers(name, given, inputs)

    def _load_place(self, wrench: Wrench) -> LoadPlace:
        if not isinstance(wrench, Wrench):
            raise DalembertError(f"external: expected a sequence of dalembert.Wrench, got {type(wrench).__name__}")
        if not wrench.frame:
            raise DalembertError("external: a Wrench says on which frame it acts: write Wrench(…, frame='tool')")
        self.model.frame(wrench.frame)
        if wrench.axes not in ("frame", "world"):
            if wrench.axes == "body":
                raise DalembertError("external: axes='body' of a Wrench: write 'frame' for the axes of its own frame")
            self.model.frame(wrench.axes)
        return LoadPlace(wrench.frame, wrench.axes)


def _text(what: str, x: Any) -> str:
    if not isinstance(x, str):
        raise DalembertError(f"{what}={x!r}: expected a name")
    return x


def _documented(owner: type, name: str) -> str:
    """Signature and text of a method in the form that a builtin carries."""
    method = getattr(owner, name)
    return f"{_signature(method)}\n--\n\n{method.__doc__}"


def _signature(method: Callable[..., Any]) -> str:
    """The signature of a bound method in the plain form that a builtin can carry."""
    own = [p for p in list(inspect.signature(method).parameters.values())[1:] if p.kind is not p.VAR_KEYWORD]
    shared = {"out": None, "threads": None, "check": True}
    keywords = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in shared.items()]
    return str(inspect.Signature([p.replace(annotation=p.empty) for p in (*own, *keywords)]))


class _Packed:
    """Stands in the place of a method that gives a named tuple, and is pickled as that method."""

    def __init__(self, owner: Evaluation, name: str, fast: Callable[..., Any], kind: type[tuple], rank: int) -> None:
        self.owner, self.fast, self.kind, self.rank = owner, fast, kind, rank
        self.general = partial(getattr(type(owner), name), owner)
        self.__name__, self.__doc__ = name, self.general.func.__doc__

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        if keywords:
            return self.general(*inputs, **keywords)
        x = self.fast(*inputs)
        return tuple.__new__(self.kind, x) if x.ndim == self.rank else _unpacked(self.kind, x, self.rank)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.owner, self.__name__)


def _unpacked(kind: type[tuple], x: Any, rank: int) -> Any:
    """A named tuple of the parts of x (…, n, *shape), where n and shape make `rank` axes."""
    if isinstance(x, np.ndarray):
        return tuple.__new__(kind, np.moveaxis(x, -rank, 0))
    inner = (slice(None),) * (rank - 1)
    return tuple.__new__(kind, [x[(..., k, *inner)] for k in range(x.shape[-rank])])


def column(name: str, x: Any, inputs: tuple[Any, ...]) -> Any:
    """Numbers (…) as vectors of one element (…, 1), so that they take part in broadcasting."""
    if type(x) is float and all(type(i) is np.ndarray and i.dtype == np.float64 for i in inputs):
        return np.array((x,))  # the usual case
    if is_traced(x):
        return np.atleast_1d(np.asarray(x, object))
    if is_foreign(x):
        return x[..., None]
    if any(map(is_foreign, inputs)) and not isinstance(x, np.ndarray):
        return real_array(name, x, "expected a number or an array of them")[..., None].tolist()
    return x if is_traced(*inputs) else _beside(name, x, inputs, "expected a number or an array of them")[..., None]


def _beside(what: str, x: Any, inputs: tuple[Any, ...], expected: str = "expected (…, 3)") -> Any:
    """x as an array; what is written in Python's own numbers takes the precision of the arrays it is used with."""
    if is_traced(x, *inputs):
        return x
    own = type(x) in (int, float, list, tuple)
    if is_foreign(x) or (own and any(map(is_foreign, inputs))):
        return x  # becomes an array of that library, in its precision
    a = real_array(what, x, expected)
    return a.astype(np.float32) if own and all(is_single(i) for i in inputs) else a


def wrenches(external: Sequence[Wrench]) -> tuple[Wrench, ...]:
    """The external wrenches as a tuple; what each entry is, is looked at later."""
    try:
        return tuple(external)
    except TypeError:
        raise DalembertError(
            f"external: expected a sequence of dalembert.Wrench, got a {type(external).__name__}: write external=[…]"
        ) from None


def _load_numbers(name: str, given: tuple[Wrench, ...], inputs: tuple[Any, ...]) -> list[Any]:
    """Torque, force and point (…, 3) of every wrench."""
    return [
        _beside(f"{name}: external[{k}].{field}", getattr(wrench, field), inputs)
        for k, wrench in enumerate(given)
        for field in LOAD
    ]
