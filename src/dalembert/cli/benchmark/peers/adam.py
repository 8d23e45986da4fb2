"""adam with NumPy: base velocity [v; ω] in world axes at the base's origin, joints in a given order.

adam has no inverse dynamics of its own (it is M a + h) and treats every base as free; a fixed base is the lower block.
"""

from __future__ import annotations

from contextlib import redirect_stderr
from importlib.metadata import version
from io import StringIO

import numpy as np

from .layout import Layout, Unavailable
from .rival import Rival
from .urdf import bare, has_free_base


class AdamRival(Rival):
    """States are pairs: (base pose (4, 4), joint angles) and (base velocity (6,), joint rates)."""

    def inputs(self, function, q, v, u):
        positions, rates, turned = super().inputs(function, q, v, u)
        if self.layout.free is None:
            pose, rest = np.eye(4), np.zeros(6)
            return [(pose, s) for s in positions], [(rest, s) for s in rates], turned
        H = np.tile(np.eye(4), (len(q), 1, 1))
        H[:, :3, :3], H[:, :3, 3] = self.layout.base_rotation(q), positions[:, :3]
        return list(zip(H, positions[:, 7:], strict=True)), [(s[:6], s[6:]) for s in rates], turned


def build(case, robot, frame: str) -> Rival:
    from adam.numpy import KinDynComputations

    kin, layout = model(KinDynComputations, case, robot)
    names = {"np": np, "mass": kin.mass_matrix, "bias": kin.bias_force, "jac": kin.jacobian, "frame": frame}
    code = calls("mass(*q)", "bias(*q, *v)", "jac(frame, *q)", free=layout.free is not None)
    return AdamRival("adam", version("adam-robotics"), layout, code, names)


def calls(M: str, h: str, J: str, *, free: bool) -> dict[str, str]:
    """The four functions from expressions for the free-base mass matrix, bias force and Jacobian.

    Forward dynamics solves with M, because adam's ABA takes no force on the base.
    """
    if not free:
        M, h, J = M + "[6:, 6:]", h + "[6:]", J + "[:, 6:]"
    return {
        "inverse_dynamics": f"y = {M} @ u + {h}",
        "forward_dynamics": f"y = np.linalg.solve({M}, u - {h})",
        "mass_matrix": f"y = {M}",
        "jacobian": f"y = {J}",
    }


def model(computations, case, robot):
    """adam's model through one of its back ends, and the layout of its coordinates."""
    joints = [joint for joint in robot.joints if joint.kind != "free"]
    with redirect_stderr(StringIO()):  # its URDF parser prints every tag it does not know
        gravity = np.array([*robot.model.gravity, 0, 0, 0], float)
        kin = computations(bare(case.path), [joint.name for joint in joints], gravity=gravity)
    free = next((joint for joint in robot.joints if joint.kind == "free"), None)
    if free is not None and not has_free_base(case.path, robot):
        raise Unavailable("takes a floating joint inside the file for a fixed one")
    q0, v0 = (7, 6) if free else (0, 0)
    layout = Layout(q0 + len(joints), v0 + len(joints), linear="world", angular="world")
    if free:
        layout.add(free, 0, 0)
    for k, joint in enumerate(joints):
        layout.add(joint, q0 + k, v0 + k)
    return kin, layout
