"""A compiled MuJoCo model beside the model read from the same file: states and forces carried from one to the other."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np

from dalembert.model import Coupled, Model
from peers.example_robots import missing, peer

mj = peer("mujoco")


class FileTwin:
    """MuJoCo's own reading of an MJCF file or text, without Coulomb friction, contacts and other constraints.

    Coordinates are the same; velocities differ in free joints: linear part first there, in world axes.
    """

    def __init__(self, file: Path | str, ours: Model) -> None:
        read = mj.MjSpec.from_string if isinstance(file, str) else mj.MjSpec.from_file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # attributes that MuJoCo will drop one day
            self.m = read(str(file)).compile()
        self.m.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data, self.ours = mj.MjData(self.m), ours
        assert (self.m.nq, self.m.nv) == (ours.nq, ours.nv), "every coordinate is there, in the same order"

    def drop(self, what: str) -> None:
        """Switch off what the import log says is not used."""
        m, what = self.m, re.sub(r"^\d+ × ", "", what)
        if "fluid" in what:
            m.opt.density = m.opt.viscosity = 0.0
        elif what.startswith("tendon"):
            m.tendon_stiffness[:] = m.tendon_damping[:] = m.tendon_armature[:] = 0.0
        else:  # constraints, which are off
            assert what.startswith(("an equality of kind", "option noslip_iterations")), what

    def bodies(self) -> dict[str, np.ndarray]:
        """Positions (3,) of the bodies that have names, at the last state."""
        return {self.m.body(i).name: self.data.xpos[i] for i in range(1, self.m.nbody) if self.m.body(i).name}

    def sites(self) -> dict[str, np.ndarray]:
        """Positions (3,) of the sites that have names of their own, at the last state."""
        named = {self.m.site(i).name: self.data.site_xpos[i] for i in range(self.m.nsite)}
        return {name: position for name, position in named.items() if name and name not in self.bodies()}

    def _free(self) -> list:
        return [body for body in self.ours.bodies if body.joint.kind == "free" and not isinstance(body.joint, Coupled)]

    def T(self, q: np.ndarray) -> np.ndarray:
        """(nv, nv), orthogonal: qvel = T v."""
        T = np.eye(self.ours.nv)
        for body in self._free():
            R = body.joint.pose(q[body.q]).R
            T[body.v, body.v] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
        return T

    def _turning(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(nv,) with qacc = T a + this: world axes do not turn with the body."""
        c = np.zeros(self.ours.nv)
        for body in self._free():
            w, linear = v[body.v][:3], v[body.v][3:]
            c[body.v.start : body.v.start + 3] = body.joint.pose(q[body.q]).R @ np.cross(w, linear)
        return c

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Springs, dampers and rotors included."""
        T = self.T(q)
        self.data.qpos[:], self.data.qvel[:] = q, T @ v
        mj.mj_forward(self.m, self.data)
        self.data.qacc[:] = T @ a + self._turning(q, v)
        mj.mj_inverse(self.m, self.data)
        return T.T @ self.data.qfrc_inverse

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """With rotors."""
        T, M = self.T(q), np.full((self.m.nv, self.m.nv), np.nan)
        self.data.qpos[:] = q
        mj.mj_forward(self.m, self.data)
        mj.mj_fullM(self.m, self.data, M)
        return T.T @ M @ T


WHEELS = ("dm_control", "gymnasium_robotics", "robosuite")


def compiles(file: Path) -> bool:
    """Whether MuJoCo takes the file."""
    try:
        mj.MjSpec.from_file(str(file)).compile()
    except ValueError:
        return False
    return True


def wheel(path: str) -> Path:
    """A file of a wheel, by its path below site-packages."""
    package = path.split("/")[0]
    home = next((Path(entry) for entry in sys.path if Path(entry, package).is_dir()), None)
    if home is None:
        raise missing(package)
    return home / path


def wheel_files() -> list[str]:
    """Every XML file of the wheels that hold MJCF models, by its path below site-packages."""
    folders = [wheel(package) for package in WHEELS]
    return [file.relative_to(folder.parent).as_posix() for folder in folders for file in folder.rglob("*.xml")]
