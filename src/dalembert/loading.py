"""Where robots come from: bundled, read from files, built in code; and functions of one's own."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dalembert.math.arrays import asked

from .errors import DalembertError, ImportFindingsWarning, unknown
from .model import ModelBuilder as _ModelBuilder
from .model import unopposed
from .model.bundled import names as bundled_names
from .model.bundled import path as bundled_path
from .model.geometry import Shape
from .quantities.guards import function_call
from .robot import Robot
from .spatial import Pose


class ModelBuilder(_ModelBuilder):
    """Builds a robot in code, body by body."""

    def build(self) -> Robot:
        """The robot of what has been added so far; refused if a joint moves mass that gives it no inertia at all."""
        model = self.model()
        impossible = [each for each in unopposed(model) if len(each.joints) == 1 and each.mass > 0.0]
        if impossible:
            raise DalembertError(f"model {model.name!r}: " + "; ".join(map(str, impossible)))
        return Robot(model)


def load(
    source: str | os.PathLike[str],
    *,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
    arguments: Mapping[str, Any] | None = None,
    srdf: bool | str | os.PathLike[str] = True,
    prim: str | None = None,
) -> Robot:
    """A bundled robot by name (see `robots`), or one read from a file; of an SDF world, as in "world.sdf#model".

    "robot_descriptions:panda_description" and "menagerie:unitree_go2" are robots of these collections, if they are on
    this disk; nothing is downloaded.

    A mechanism (.mech.toml, or a bundled one such as "andrews") comes with its forces, sensors and start: see
    `Mechanism`.

    base: "fixed" or "free", default as the file says. strict: whatever was dropped, repaired or assumed is an error.
    mimic: "couple" lets mimic joints share their leader's coordinate, "free" makes them independent, and logs it.
    arguments: values of <xacro:arg name="…"/> in a xacro file.
    srdf: the SRDF file of a URDF or xacro file; True: the one beside it, or in a folder `srdf`; False: none.
    prim: the path of the prim that holds the robot, in USD stages with several, as "/World/arm"; "/": the whole stage.

    Findings that concern physics, such as a negative mass or lengths in millimetres, are told by one warning for the
    file (`ImportFindingsWarning`), and are in `import_log`, with all others.
    """
    from . import formats  # reads files, which needs an XML library

    origin: Any = source
    if isinstance(source, str) and source in bundled_names():
        origin = bundled_path(source)
    if isinstance(origin, str | os.PathLike) and (
        os.fspath(origin).lower().endswith(".mech.toml") or _is_bundled(origin)
    ):
        if prim is not None:
            raise DalembertError(f"{os.fspath(origin)}: prim=… is for USD files: leave it out")
        return _mechanism(origin, base, arguments)
    options: dict[str, Any] = {"base": base, "strict": strict, "mimic": mimic}
    options |= ({"arguments": arguments} if arguments else {}) | ({"srdf": srdf} if srdf is not True else {})
    options |= {"prim": prim} if prim is not None else {}
    robot = Robot(*formats.read(origin, **options))
    if physical := robot.physical_findings:
        one = physical[0]
        first = f"{one.where}: {one.what}; {one.action}"
        count = "1 finding concerns" if len(physical) == 1 else f"{len(physical)} findings concern"
        others = "" if len(physical) == 1 else ", such as"
        said = f"{count} the physics of robot {robot.name!r}{others}: {first} (see robot.import_log)"
        warnings.warn(said, ImportFindingsWarning, stacklevel=2)
    return robot


def _mechanism(source: str | os.PathLike[str], base: str | None, arguments: Mapping[str, Any] | None) -> Robot:
    """The robot of a mechanism's file, in joint coordinates; such a file leaves nothing to be assumed."""
    from dalembert.mechanism.files import read

    from .mechanism.library import mechanism

    if base is not None or arguments:
        raise DalembertError(f"{os.fspath(source)}: base and arguments are not for mechanisms: leave them out")
    if _is_bundled(source):
        return mechanism(os.fspath(source)).build()
    stated = read(source)
    try:
        return stated.build()
    except DalembertError as error:
        raise DalembertError(f"{os.fspath(source)}: {error}") from None


def _is_bundled(source: str | os.PathLike[str]) -> bool:
    """Whether it is the name of a bundled mechanism: a word without dots and slashes."""
    if not isinstance(source, str) or not source.replace("-", "").isalpha():
        return False
    from .mechanism.library import BUNDLED

    return source in BUNDLED


def scene(*robots: Robot, at: Mapping[str, Any] | None = None, name: str = "scene", **objects: Robot | Shape) -> Robot:
    """Several robots and loose objects as one robot in one world.

    robots: by position, under their own names. objects: by a name that goes before all of theirs, as in "ball_…"; a
    shape of `dalembert.model.geometry` is a fixed obstacle. What has a free base goes on floating, the rest is fixed in
    the world. at: name (of the robot, or of the object) → where its world is, xyz [m] (3,) or a `Pose`. Gravity is that
    of the first robot.
    """
    for robot in robots:
        if not isinstance(robot, Robot):
            raise DalembertError(
                f"scene: got a {type(robot).__name__}, expected robots, or things by name: scene(ball=…)"
            )
    parts: dict[str, tuple[Any, str]] = {robot.name: (robot, "") for robot in robots}
    parts |= {key: (content, f"{key}_") for key, content in objects.items()}
    if len(parts) < len(robots) + len(objects):
        raise DalembertError("scene: two robots of one name: give one by keyword, as in scene(left=…, right=…)")
    places = dict(at or {})
    for key in places:
        if key not in parts:
            raise unknown("robot or object", key, parts, "scene: at")
    contents = [content for content, _ in parts.values()]
    gravity = next((content.model.gravity for content in contents if isinstance(content, Robot)), (0.0, 0.0, -9.81))
    builder = ModelBuilder(name, gravity)
    builder.add_body("world", parent="world")
    for key, (content, _) in parts.items():
        if not isinstance(content, Robot):
            builder.add_geometry(
                content, body="world", placement=_place(places.get(key), key), role="collision", name=key
            )
    editor = builder.build().edit()
    for key, (content, prefix) in parts.items():
        if isinstance(content, Robot):
            X = _place(places.get(key), key)
            editor.attach(content, frame="world", prefix=prefix, placement=X, free=True)
    return editor.done()


def _place(place: Any, key: str) -> Pose:
    if place is None or isinstance(place, Pose):
        return place or Pose.identity()
    xyz = np.asarray(place, float)
    if xyz.shape != (3,) or not np.all(np.isfinite(xyz)):
        raise DalembertError(f"scene: at[{key!r}] is {place!r}, expected xyz (3,) [m] or a Pose")
    return Pose(np.eye(3), xyz)


def register_reader(ending: str, reader: Callable[..., Any]) -> None:
    """Let `load` read files whose names end in `ending`, such as ".robot", by a function of your own.

    reader(path, log) returns a `ModelBuilder`, a `Model` or a `Robot`. It tells `log.warning(where, what, action)` of
    physics that it dropped, repaired or assumed, which strict=True makes an error, and `log.info(…)` of anything else.
    It gets those options of `load` that it has parameters for: base, mimic, arguments. The last one registered counts.
    """
    from . import formats

    formats.register_reader(ending, reader)


def register_writer(ending: str, writer: Callable[..., Any]) -> None:
    """Let `robot.save` write files whose names end in `ending`, such as ".robot", by a function of your own.

    writer(robot, log) returns the text or the bytes of the file. It tells `log.note(kind, name, what, action)` of what
    the file leaves out without a loss of physics, `log.change(…)` of physics that differs, an error unless
    approximate=True, and `log.refuse(kind, name, what, cure)` of what cannot be written. It gets those options of
    `save` that it has parameters for: geometry, package, notes. The last one registered counts.
    """
    from . import formats

    formats.register_writer(ending, writer)


def robots() -> tuple[str, ...]:
    """Names of the bundled robots."""
    return tuple(bundled_names())


def function(compute: Callable[..., Any], robot: Robot, **sizes: int) -> Callable[..., Any]:
    """Trace and compile a function of one state; the result takes one state or batches, like the methods of `Robot`.

    Arguments named q, q0, q1 have nq elements, v, a, tau have nv; the sizes of others are given by keyword, as in
    function(lambda q, k: …, robot, k=3). The function uses arithmetic, dalembert.math and methods of robots; it is
    called twice, and must say the same both times. Other values that it uses are taken as they are now.
    """
    known = {"q": robot.nq, "q0": robot.nq, "q1": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nv, **sizes}
    names = list(inspect.signature(compute).parameters)
    missing = [n for n in names if n not in known]
    if missing:
        raise DalembertError(
            f"function: what is the size of {missing[0]!r}? pass {missing[0]}=…; q, q0, q1, v, a and tau are known"
        )
    title = getattr(compute, "__name__", "function")
    title = title if title.isidentifier() else "function"
    taken = {n: known[n] for n in names}
    traced = partial(asked, compute)
    call = function_call(robot.model, title, taken, traced)
    if function_call(robot.model, title, taken, traced).program.identity != call.program.identity:
        raise DalembertError(
            f"function: {title} gives another expression each time it is called (random numbers, a counter, a state?), "
            "and only one of them would be compiled: make what changes an argument"
        )
    return call.builtin(title, f"({', '.join(names)})\n--\n\n{compute.__doc__ or ''}", call)
