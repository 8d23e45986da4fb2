"""The robot that people hold: a model and its compiled functions."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import algorithms
from .compile import Call, function_call, is_traced, quantity_call
from .errors import DalembertError, unknown
from .model import Model
from .model import ModelBuilder as _ModelBuilder
from .quantities import CATALOGUE, FRAMED, LoadPlace, Options

if TYPE_CHECKING:
    from .formats import Finding

ORIGIN = (0.0, 0.0, 0.0)


class JointInfo(NamedTuple):
    """A joint: its bodies, where its coordinates lie in q and v, its limits (arrays over its coordinates)."""

    name: str
    kind: str
    parent: str
    child: str
    q: slice
    v: slice
    lower: np.ndarray
    upper: np.ndarray
    velocity_limit: np.ndarray
    effort_limit: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray


class BodyInfo(NamedTuple):
    """A body: the joint that moves it (None for a fixed base), joint frame in the parent, mass properties.

    placement (4, 4) of the joint frame in the parent body [m]; com (3,) [m] and inertia (3, 3) [kg·m²] about the com, in
    body axes; parts: names of the links merged into it.
    """

    name: str
    parent: str | None
    joint: str | None
    placement: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    parts: tuple[str, ...]


class FrameInfo(NamedTuple):
    """A frame: the body it is fixed to and its placement (4, 4) in that body [m]."""

    name: str
    body: str
    placement: np.ndarray


@dataclass(frozen=True)
class Wrench:
    """A force [N] and a torque [N·m] of the surroundings on a frame, each (3,) or (…, 3) for a batch.

    The force acts at `point` [m], given in the frame's own axes. `axes`: along which force and torque are written:
    "frame" (the frame's own), "world", or the name of another frame.
    """

    force: Any = ORIGIN
    torque: Any = ORIGIN
    frame: str = ""
    point: Any = ORIGIN
    axes: str = "frame"


class Robot:
    """A robot and its dynamics.

    q (nq,) configuration, v (nv,) velocity, a (nv,) acceleration, tau (nv,) generalised force; SI units; twists [ω; v] and
    wrenches [τ; f] with the angular part first; poses (4, 4). Every numeric method takes one state or any leading batch
    shape, and batch shapes broadcast against each other. float64 in, float64 out; all float32 in, float32 out.

    Keywords of every numeric method: `out` writes into a given array; `threads` bounds the threads of a batch
    (default: DALEMBERT_THREADS, else all processors); `check=False` lets NaN, inf and unnormalised quaternions through.
    Friction, damping, armature and springs of the joints are part of every result; see `without`.
    """

    def __init__(self, model: Model, import_log: Iterable[Finding] = ()) -> None:
        self.model = model
        self.import_log: tuple[Finding, ...] = tuple(import_log)
        self._calls: dict[tuple[str, Options], Call] = {}
        self._framed_calls: dict[tuple[str, str, str], Callable[..., Any]] = {}

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {len(self.joints)} joints, nq={self.nq}, nv={self.nv}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.import_log)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.model)

    # ---- structure

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.model.nv

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        """The moving joints, root to tips."""
        return tuple(self._joint_info(i) for i, body in enumerate(self.model.bodies) if body.joint.nv)

    @property
    def bodies(self) -> tuple[BodyInfo, ...]:
        """The bodies, root to tips; the first is the base."""
        return tuple(self._body_info(i) for i in range(len(self.model.bodies)))

    @property
    def frames(self) -> tuple[FrameInfo, ...]:
        """Every frame: of each body, then of fixed links and added frames."""
        return tuple(self.frame(frame.name) for frame in self.model.frames)

    def joint(self, name: str) -> JointInfo:
        """The joint of that name; `robot.joint("elbow").q` is a slice."""
        return self._joint_info(self.model.joint(name).index)

    def body(self, name: str) -> BodyInfo:
        """The body of that name."""
        return self._body_info(self.model.body(name).index)

    def frame(self, name: str) -> FrameInfo:
        """The frame of that name."""
        frame = self.model.frame(name)
        return FrameInfo(name, self.model.bodies[frame.body].name, frame.placement.matrix())

    def _joint_info(self, index: int) -> JointInfo:
        body = self.model.bodies[index]
        parent = self.model.bodies[body.parent].name if body.parent >= 0 else "world"
        values = {field: getattr(body.joint, field) for field in JointInfo._fields[6:]}
        return JointInfo(body.joint.name, body.joint.kind, parent, body.name, body.q, body.v, **values)

    def _body_info(self, index: int) -> BodyInfo:
        body = self.model.bodies[index]
        parent = self.model.bodies[body.parent].name if body.parent >= 0 else None
        inertia = body.inertia
        return BodyInfo(
            body.name,
            parent,
            body.joint.name if body.joint.nv else None,
            body.placement.matrix(),
            float(inertia.mass),
            inertia.com,
            inertia.about_com(),
            tuple(part.name for part in body.parts),
        )

    def without(self, *effects: str) -> Robot:
        """The same robot without some of "friction", "damping", "armature", "springs"."""
        return Robot(self.model.without(*effects), self.import_log)

    # ---- configurations

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) with all joints at zero (quaternions: no rotation)."""
        return algorithms.neutral(self.model)

    def random(self, rng: np.random.Generator, n: int | None = None) -> np.ndarray:
        """A configuration (nq,), or n of them (n, nq), uniform within the joint limits."""
        if not isinstance(rng, np.random.Generator):
            raise DalembertError("random: expected a NumPy generator, such as np.random.default_rng(0), as first argument")
        return algorithms.random(self.model, rng, n)

    def normalize(self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> np.ndarray:
        """q (…, nq) with its quaternions brought to unit length."""
        return self._evaluate("normalize", (q,), out, threads, check)

    def integrate(
        self, q: Any, v: Any, dt: Any = 1.0, *, out: Any = None, threads: int | None = None, check: bool = True
    ) -> np.ndarray:
        """q ⊕ v·dt (…, nq): the configuration after the time dt [s] at the constant velocity v."""
        return self._evaluate("integrate", (q, v, _column(dt)), out, threads, check)

    def difference(
        self, q0: Any, q1: Any, *, out: Any = None, threads: int | None = None, check: bool = True
    ) -> np.ndarray:
        """The velocity (…, nv) with q0 ⊕ v = q1 in unit time."""
        return self._evaluate("difference", (q0, q1), out, threads, check)

    def interpolate(
        self, q0: Any, q1: Any, s: Any, *, out: Any = None, threads: int | None = None, check: bool = True
    ) -> np.ndarray:
        """The configuration (…, nq) on the shortest way from q0 (s = 0) to q1 (s = 1); s a number or a batch."""
        return self._evaluate("interpolate", (q0, q1, _column(s)), out, threads, check)

    # ---- dynamics

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        *,
        external: Sequence[Wrench] = (),
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """tau (…, nv) = M a + C v + g + joint forces − Σ Jᵀ F: what the joints must give for the acceleration a."""
        return self._evaluate("inverse_dynamics", (q, v, a), out, threads, check, external)

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        *,
        external: Sequence[Wrench] = (),
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """The acceleration a (…, nv) that the generalised forces tau and the external wrenches cause."""
        return self._evaluate("forward_dynamics", (q, v, tau), out, threads, check, external)

    def mass_matrix(self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> np.ndarray:
        """M (…, nv, nv), full and symmetric, rotor inertias (armature) included."""
        return self._evaluate("mass_matrix", (q,), out, threads, check)

    def inverse_mass_matrix(
        self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True
    ) -> np.ndarray:
        """M⁻¹ (…, nv, nv), full and symmetric."""
        return self._evaluate("inverse_mass_matrix", (q,), out, threads, check)

    def bias(
        self,
        q: Any,
        v: Any,
        *,
        external: Sequence[Wrench] = (),
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """C v + g (…, nv): inverse dynamics at zero acceleration, joint forces included."""
        return self._evaluate("bias", (q, v), out, threads, check, external)

    def gravity(self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> np.ndarray:
        """g (…, nv): the generalised force that holds the robot still at q, against gravity and joint springs."""
        return self._evaluate("gravity", (q,), out, threads, check)

    def kinetic_energy(self, q: Any, v: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """½ vᵀ M v [J], rotors included; a number, or an array over the batch."""
        return self._evaluate("kinetic_energy", (q, v), out, threads, check)

    def potential_energy(self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """Energy in gravity (zero at the world's origin) and joint springs [J]."""
        return self._evaluate("potential_energy", (q,), out, threads, check)

    def energy(self, q: Any, v: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """Kinetic and potential energy together [J]."""
        return self._evaluate("energy", (q, v), out, threads, check)

    def center_of_mass(self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> np.ndarray:
        """Centre of mass (…, 3) in the world [m]."""
        return self._evaluate("center_of_mass", (q,), out, threads, check)

    # ---- kinematics

    def pose(
        self, q: Any, frame: str, *, out: Any = None, threads: int | None = None, check: bool = True
    ) -> np.ndarray:
        """X_WF (…, 4, 4): the frame in the world [m]."""
        return self._framed("pose", (q,), frame, ORIGIN, "world", out, threads, check)

    def poses(self, q: Any, *, out: Any = None, threads: int | None = None, check: bool = True) -> np.ndarray:
        """X_WF (…, nf, 4, 4) of every frame, in the order of `robot.frames` [m]."""
        return self._evaluate("poses", (q,), out, threads, check)

    def velocity(
        self,
        q: Any,
        v: Any,
        frame: str,
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """[ω; v] (…, 6) of the frame and of the point fixed in it [rad/s, m/s].

        point (3,) in the frame's own axes [m]; axes: "world", "body" (the frame's own) or the name of a frame.
        """
        return self._framed("velocity", (q, v), frame, point, axes, out, threads, check)

    def acceleration(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """[α; a] (…, 6): classical acceleration of the frame and of the point fixed in it, without gravity [rad/s², m/s²].

        The rate of change of the velocity as seen from the world, written along `axes` (see `velocity`).
        """
        return self._framed("acceleration", (q, v, a), frame, point, axes, out, threads, check)

    def jacobian(
        self,
        q: Any,
        frame: str,
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """J (…, 6, nv) with velocity = J v, for the same frame, point and axes as `velocity`."""
        return self._framed("jacobian", (q,), frame, point, axes, out, threads, check)

    def jacobian_rate(
        self,
        q: Any,
        v: Any,
        frame: str,
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
    ) -> np.ndarray:
        """J̇ (…, 6, nv) with acceleration = J a + J̇ v, for the same frame, point and axes as `acceleration`."""
        return self._framed("jacobian_rate", (q, v), frame, point, axes, out, threads, check)

    # ---- compiling

    def compile(
        self, *names: str, batch: bool = False, dtype: Any = np.float64, frame: str | None = None, axes: str = "world"
    ) -> Robot:
        """Compile quantities ahead of their first call, for one state or for batches; returns the robot."""
        from .backends.llvm.kernel import ELEMENT

        if np.dtype(dtype) not in ELEMENT:
            raise DalembertError(f"compile: dtype is {dtype}, expected float64 or float32")
        for name in names:
            call = self._named_call(name, frame, axes)
            call.kernel.executable("batch" if batch else "one", ELEMENT[np.dtype(dtype)])
        return self

    def operations(self, name: str, *, frame: str | None = None, axes: str = "world") -> dict[str, int]:
        """How many operations of each kind (add, mul, div, sin …) one evaluation of a quantity takes."""
        return self._named_call(name, frame, axes).kernel.function().operations()

    def source(self, name: str, language: str = "c", *, frame: str | None = None, axes: str = "world") -> str:
        """A quantity as source text: "c", self-contained C99 (header and code in one)."""
        source = self._emit(name, language, frame, axes)
        return source.header + "\n" + source.source

    def export(
        self, name: str, language: str, folder: str | os.PathLike[str], *, frame: str | None = None, axes: str = "world"
    ) -> list[str]:
        """Write a quantity as self-contained files with a test program that holds a test vector; returns their paths."""
        from .backends import c

        return [str(path) for path in c.write(self._emit(name, language, frame, axes), folder)]

    def _emit(self, name: str, language: str, frame: str | None, axes: str) -> Any:
        from .backends import c

        if language != "c":
            raise unknown("language", language, ["c"], "source")
        return c.emit(self._named_call(name, frame, axes).kernel.function(), name=name)

    def _named_call(self, name: str, frame: str | None, axes: str) -> Call:
        """The call of a quantity given by name, its frame checked."""
        if name not in CATALOGUE:
            raise unknown("quantity", name, CATALOGUE, f"robot {self.name!r}")
        if name not in FRAMED:
            return self._call(name, Options())
        if frame is None:
            raise DalembertError(f"{name}: which frame? pass frame=…, one of: {', '.join(list(self.model._frames)[:8])} …")
        return self._call(name, self._options(frame, axes, point=False))

    def _options(self, frame: str, axes: str, point: bool) -> Options:
        self.model.frame(frame)
        if axes not in ("world", "body"):
            self.model.frame(axes)
        return Options(frame=frame, axes=axes, point=point)

    def _call(self, name: str, options: Options) -> Call:
        call = self._calls.get((name, options))
        if call is None:
            call = self._calls.setdefault((name, options), quantity_call(self.model, name, options))
        return call

    # ---- evaluation

    def _evaluate(
        self,
        name: str,
        inputs: tuple[Any, ...],
        out: Any,
        threads: int | None,
        check: bool,
        external: Sequence[Wrench] = (),
    ) -> Any:
        """Compute a quantity that needs no frame, and from then on let the fast call answer for this method."""
        options = Options()
        if external:
            options = Options(loads=tuple(self._load_place(w) for w in external))
            inputs = (*inputs, _load_numbers(external))
        if is_traced(*inputs):
            return self._trace(name, options, inputs)
        call = self._call(name, options)
        result = call(*inputs, out=out, threads=threads, check=check)
        method = getattr(Robot, name)
        if name not in self.__dict__ and getattr(type(self), name) is method:
            doc = f"{inspect.signature(method)}\n--\n\n{method.__doc__}".replace("(self, ", "(", 1)
            self.__dict__[name] = call.kernel.builtin(name, doc, partial(method, self))
        return result

    def _framed(
        self,
        name: str,
        inputs: tuple[Any, ...],
        frame: str,
        point: Any,
        axes: str,
        out: Any,
        threads: int | None,
        check: bool,
    ) -> Any:
        """Compute a quantity of a frame; at the frame's origin through its fast call once there is one."""
        at_origin = point is ORIGIN
        if at_origin and out is None and threads is None and check:
            fast = self._framed_calls.get((name, frame, axes))
            if fast is not None:
                return fast(*inputs)
        options = self._options(frame, axes, not at_origin)
        inputs = inputs if at_origin else (*inputs, point)
        if is_traced(*inputs):
            return self._trace(name, options, inputs)
        call = self._call(name, options)
        result = call(*inputs, out=out, threads=threads, check=check)
        if at_origin:
            self._framed_calls[name, frame, axes] = call.kernel.builtin(name, "(…)\n--\n\n", call)
        return result

    def _trace(self, name: str, options: Options, inputs: tuple[Any, ...]) -> Any:
        """The quantity as an expression of traced inputs, for use inside a traced function."""
        quantity = CATALOGUE[name]
        arrays = []
        for (argument, size), x in zip(quantity.arguments(self.model, options).items(), inputs, strict=True):
            array = np.atleast_1d(np.asarray(x, object))
            if array.shape != (size,):
                raise DalembertError(f"{name}: {argument} has shape {array.shape}, expected ({size},) inside a traced function")
            arrays.append(array)
        result = np.asarray(quantity.compute(self.model, options, *arrays), object)
        return result if result.ndim else result[()]

    def _load_place(self, wrench: Wrench) -> LoadPlace:
        if not isinstance(wrench, Wrench):
            raise DalembertError(f"external: expected a sequence of dalembert.Wrench, got {type(wrench).__name__}")
        self.model.frame(wrench.frame)
        if wrench.axes not in ("frame", "world"):
            self.model.frame(wrench.axes)
        return LoadPlace(wrench.frame, wrench.axes)


class ModelBuilder(_ModelBuilder):
    """Builds a robot in code, body by body."""

    def build(self) -> Robot:
        """The robot of what has been added so far."""
        return Robot(self.model())


def load(
    source: str | os.PathLike[str], *, base: str | None = None, strict: bool = False, mimic: str = "couple"
) -> Robot:
    """A bundled robot by name (see `robots`), or one read from a file.

    base: "fixed" or "free", default as the file says. strict: whatever was dropped, repaired or assumed is an error.
    mimic: "couple" lets mimic joints share their leader's coordinate, "free" makes them independent, and logs it.
    """
    from . import formats
    from .robots import names, path

    bundled = names()
    if isinstance(source, str) and source not in bundled and not source.lstrip().startswith("<"):
        if not os.path.splitext(source)[1] and not os.path.exists(source):
            raise unknown("robot", source, bundled, "load")
    given = path(source) if isinstance(source, str) and source in bundled else source
    return Robot(*formats.read(given, base=base, strict=strict, mimic=mimic))


def robots() -> tuple[str, ...]:
    """Names of the bundled robots."""
    from .robots import names

    return tuple(names())


def function(compute: Callable[..., Any], robot: Robot, **sizes: int) -> Callable[..., Any]:
    """Trace and compile a function of one state; the result takes one state or batches, like the methods of `Robot`.

    Arguments named q, q0, q1 have nq elements, v, a, tau have nv; the sizes of others are given by keyword, as in
    function(lambda q, k: …, robot, k=3). The function uses arithmetic, dalembert.math and methods of robots.
    """
    known = {"q": robot.nq, "q0": robot.nq, "q1": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nv, **sizes}
    names = list(inspect.signature(compute).parameters)
    missing = [n for n in names if n not in known]
    if missing:
        raise DalembertError(
            f"function: how many elements has {missing[0]!r}? pass {missing[0]}=…; q, q0, q1, v, a and tau are known"
        )
    title = getattr(compute, "__name__", "function")
    title = title if title.isidentifier() else "function"
    call = function_call(robot.model, title, {n: known[n] for n in names}, compute)
    return call.kernel.builtin(title, f"({', '.join(names)})\n--\n\n{compute.__doc__ or ''}", call)


def _column(x: Any) -> Any:
    """Numbers (…) as vectors of one element (…, 1), so that they take part in broadcasting."""
    if is_traced(x):
        return np.atleast_1d(np.asarray(x, object))
    return np.asarray(x)[..., None]


def _load_numbers(external: Sequence[Wrench]) -> np.ndarray:
    """Torque, force and point of every wrench in one array (…, 9·n)."""
    pieces = []
    for wrench in external:
        for field in ("torque", "force", "point"):
            x = np.asarray(getattr(wrench, field))
            if x.ndim == 0 or x.shape[-1] != 3:
                raise DalembertError(f"external: {field} on frame {wrench.frame!r} has shape {x.shape}, expected (…, 3)")
            pieces.append(x)
    batch = np.broadcast_shapes(*[p.shape[:-1] for p in pieces])
    return np.concatenate([np.broadcast_to(p, (*batch, 3)) for p in pieces], axis=-1)
