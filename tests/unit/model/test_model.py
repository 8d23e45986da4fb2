"""The model: immutable, equal by content, picklable; lookups; dropping effects; random trees."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from dalembert import load
from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.model.content import leaves
from tolerances import ROUNDING, assert_close
from trees import ALL_KINDS, random_model, random_state


@pytest.fixture
def model():
    return random_model(0, n_bodies=len(ALL_KINDS))


def arrays(model) -> list[np.ndarray]:
    return [leaf for leaf in leaves(model) if isinstance(leaf, np.ndarray)]


def test_nothing_can_be_changed(model):
    with pytest.raises(FrozenInstanceError):
        model.name = "other"
    with pytest.raises(FrozenInstanceError):
        model.bodies[1].parent = 3
    with pytest.raises(FrozenInstanceError):
        model.bodies[1].joint.damping = 3
    assert len(arrays(model)) > 100
    for array in arrays(model):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_equal_by_content():
    a, b = random_model(4), random_model(4)
    assert a is not b and a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != random_model(5) and a != "a"


def _changed(model, **changes):
    """The model with its last body changed."""
    return replace(model, bodies=(*model.bodies[:-1], replace(model.bodies[-1], **changes)))


def test_every_number_and_name_counts(model):
    last = model.bodies[-1]
    nudged = replace(last.placement, p=last.placement.p + 1e-12)
    others = [
        replace(model, name="other"),
        replace(model, gravity=model.gravity + 1e-12),
        replace(model, frames=model.frames[:-1]),
        _changed(model, name="other"),
        _changed(model, placement=nudged),
        _changed(model, inertia=replace(last.inertia, mass=last.inertia.mass + 1e-12)),
        _changed(model, joint=replace(last.joint, damping=last.joint.damping + 1e-12)),
        _changed(model, joint=replace(last.joint, slip_speed=last.joint.slip_speed + 1e-12)),
        _changed(model, parts=()),
    ]
    fingerprints = {other.fingerprint for other in (model, *others)}
    assert len(fingerprints) == 1 + len(others)


def test_the_kind_of_joint_counts():
    fingerprints = set()
    for kind in ("revolute", "continuous", "prismatic"):
        builder = ModelBuilder("m")
        builder.add_body("a", parent="world", joint=kind)
        fingerprints.add(builder.model().fingerprint)
    assert len(fingerprints) == 3


def test_zeros_of_both_signs_are_one_number(model):
    assert replace(model, gravity=np.array([0.0, 0.0, -1.0])) == replace(model, gravity=np.array([-0.0, 0.0, -1.0]))


def test_fingerprint_is_the_same_in_another_process():
    script = "from dalembert.model import ModelBuilder as B; b = B('m'); b.add_body('a', parent='world', mass=1.5)"
    script += "; b.add_body('b', parent='a', joint='revolute', axis=(1, 2, 3)); print(b.model().fingerprint)"
    builder = ModelBuilder("m")
    builder.add_body("a", parent="world", mass=1.5)
    builder.add_body("b", parent="a", joint="revolute", axis=(1, 2, 3))
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == builder.model().fingerprint


def test_pickling_keeps_the_content_and_the_protection(model):
    back = pickle.loads(pickle.dumps(model))
    assert back == model and hash(back) == hash(model)
    assert not any(array.flags.writeable for array in arrays(back))
    q, _, _ = random_state(np.random.default_rng(0), model)
    for body, other in zip(model.bodies, back.bodies, strict=True):
        assert_close(other.joint.pose(q[other.q]).matrix(), body.joint.pose(q[body.q]).matrix(), 0.0)


def test_lookups(model):
    assert model.body("body3") is model.joint("joint3")
    assert model.frame("tool").name == "tool" and model.frame("body3").body == model.body("body3").index
    with pytest.raises(DalembertError, match="model 'random': unknown joint 'joint': did you mean 'joint"):
        model.joint("joint")
    with pytest.raises(DalembertError, match="unknown body 'nowhere'"):
        model.body("nowhere")
    with pytest.raises(DalembertError, match="unknown frame 'tol': did you mean 'tool'"):
        model.frame("tol")
    with pytest.raises(DalembertError, match="unknown joint 'base'"):  # it does not move
        model.joint("base")


def test_repr(model):
    assert repr(model) == f"Model('random', 10 bodies, nq={model.nq}, nv={model.nv})"


@pytest.mark.parametrize(
    ("effect", "field"),
    [("friction", "friction"), ("damping", "damping"), ("armature", "armature"), ("springs", "stiffness")],
)
def test_without_drops_one_effect_and_nothing_else(model, effect, field):
    bare = model.without(effect)
    assert not any(np.any(getattr(body.joint, field)) for body in bare.bodies)
    restored = tuple(
        replace(other, joint=replace(other.joint, **{field: getattr(body.joint, field)}))
        for body, other in zip(model.bodies, bare.bodies, strict=True)
    )
    assert bare != model and replace(bare, bodies=restored) == model


def test_without_several_or_unknown(model):
    assert model.without("friction", "springs") == model.without("springs").without("friction")
    assert model.without() == model
    with pytest.raises(DalembertError, match="without: unknown effect 'dampin': did you mean 'damping'"):
        model.without("dampin")


@pytest.mark.parametrize("seed", range(20))
def test_random_models_are_proper_trees(seed):
    base = ("fixed", "free")[seed % 2]
    model = random_model(seed, n_bodies=len(ALL_KINDS), base=base)
    assert {body.joint.kind for body in model.bodies[1:]} == set(ALL_KINDS)
    assert model.bodies[0].joint.kind == base
    assert all(body.parent < body.index for body in model.bodies)
    assert all(body.inertia.problems() == () for body in model.bodies)
    for body in model.bodies:
        total = sum(part.inertia.mass for part in body.parts)
        assert_close(body.inertia.mass, total, ROUNDING)
    bare = random_model(seed, effects=False)
    assert bare.without("friction", "damping", "armature", "springs") == bare != model


def test_random_models_have_branches_merged_links_and_aligned_axes():
    models = [random_model(seed) for seed in range(10)]
    bodies = [body for model in models for body in model.bodies]
    assert any(len(body.parts) > 1 for body in bodies)
    assert any(len(model.children(body.index)) > 1 for model in models for body in model.bodies)
    aligned = [np.max(np.abs(body.joint.axis)) == 1.0 for body in bodies if hasattr(body.joint, "axis")]
    assert 0.2 < np.mean(aligned) < 0.8


@pytest.mark.parametrize(
    ("scenery", "others", "base"),
    [
        ("", "", "trunk"),
        ('<geom type="plane" size="1 1 .1"/>', "", "trunk"),
        ('<geom type="plane" size="1 1 .1"/>', '<body name="ball"><freejoint/><geom size=".1"/></body>', "world"),
        ('<geom type="plane" size="1 1 .1"/>', '<body name="door"><joint/><geom size=".1"/></body>', "world"),
    ],
)
def test_a_floor_does_not_hold_what_floats_above_it(scenery: str, others: str, base: str) -> None:
    pytest.importorskip("mujoco")
    trunk = '<body name="trunk"><freejoint/><geom size=".1"/></body>'
    model = load(f"<mujoco><worldbody>{scenery}{trunk}{others}</worldbody></mujoco>").model
    assert model.base.name == base and model.floating == (base == "trunk")
