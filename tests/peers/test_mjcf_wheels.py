"""Every XML file of dm_control, gymnasium-robotics and robosuite: read as MuJoCo reads it, or refused with the reason.

mjcf_wheels.txt says what must become of each. Both sides evaluate on plain numbers, with every joint independent; what
the import log says is not used is switched off in MuJoCo, and nothing else but Coulomb friction and constraints.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.dynamics.algorithms import bias, frame_pose, mass_matrix, rnea
from dalembert.errors import DalembertError
from dalembert.formats import read_mjcf
from dalembert.formats.diagnosis import KEPT
from dalembert.model import Model
from peers.mjcf_twin import FileTwin, compiles, wheel, wheel_files
from tolerances import assert_close
from trees import random_state

AGREEMENT = 1e-9  # of the largest entry: chains of some sixty bodies in dm_control's dog and rodent
LINES = Path(__file__).with_name("mjcf_wheels.txt").read_text().splitlines()
FILES = {path: (outcome, reason) for path, outcome, reason in (line.split("\t") for line in LINES)}
"""path below site-packages → outcome (agrees, still, refused), and why it is refused or what is dropped"""


def test_the_list_is_complete():
    assert sorted(FILES) == sorted(wheel_files())
    assert sum(outcome == "agrees" for outcome, _ in FILES.values()) >= 90
    assert sum(outcome == "agrees" and not reason for outcome, reason in FILES.values()) >= 75


@pytest.mark.parametrize("path", [path for path, (outcome, _) in FILES.items() if outcome == "refused"])
def test_refused(path):
    with pytest.raises(DalembertError) as error:
        read_mjcf(wheel(path))
    assert FILES[path][1] in str(error.value)
    assert not compiles(wheel(path)) or "has nothing in it" in str(error.value)


@pytest.mark.parametrize("path", [path for path, (outcome, _) in FILES.items() if outcome == "still"])
def test_nothing_moves(path):
    model, log = read_mjcf(wheel(path))
    assert model.nv == 0 and not [finding for finding in log if finding.severity == "warning"]


@pytest.mark.parametrize("path", [path for path, (outcome, _) in FILES.items() if outcome == "agrees"])
def test_agrees(path):
    model, log = read_mjcf(wheel(path), mimic="free")
    noted = [f.what for f in log if f.severity == "warning" and f.action != KEPT]
    dropped = dict.fromkeys(what for what in noted if "actuator(s)" not in what)  # servos act when they are driven
    assert "; ".join(dropped) == FILES[path][1]
    twin = FileTwin(wheel(path), model)
    for what in dropped:
        twin.drop(what)
    agree(model.without("friction"), twin)


def agree(model: Model, twin: FileTwin) -> None:
    rng = np.random.default_rng(7)
    for _ in range(2):
        q, v, a = random_state(rng, model)
        assert_close(mass_matrix(model, q), twin.mass_matrix(q), AGREEMENT, scale=0.0)
        assert_close(rnea(model, q, v, a), twin.inverse_dynamics(q, v, a), AGREEMENT, scale=0.0)
        assert_close(bias(model, q, v), twin.inverse_dynamics(q, v, 0 * a), AGREEMENT, scale=0.0)
    for name, position in twin.bodies().items():
        assert_close(frame_pose(model, q, model.frame(name)).p, position, AGREEMENT)
    for name, position in twin.sites().items():
        assert_close(frame_pose(model, q, model.frame(name)).p, position, AGREEMENT)
