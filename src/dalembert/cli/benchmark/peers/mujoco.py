"""MuJoCo: free joint q = [p, wxyz], v = [v in world axes; ω in body axes]. No contacts, no constraints."""

from __future__ import annotations

import numpy as np

from .layout import Layout, Unavailable
from .rival import Rival
from .urdf import bare, has_free_base

# Merge links that do not move, as is its default for URDF; leave inertias as the file has them.
OPTIONS = '<mujoco><compiler fusestatic="true" balanceinertia="false"/></mujoco>'
POSITION = "data.qpos[:] = q\nmj.mj_kinematics(model, data)\nmj.mj_comPos(model, data)\n"
CODE = {
    "inverse_dynamics": "data.qpos[:] = q\ndata.qvel[:] = v\ndata.qacc[:] = u\nmj.mj_inverse(model, data)\n"
    "y = data.qfrc_inverse",
    "forward_dynamics": "data.qpos[:] = q\ndata.qvel[:] = v\ndata.qfrc_applied[:] = u\nmj.mj_forward(model, data)\n"
    "y = data.qacc",
    "mass_matrix": POSITION + "mj.mj_crb(model, data)\nmj.mj_fullM(model, data, y := np.empty((nv, nv)))",
    "jacobian": POSITION + "y = np.empty((6, nv))\nmj.mj_jacBody(model, data, y[:3], y[3:], body)",
}


def build(case, robot, frame: str) -> Rival:
    import mujoco as mj

    spec = mj.MjSpec.from_string(bare(case.path, OPTIONS))
    if has_free_base(case.path, robot):
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    model.opt.gravity[:] = robot.model.gravity
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT | mj.mjtDisableBit.mjDSBL_CONTACT
    model.dof_armature[:] = model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    layout = Layout(model.nq, model.nv, linear="world")
    free = [i for i in range(model.njnt) if model.jnt_type[i] == mj.mjtJoint.mjJNT_FREE]
    for joint in robot.joints:
        index = free[0] if joint.kind == "free" and free else mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, joint.name)
        if index < 0:
            raise Unavailable(f"has no joint {joint.name!r}")
        layout.add(joint, model.jnt_qposadr[index], model.jnt_dofadr[index])
    body = mj.mj_name2id(model, mj.mjtObj.mjOBJ_BODY, frame)
    if body < 0 or robot.nv != model.nv:
        raise Unavailable(f"has no body {frame!r}, or {model.nv} instead of {robot.nv} velocities")
    names = {"mj": mj, "np": np, "model": model, "data": mj.MjData(model), "nv": model.nv, "body": body}
    return Rival("MuJoCo", mj.__version__, layout, CODE, names)
