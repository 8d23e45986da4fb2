"""The same MJCF file here and in MuJoCo, for tests of Contact(model="mujoco")."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, load
from dalembert.mujoco.constraints import mujoco_constraints

mj = pytest.importorskip("mujoco", reason="the peer is MuJoCo: pip install mujoco")

SOFT = Contact(model="mujoco")
SHAPES = {
    "sphere": 'type="sphere" size=".12"',
    "capsule": 'type="capsule" size=".1 .12"',
    "box": 'type="box" size=".1 .12 .14"',
    "cylinder": 'type="cylinder" size=".1 .12"',
    "ellipsoid": 'type="ellipsoid" size=".1 .12 .14"',
}
FLOOR = '<geom type="plane" size="1 1 1" friction=".7 .01 .002" margin=".01" solmix="2" solref=".03 1.2" {}/>'
BODY = '<body pos="0 0 {}"><freejoint/><geom {} {}/></body>'


def scene(option: str, bodies: str, after: str = "") -> str:
    return f'<mujoco><option timestep=".002" {option}/><worldbody>{bodies}</worldbody>{after}</mujoco>'


class Twin:
    """The same file here and in MuJoCo, which solves to rounding."""

    def __init__(self, text: str, contact: Contact = SOFT) -> None:
        self.robot = load(text, mimic="free")
        self.m = mj.MjModel.from_xml_string(text)
        self.m.opt.solver, self.m.opt.tolerance, self.m.opt.iterations = mj.mjtSolver.mjSOL_NEWTON, 0.0, 200
        self.m.opt.ls_iterations, self.m.opt.ls_tolerance = 100, 1e-10
        self.m.opt.ccd_tolerance, self.m.opt.ccd_iterations = 1e-12, 200
        self.d = mj.MjData(self.m)
        self.contact = contact

    def move(self, rng: np.random.Generator, size: float = 0.3) -> None:
        """To a random state near the file's."""
        mj.mj_resetData(self.m, self.d)
        mj.mj_integratePos(self.m, self.d.qpos, size * rng.normal(size=self.m.nv), 1.0)
        self.d.qvel[:] = rng.normal(size=self.m.nv)

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,) and v (nv,) here: free joints have their own axes, and the angular part first."""
        q, v = self.d.qpos.copy(), self.d.qvel.copy()
        for body in self.robot.model.bodies:
            if body.joint.kind == "free":
                R, linear = body.joint.pose(q[body.q]).R, self.d.qvel[body.v][:3]
                v[body.v] = np.concatenate([self.d.qvel[body.v][3:], R.T @ linear])
        return q, v

    def forward_with(self, contacts: np.ndarray) -> None:
        """mj_forward, but with distances, positions and normals (n, 7), or (7,) of one, in the place of its own."""
        m, d = self.m, self.d
        mj.mj_fwdPosition(m, d)
        for c, row in zip(d.contact, np.atleast_2d(contacts), strict=True):
            n = row[4:]
            y = np.eye(3)[1 if abs(n[1]) < 0.5 else 2]
            y = y - (n @ y) * n
            y /= np.linalg.norm(y)
            c.dist, c.pos[:], c.frame[:] = row[0], row[1:4], np.concatenate([n, y, np.cross(n, y)])
        for stage in (mj.mj_makeConstraint, mj.mj_island, mj.mj_projectConstraint):
            stage(m, d)
        for stage in (mj.mj_fwdVelocity, mj.mj_fwdActuation, mj.mj_fwdAcceleration, mj.mj_fwdConstraint):
            stage(m, d)

    def accelerations(self, compiled: bool = False, contact: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Ours and MuJoCo's (nv,), the latter along our axes; contact: see `forward_with`."""
        if contact is None:
            mj.mj_forward(self.m, self.d)
        else:
            self.forward_with(contact)
        q, v = self.state
        if compiled:
            ours = self.robot.contact_dynamics(q, v, np.zeros(self.robot.nv), contact=self.contact).a
        else:
            element = mujoco_constraints(self.robot.model, self.contact, None)
            tree = self.robot.model.without("friction", "loops")
            ours = element.balance(tree, q, v, np.zeros(self.robot.nv), {}).a.astype(float)
        theirs = self.d.qacc.copy()
        for body in self.robot.model.bodies:
            if body.joint.kind == "free":
                R, linear = body.joint.pose(q[body.q]).R, self.d.qacc[body.v][:3]
                turning = np.cross(v[body.v][:3], v[body.v][3:])
                theirs[body.v] = np.concatenate([self.d.qacc[body.v][3:], R.T @ linear - turning])
        return ours, theirs
