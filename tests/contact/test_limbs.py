"""One or two contacts for each limb that ends in a ball: the same motion as with a place for each candidate."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.contact import candidates
from dalembert.contact.gathering import Gathering
from dalembert.model.geometry import Capsule, Sphere
from dalembert.sim.elements import contact as element
from dalembert.sim.system.limbs import limbs_of
from tolerances import ITERATED

STEP = 2e-3
CONTACT = Contact(friction=0.6, torsion=2e-3, tolerance=1e-11)


@cache
def walker() -> Robot:
    """A trunk on two legs, each a hinge with dry friction, a bar and a ball as foot: 8 points that may touch."""
    builder = ModelBuilder("walker")
    builder.add_body("trunk", parent="world", joint="free", mass=3.0, inertia=np.diag([0.03, 0.05, 0.06]))
    builder.add_geometry(Capsule(0.05, 0.2), body="trunk", rpy=(0, np.pi / 2, 0), role="collision")
    for name, x in (("front", 0.15), ("rear", -0.15)):
        hinge = {"joint": "revolute", "axis": (0, 1, 0), "xyz": (x, 0.0, 0.0), "friction": 0.3, "damping": 0.05}
        builder.add_body(name, parent="trunk", mass=0.5, com=(0, 0, -0.1), inertia=np.eye(3) * 0.003, **hinge)
        builder.add_geometry(Capsule(0.02, 0.1), body=name, xyz=(0, 0, -0.1), role="collision")
        builder.add_geometry(Sphere(0.03), body=name, xyz=(0, 0, -0.25), role="collision", name=f"{name} foot")
    return builder.build()


def dropped(n: int) -> tuple[np.ndarray, np.ndarray]:
    """States of n walkers that land on their feet, and then on bars and the trunk."""
    robot, rng = walker(), np.random.default_rng(2)
    q = np.tile(robot.neutral(), (n, 1))
    q[:, 2] = 0.29
    q[:, 7:] += 0.3 * rng.standard_normal((n, 2))
    return q, 0.3 * rng.standard_normal((n, robot.nv))


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch):
    """A function that chooses between slots, before which limbs come, and a place for each candidate."""

    def use(count: int) -> None:
        monkeypatch.setattr(element, "SLOTS", count)
        monkeypatch.setattr(element, "SLOTS_PER_BODY", 0)
        monkeypatch.setattr(element, "FEW", -count if count else 1000)

    return use


def test_legs_are_limbs_and_trunks_are_none() -> None:
    model = walker().model
    gathering = Gathering(model, candidates(model, CONTACT))
    names = [name for patch in gathering.patches for name in patch.names]
    limbs = [{names[k].split()[0] for k in members} for members in limbs_of(gathering)]
    assert limbs == [{"front"}, {"rear"}]


def test_limbs_give_the_motion_of_a_place_for_each_candidate(slots) -> None:
    q, v = dropped(8)
    motions = []
    for count in (0, 5):  # 5: two for each leg, and one more
        slots(count)
        motions.append(walker().rollout(q, v, step=STEP, steps=120, contact=CONTACT))
    expected, of_limbs = motions
    assert np.abs(of_limbs.q - expected.q).max() < ITERATED
    assert (expected.q[:, 2] < 0.15).any()  # some lie on their trunks

    parts = [walker().rollout(q[at], v[at], step=STEP, steps=120, contact=CONTACT) for at in (slice(3), slice(3, 8))]
    assert np.array_equal(np.concatenate([part.q for part in parts]), of_limbs.q)
