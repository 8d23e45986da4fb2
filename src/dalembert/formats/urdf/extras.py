"""Elements of URDF files besides links and joints: simulator and controller sections, and leftovers of xacro."""

from __future__ import annotations

from ..hidden import IDLE, OFF, hidden_physics
from ..ledger import Ledger
from ..xml import Document, children, meant_by, tag_of
from .elements import Element

SILENT = {"link", "joint", "material", "dalembert", "loop_joint", "loop"}
NOT_USED = {
    "transmission": "says which joints have motors; reduction and motor data do not enter (state rotor inertia as "
    "<dalembert armature>)",
    "ros2_control": "says which joints have motors; the rest concerns the controller",
    "sensor": "not used: it carries no dynamics",
}
PHYSICAL = {"gravity", "physics", "coupling", "constraint", "spring", "damping"}

# Gazebo's words for contact parameters of a link, and what they are in `Surface`.
CONTACT = {"mu1": "friction", "mu": "friction", "mu2": "friction", "kp": "stiffness", "kd": "damping"}
# Gazebo's words for forces that the links and joints do not state themselves.
GAZEBO_FORCES = {
    "springStiffness", "dampingFactor", "turnGravityOff", "static", "kinematic", "fluid_added_mass", "joint",
    "spring_stiffness", "velocity_decay",
}  # fmt: skip
# What <mujoco> may set without changing the robot, and the attributes that do change it.
MUJOCO_SETTINGS = {"compiler", "option", "size", "visual", "statistic", "asset", "default", "sensor", "custom"}
MUJOCO_PHYSICS = {
    "option": ("gravity", "density", "viscosity", "wind"),
    "compiler": ("balanceinertia", "boundmass", "boundinertia", "settotalmass", "inertiafromgeom"),
}


def read_extras(document: Document, ledger: Ledger) -> None:
    """Log every element of <robot> that is neither link nor joint; raise on unexpanded xacro."""
    refuse_xacro(document)
    for element in children(document.root):
        tag, where = tag_of(element), document.where(element)
        if tag in SILENT:
            continue
        if tag == "gazebo":
            _gazebo(document, element, ledger)
        elif tag == "mujoco":
            _mujoco(document, element, ledger)
        elif tag == "transmission" and (words := hidden_physics(element)):
            what = f"states {', '.join(words)}"
            ledger.warning(
                where, what, "not used: state the rotor's inertia, times reduction², as <dalembert armature>"
            )
        elif tag in NOT_USED:
            ledger.count(where, f"<{tag}>", NOT_USED[tag])
        elif tag in PHYSICAL:
            ledger.warning(where, f"<{tag}> in <robot> is not URDF and may carry physics", "not used")
        elif lost := sorted({tag_of(child) for child in element.iter("{*}*")} & {"link", "joint"}):
            what = f"<{tag}> in <robot> is not URDF and holds {' and '.join(f'<{name}>' for name in lost)}"
            ledger.warning(where, what, "not used: links and joints lie directly in <robot>")
        elif meant := meant_by(tag, ("joint", "link")):
            ledger.warning(where, f"<{tag}> in <robot> is not URDF", f"not used: did you mean <{meant}>?")
        elif words := hidden_physics(element):
            what = f"<{tag}> in <robot> is not URDF and states {', '.join(words)}"
            ledger.warning(where, what, "not used: state it in <inertial>, <dynamics> or <dalembert>")
        else:
            ledger.count(where, f"<{tag}> in <robot> is not URDF", "passed over")


def refuse_xacro(document: Document) -> None:
    """Raise at the first element of the xacro macro language."""
    for element in document.root.iter():
        if isinstance(element.tag, str) and (
            element.prefix == "xacro" or "xacro" in element.tag.rpartition("}")[0] or element.tag.startswith("xacro:")
        ):
            raise document.error(
                element,
                "the file still holds xacro macros; name it .urdf.xacro, or expand it first: xacro in > out",
            )


def _gazebo(document: Document, element: Element, ledger: Ledger) -> None:
    """<gazebo>: springs, damping and gravity set here would change the motion; all else is contact, colour, plugins."""
    target = element.get("reference")
    forces = [child for child in children(element) if _is_force(child)]
    for child in forces:
        of = f" of '{target}'" if target else ""
        ledger.warning(
            document.where(child),
            f"<gazebo>{of} sets {tag_of(child)}={(child.text or '').strip() or '…'}",
            "not used: state it in <dynamics> or <dalembert>",
        )
    others = [child for child in children(element) if child not in forces]
    stating = [(child, words) for child in others if (words := _words(child))]
    for child, words in stating:
        of = f" of '{target}'" if target else ""
        cure = "as a <link> of the robot" if tag_of(child) == "link" else "in <dynamics>, <inertial> or <dalembert>"
        what = f"<{tag_of(child)}> in <gazebo>{of} states {', '.join(words)}"
        ledger.warning(document.where(child), what, f"not used: state it {cure}")
    if not forces and not stating and not all(tag_of(child) in CONTACT for child in others):
        ledger.count(document.where(element), "<gazebo>", "not used: contact, colour, plugins of the simulator")


def _words(element: Element) -> list[str]:
    """Words for forces and masses in a section of <gazebo>; friction of contact (mu) does not count."""
    return [] if tag_of(element) in IDLE or not len(element) else hidden_physics(element)


def _mujoco(document: Document, element: Element, ledger: Ledger) -> None:
    """<mujoco>: options that change gravity or masses, and other elements that MuJoCo would add to the robot."""
    for child in children(element):
        tag, where = tag_of(child), document.where(child)
        set_here = [
            name
            for name in MUJOCO_PHYSICS.get(tag, ())
            if child.get(name) is not None and child.get(name) not in ("false", "auto", "0", "-1")
        ]
        if set_here and tag == "option":
            cure = "not used: write <dalembert gravity='…'/> in <robot>"
            ledger.warning(where, f"<mujoco> sets {', '.join(set_here)}, which URDF readers ignore", cure)
        elif set_here:
            what = f"<mujoco> lets MuJoCo change masses ({', '.join(set_here)})"
            ledger.warning(where, what, "not used: write the masses that are meant in <inertial>")
        elif tag not in MUJOCO_SETTINGS:
            ledger.warning(where, f"<mujoco> adds <{tag}>", "not used: save the model as MJCF and load that")
        else:
            ledger.count(where, f"<{tag}> in <mujoco>", "not used: settings of the simulator")


def _is_force(element: Element) -> bool:
    tag, text = tag_of(element), (element.text or "").strip().lower()
    if tag == "gravity":
        return text in OFF - {""}
    try:
        zero = float(text) == 0.0
    except ValueError:
        zero = text in OFF and not len(element)
    return tag in GAZEBO_FORCES and not zero
