"""Hand-written USD stages for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HEAD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = {length}
    kilogramsPerUnit = {mass}
    upAxis = "{up}"
)
"""
BODY = """
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        double3 xformOp:translate = {at}
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = {mass}
        point3f physics:centerOfMass = {com}
        float3 physics:diagonalInertia = {inertia}
{inside}
    }}
"""
JOINT = """
    def Physics{kind}Joint "{name}"{schemas}
    {{
        {body0}
        rel physics:body1 = <{body1}>
        point3f physics:localPos0 = {at0}
        point3f physics:localPos1 = {at1}
        quatf physics:localRot0 = (1, 0, 0, 0)
        quatf physics:localRot1 = (1, 0, 0, 0)
{inside}
    }}
"""


def body(name: str, at: Any = (0, 0, 0), mass: float = 2.0, com: Any = (0, 0, 0), inertia: Any = (0.5, 0.375, 0.25),
         inside: str = "") -> str:  # fmt: skip
    """A rigid body."""
    return BODY.format(name=name, at=at, mass=mass, com=com, inertia=inertia, inside=inside)


def joint(kind: str, name: str, body0: str, body1: str, inside: str = "", at0: Any = (0, 0, 0), at1: Any = (0, 0, 0),
          schemas: str = "") -> str:  # fmt: skip
    """A joint; body0 "": the world."""
    applied = f" (prepend apiSchemas = [{schemas}])" if schemas else ""
    first = f"rel physics:body0 = <{body0}>" if body0 else ""
    return JOINT.format(
        kind=kind, name=name, body0=first, body1=body1, inside=inside, at0=at0, at1=at1, schemas=applied
    )


def stage(content: str, length: float = 1, mass: float = 1, up: str = "Z", outside: str = "") -> str:
    """The text of a stage, with content in /World."""
    return HEAD.format(length=length, mass=mass, up=up) + outside + f'def Xform "World"\n{{\n{content}\n}}\n'


def saved(folder: Path, text: str, name: str = "robot.usda") -> str:
    """The path of a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)
