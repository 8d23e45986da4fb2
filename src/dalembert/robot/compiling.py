"""Compiling ahead of time, counting, and code for elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.quantities import Quantity, Variant, compiled, find
from dalembert.quantities.kinds import Input, wrenches
from dalembert.quantities.live import checked
from dalembert.quantities.live import group as find_group
from dalembert.quantities.structure import Wrench

from .rooms import equations

if TYPE_CHECKING:
    from dalembert.robot import Robot

PAPER: dict[str, Callable[[Any], str]] = {
    "latex": lambda equation: equation.latex(),
    "sympy": lambda equation: equation.python(),
}
R = TypeVar("R", bound="Robot")
Named = str | Callable[..., Any]  # a quantity by name, or one's own


@overload
def compile(
    robot: R,
    name: Named,
    /,
    *,
    live: str | Iterable[str],
    batch: bool = False,
    dtype: Any = np.float64,
    frame: str | None = None,
    axes: str | None = None,
    external: Sequence[Wrench] = (),
    **options: Any,
) -> Callable[..., Any]: ...


@overload
def compile(
    robot: R,
    first: Named,
    second: Named,
    /,
    *others: Named,
    live: str | Iterable[str],
    batch: bool = False,
    dtype: Any = np.float64,
    frame: str | None = None,
    axes: str | None = None,
    external: Sequence[Wrench] = (),
    **options: Any,
) -> tuple[Callable[..., Any], ...]: ...


@overload
def compile(
    robot: R,
    /,
    *names: Named,
    batch: bool = False,
    dtype: Any = np.float64,
    frame: str | None = None,
    axes: str | None = None,
    external: Sequence[Wrench] = (),
    **options: Any,
) -> R: ...


def compile(
    robot: Robot,
    /,
    *names: Named,
    batch: bool = False,
    dtype: Any = np.float64,
    frame: str | None = None,
    axes: str | None = None,
    live: str | Iterable[str] = (),
    external: Sequence[Wrench] = (),
    **options: Any,
) -> Any:
    """Compile quantities ahead of their first call, for one state or for batches; returns the robot.

    names: of quantities, or functions made by `dalembert.quantity`. options: others of their keywords, such as rows.
    external: for calls with wrenches on these frames, along these axes; their numbers are inputs of the call.

    With `live`, quantities are compiled with constants of the model as further inputs, and returned as functions
    (one, or a tuple in the order of the names) of their inputs and one array per group, in the order given or by
    keyword; any of them may be a batch. Like the methods, they take `external=`. Groups: "inertia" (…, 10·nb),
    "friction", "damping", "armature", "stiffness" (one number per freedom of each joint), "placement" (…, 6·nb) and
    "gravity" (…, 3); see `live_values` for what they hold.
    """
    _real(dtype, "compile")
    live, external = checked(live), wrenches(external)
    if live and not names:
        raise DalembertError("compile: live parameters of what? pass the name of a quantity")
    functions = []
    for quantity in [find(name, f"robot {robot.name!r}") for name in names]:
        its = {name: value for name, value in options.items() if name in quantity.parameters or len(names) == 1}
        its |= {"frame": frame, "axes": axes}
        compiled(robot, quantity, live, external=external, **its).prepare(batch, dtype)
        if live:
            functions.append(quantity.live_function(robot, quantity.variant(robot.model, live, **its)))
    if not live:
        return robot
    return functions[0] if len(functions) == 1 else tuple(functions)


def live_values(robot: Robot, group: str) -> np.ndarray:
    """The robot's own numbers of a group of live parameters (n,), to start from.

    "inertia": ten per body, m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the body's origin, bodies in
    order. "friction", "damping", "armature", "stiffness": one per freedom of each joint, in the order of
    `robot.joints`; a joint that follows another one has its own entry, in its own coordinate. "placement": six per
    body, a displacement [m] and a rotation vector [rad] of its joint frame, in the axes of that frame as the robot
    has it: zeros. "shape_size": the sizes of collision shapes in the order of bodies, of a sphere its radius, of
    capsules, cylinders and cones radius and length, of boxes three sides, of ellipsoids three radii [m];
    "shape_placement": six per such shape, as those of joints. "gravity": the vector in the world [m/s²].
    """
    return find_group(group).values(robot.model)


def operations(
    robot: Robot,
    name: Named,
    *,
    frame: str | None = None,
    axes: str | None = None,
    live: str | Iterable[str] = (),
    external: Sequence[Wrench] = (),
    method: str = "newton-euler",
    **options: Any,
) -> dict[str, int]:
    """How many operations of each kind (add, mul, div, sin …) one evaluation of a quantity takes."""
    call = compiled(robot, name, live, frame=frame, axes=axes, method=method, external=external, **options)
    return call.function().operations()


def source(
    robot: Robot,
    name: Named,
    language: str = "c",
    *,
    frame: str | None = None,
    axes: str | None = None,
    live: str | Iterable[str] = (),
    external: Sequence[Wrench] = (),
    dtype: Any = np.float64,
    **options: Any,
) -> str:
    """A quantity as source text: "c", one self-contained C99 file; "latex", an equation; "sympy", Python source;
    "cuda", a kernel of one state per thread.

    `live`, `external`: see `compile`; in an equation these constants are symbols, see `equations`. dtype: of C and
    CUDA code, float64 (`double`) or float32 (`float`, and sinf, sqrtf and the like).
    """
    if language in PAPER:
        return PAPER[language](equations(robot, name, symbols=live, frame=frame, axes=axes, external=external))
    quantity = find(name, f"robot {robot.name!r}")
    chosen = quantity.variant(robot.model, live, frame=frame, axes=axes, external=external, **options)
    if language == "cuda":
        from dalembert.compiler.execute import device  # the compilers are loaded when used

        return device.emit(
            quantity.call(robot, chosen).function(), _title(robot, quantity), _real(dtype, "CUDA source")
        ).texts
    emitted = _emitted(robot, quantity, chosen, language, dtype)
    return emitted.header + "\n" + emitted.source.replace(f'#include "{emitted.name}.h"\n', "")


def export(
    robot: Robot,
    name: Named,
    language: str,
    folder: str | os.PathLike[str],
    *,
    frame: str | None = None,
    axes: str | None = None,
    live: str | Iterable[str] = (),
    external: Sequence[Wrench] = (),
    dtype: Any = np.float64,
    **options: Any,
) -> list[str]:
    """Write a quantity as self-contained files, with a program that checks a stored test vector; returns paths.

    dtype: float64 (`double`) or float32 (`float`, and sinf, sqrtf and the like), for processors without doubles.

    export("simulate", "fmu", path) writes the simulation as an FMU, a folder or a file .fmu, for co-simulation at fixed
    steps as `rollout` takes them: step, integrator, elements, friction, contact, controls, torque as there; q, v: the
    start; version "2.0" or "3.0"; kind "co-simulation", "model-exchange" (smooth models) or "both"; live: parameters;
    sensors: names of frames, or functions (t, q, v) → numbers by name; binary=False: C sources alone; compiler: its
    command. `.log` of what it returns says why there is no binary.
    """
    if language == "fmu" or name == "simulate":
        return _fmu(robot, name, language, folder, options | {"live": live}, (frame, axes, *external, dtype))
    from dalembert.compiler.backends import c

    quantity = find(name, f"robot {robot.name!r}")
    chosen = quantity.variant(robot.model, live, frame=frame, axes=axes, external=external, **options)
    if language in ("cuda", *PAPER):
        raise DalembertError(f"export: files are written in 'c' only: take the text of source({name!r}, {language!r})")
    return [str(path) for path in c.write(_emitted(robot, quantity, chosen, language, dtype), os.fspath(folder))]


def _fmu(
    robot: Robot,
    name: Named,
    language: str,
    path: str | os.PathLike[str],
    options: dict[str, Any],
    others: Sequence[Any],
) -> list[str]:
    """The simulation as an FMU; others: options of quantities, which it does not take."""
    from dalembert.fmu import FmuSettings
    from dalembert.fmu import export as written

    if name != "simulate" or language != "fmu":
        raise DalembertError(
            f"export: {name!r} as {language!r}: an FMU is of 'simulate', and 'simulate' is written as 'fmu'"
        )
    *unused, dtype = others
    if any(x is not None for x in unused) or np.dtype(dtype) != np.float64:
        raise DalembertError("export: FMU: frame, axes, external and float32 are of quantities: leave them out")
    known = [each.name for each in fields(FmuSettings)]
    for option in options:
        if option not in known:
            raise unknown("option", option, known, "export: FMU")
    return written(robot, path, FmuSettings(**options))


def _emitted(robot: Robot, quantity: Quantity, chosen: Variant, language: str, dtype: Any) -> Any:
    from dalembert.compiler.backends import c

    if language != "c":
        raise unknown("language", language, ["c", "cuda", *PAPER], "source")
    call = quantity.call(robot, chosen)
    rng = np.random.default_rng(0)
    kinds = {name: p.kind for name, p in quantity.parameters.items()}
    sample = {
        name: algorithms.random(robot.model, rng) if _is_configuration(kinds.get(name)) else rng.uniform(-1, 1, size)
        for name, size in call.sizes.items()
    } | {name: live_values(robot, name) for name in chosen.live}
    return c.emit(call.function(), _title(robot, quantity), _real(dtype, "C source"), sample=sample)


def _real(dtype: Any, where: str) -> str:
    """Name that C has for a number of that type."""
    try:
        return {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}[np.dtype(dtype)]
    except (TypeError, KeyError):
        raise DalembertError(f"{where}: dtype is {dtype}, expected float64 or float32") from None


def _is_configuration(kind: Any) -> bool:
    return isinstance(kind, Input) and kind.configuration


def _title(robot: Robot, quantity: Quantity) -> str:
    """The name of a quantity of this robot as an identifier."""
    title = re.sub(r"\W", "_", f"{robot.name}_{quantity.name}")
    return title if title[0].isalpha() else "robot_" + title


def traceable(
    robot: Robot,
    name: Named,
    library: str,
    *,
    frame: str | None = None,
    axes: str | None = None,
    live: str | Iterable[str] = (),
    **options: Any,
) -> Callable[..., Any]:
    """A quantity as plain operations of "jax" or "torch", for those who trace through it with the library's own
    transformations. Arguments (…, size), result (…, *shape). For numbers and gradients alone the methods of the
    robot, which take arrays of these libraries too, are faster by orders of magnitude. `live`: see `compile`.
    """
    if library not in ("jax", "torch"):
        raise unknown("library", library, ["jax", "torch"], "traceable")
    run = import_module(f"dalembert.compiler.backends.{library}").run
    function = compiled(robot, name, live, frame=frame, axes=axes, **options).function()
    names, result = [i.name for i in function.inputs], function.outputs[0].name
    return lambda *arrays: run(function, dict(zip(names, arrays, strict=True)))[result]
