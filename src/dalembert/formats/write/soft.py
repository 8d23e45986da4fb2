"""Tendons, and what a file states for MuJoCo's soft constraints: MJCF has words for them, the other formats do not."""

from __future__ import annotations

from dalembert.model import Model
from dalembert.model.mujoco import SOFT, Mujoco, MujocoOption, MujocoTendon, Softness

from .losses import Losses
from .text import Element, add, number, numbers

WRITTEN = ("timestep", "integrator", "cone", "impratio")  # of MuJoCo's options


def note_tendons(model: Model, losses: Losses) -> None:
    """Log the springs and dampers of tendons, for a format that has none."""
    for tendon in model.mujoco.tendons if model.mujoco else ():
        if tendon.pulls:
            losses.change("tendon", tendon.name, f"{losses.language} has no tendons", "its forces are left out")


def solver_options(model: Model) -> dict[str, str]:
    """Attributes of <option> that differ from MuJoCo's defaults."""
    option, usual = (model.mujoco or Mujoco()).option, MujocoOption()
    chosen = {name: getattr(option, name) for name in WRITTEN if getattr(option, name) != getattr(usual, name)}
    return {name: value if isinstance(value, str) else number(value) for name, value in chosen.items()}


def add_tendons(root: Element, model: Model, losses: Losses) -> None:
    """<tendon>: those with forces or limits of their own; those that only guide actuators come with the actuators."""
    if model.mujoco is None:
        return
    _note_what_is_not_written(model.mujoco, losses)
    own = [t for t in model.mujoco.tendons if t.pulls or t.frictionloss or t.range is not None]
    sites = {frame.name for frame in model.frames} - {part.name for body in model.bodies for part in body.parts}
    taken = {actuator.name for actuator in model.actuators}  # also names of the tendons on which they act
    section = add(root, "tendon") if own else root
    for tendon in own:
        missing = [site for site in tendon.path if site not in sites]
        if missing:
            why = f"frame '{missing[0]}' is a link, and MJCF needs a site"
            losses.change("tendon", tendon.name, why, "its forces are left out")
            continue
        name = f"{tendon.name}_passive" if tendon.name in taken else tendon.name
        element = add(section, "spatial" if tendon.path else "fixed", name=name, **_attributes(tendon))
        for joint, coefficient in tendon.joints:
            add(element, "joint", joint=joint, coef=number(coefficient))
        for site in tendon.path:
            add(element, "site", site=site)
    if own and not len(section):
        root.remove(section)


def _attributes(tendon: MujocoTendon) -> dict[str, str]:
    words = {key: number(getattr(tendon, key)) for key in ("stiffness", "damping", "frictionloss", "margin")
             if getattr(tendon, key)}  # fmt: skip
    if tendon.stiffness:
        words["springlength"] = numbers(tendon.rest)
    if tendon.range is not None:
        words["range"] = numbers(tendon.range)
    return words | _softness(tendon.limit, "limit") | _softness(tendon.friction, "friction")


def _softness(softness: Softness, of: str) -> dict[str, str]:
    words = {f"solref{of}": softness.solref, f"solimp{of}": softness.solimp} if softness != SOFT else {}
    return {key: numbers(value) for key, value in words.items()}


def _note_what_is_not_written(mujoco: Mujoco, losses: Losses) -> None:
    usual = MujocoOption()
    others = [
        name for name in vars(usual) if name not in WRITTEN and getattr(mujoco.option, name) != getattr(usual, name)
    ]
    soft = any((j.limit, j.friction, j.margin, j.largest_angle) != (SOFT, SOFT, 0.0, None) for j in mujoco.joints)
    soft = soft or any(each.softness != SOFT for each in mujoco.equalities)
    for stated, what in (
        (others, "options of MuJoCo's solver"),
        (soft, "softness of limits, joint friction and equalities"),
        (mujoco.pairs, "<pair>s of geoms"),
        (mujoco.height_maps, "height fields"),
    ):
        if stated:
            losses.note("robot", "this file", f"{what}, for Contact(model='mujoco')", "left out")
