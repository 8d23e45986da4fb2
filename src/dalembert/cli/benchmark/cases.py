"""Which robots are measured: four from example-robot-data where it is installed, and bundled ones."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dalembert
from dalembert.errors import unknown
from dalembert.model.bundled import names as bundled_names
from dalembert.model.bundled import path as bundled_path

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian")

# label, file below example-robot-data/robots, base
EXAMPLES = (
    ("UR5", "ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("Panda", "panda_description/urdf/panda.urdf", "fixed"),
    ("ANYmal", "anymal_b_simple_description/robots/anymal.urdf", "free"),
    ("Talos", "talos_data/robots/talos_reduced.urdf", "free"),
)
USUAL = (*(label for label, *_ in EXAMPLES), "2r", "ur5", "panda", "quadruped", "humanoid")
QUICK = ("UR5", "Panda", "ur5", "panda")


@dataclass(frozen=True)
class Case:
    """One robot to measure: a label, its URDF, and its base ("fixed", "free", or None: as the file says)."""

    label: str
    path: Path
    base: str | None = None

    def load(self) -> dalembert.Robot:
        """The bare rigid tree. Mimic joints are independent and joint losses left out, as the peers have it."""
        robot = dalembert.load(str(self.path), base=self.base, mimic="free")
        return robot.without("friction", "damping", "armature", "springs", "loops")


def example_folder() -> Path | None:
    """Where the wheel of example-robot-data puts its robots, or None when it is not installed."""
    folder = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    return folder if folder.is_dir() else None


def available() -> dict[str, Case]:
    """Every case that can run here, by label; labels of bundled robots are their names, in lower case."""
    cases: dict[str, Case] = {}
    folder = example_folder()
    if folder is not None:
        cases |= {label: Case(label, folder / file, base) for label, file, base in EXAMPLES}
    return cases | {name: Case(name, bundled_path(name)) for name in bundled_names()}


def select(names: Sequence[str], quick: bool = False) -> list[Case]:
    """The named cases, or by default the usual ones (with `quick`, fewer). An unknown name is an error."""
    cases = available()
    if not names:
        return [cases[label] for label in (QUICK if quick else USUAL) if label in cases]
    missing = [name for name in names if name not in cases]
    if missing:
        raise unknown("robot", missing[0], cases, where="bench")
    return [cases[name] for name in names]
