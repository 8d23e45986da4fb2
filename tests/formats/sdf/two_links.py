"""An SDF model of two links and one joint, whose parts a test replaces one at a time."""

from __future__ import annotations

TENSOR = "<inertia><ixx>1</ixx><ixy>0</ixy><ixz>0</ixz><iyy>1</iyy><iyz>0</iyz><izz>1</izz></inertia>"
GOOD = f"<inertial><mass>1</mass>{TENSOR}</inertial>"
AXIS = "<axis><xyz>0 0 1</xyz></axis>"


def sdf(
    *, link: str = GOOD, joint: str = AXIS, kind: str = "revolute", extra: str = "", version: str = "1.6", top: str = ""
) -> str:
    """Joint j between links a and b; `link`, `joint`, `extra` and `top` are XML that goes into the place they name."""
    return f"""<sdf version="{version}">
<model name="r">{top}
  <link name="a">{GOOD}</link>
  <link name="b">{link}</link>
  <joint name="h" type="fixed"><parent>world</parent><child>a</child></joint>
  <joint name="j" type="{kind}"><parent>a</parent><child>b</child>
    {joint}
  </joint>
  {extra}
</model>
</sdf>"""
