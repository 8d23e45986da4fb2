"""Pinocchio: free joint q = [p, xyzw], v = [v; ω] in body axes; continuous joints as (cos, sin)."""

from __future__ import annotations

from .layout import Layout, Unavailable
from .rival import Rival
from .urdf import has_free_base

CODE = {
    "inverse_dynamics": "y = pin.rnea(model, data, q, v, u)",
    "forward_dynamics": "y = pin.aba(model, data, q, v, u)",
    "mass_matrix": "y = pin.crba(model, data, q)",
    "jacobian": "y = pin.computeFrameJacobian(model, data, q, frame, axes)",
}


BATCHES = {
    "inverse_dynamics": "pin.rneaInParallel(1, pool, Q, V, U, Y)",
    "forward_dynamics": "pin.abaInParallel(1, pool, Q, V, U, Y)",
}


def build(case, robot, frame: str) -> Rival:
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if has_free_base(case.path, robot) else []
    model = pin.buildModelFromUrdf(str(case.path), *root)
    model.gravity.linear = robot.model.gravity
    model.armature[:] = 0.0
    layout = Layout(model.nq, model.nv, scalar_first=False)
    for joint in robot.joints:
        # A base made free by the loader has a name of its own in each library.
        index = 1 if joint.kind == "free" and root else model.getJointId(joint.name)
        if index >= model.njoints:
            raise Unavailable(f"has no joint {joint.name!r}")
        theirs = model.joints[index]
        layout.add(joint, theirs.idx_q, theirs.idx_v, circle=theirs.nq == 2)
    names = {
        "pin": pin,
        "model": model,
        "data": model.createData(),
        "frame": model.getFrameId(frame, pin.BODY),
        "axes": pin.LOCAL_WORLD_ALIGNED,
    }
    batches = {}
    if hasattr(pin, "rneaInParallel"):  # built with OpenMP
        names["pool"], batches = pin.ModelPool(model, 1), BATCHES
    return Rival("Pinocchio", pin.__version__, layout, CODE, names, batches)
