"""Edits on random trees with every joint type: what they must leave alone, and what they must make of the dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert import DalembertError, Robot
from dalembert.dynamics import algorithms as alg
from dalembert.editing.invariants import links_at
from dalembert.editing.scaling import exponents, similar_state
from dalembert.model import KINDS, Coupled, ModelBuilder, plan
from dalembert.spatial import Inertia, Pose, so3
from tolerances import PRODUCT, RECURSION, ROUGH_SLOPE, SOLVE, assert_close
from trees import random_mass, random_model, random_pose, random_state

EDIT = 1e-12  # relative: agreement that edits promise


def mass(model) -> float:
    return sum(float(body.inertia.mass) for body in model.bodies)


def by_joint(model, other, x, kind):
    """A vector of `model` (kind "q" or "v") in the order of `other`, whose joints are among the model's."""
    out = np.full(getattr(other, f"n{kind}"), np.nan)
    for body in other.independent:
        if body.joint.nv:
            out[getattr(body, kind)] = x[getattr(model.joint(body.joint.name), kind)]
    return out


def columns(model, other):
    """Indices in v of `model` of the coordinates of `other`, in its order."""
    return by_joint(model, other, np.arange(model.nv), "v").astype(int)


def test_locking_is_taking_rows_and_columns(case):
    """With the locked joint at rest, the others feel the same mass matrix, torques and gravity."""
    model, q, v, a, rng = case
    names = [body.joint.name for body in model.independent if body.joint.nv]
    for n in (1, 3):
        locked = rng.permutation(names)[:n].tolist()
        held = {name: q[model.joint(name).q] for name in locked}
        smaller = Robot(model).edit().lock(held).done().model
        at = columns(model, smaller)
        assert len(at) == model.nv - sum(model.joint(name).joint.nv for name in locked)
        q1, v1, a1 = by_joint(model, smaller, q, "q"), v[at], a[at]
        v0, a0 = np.zeros(model.nv), np.zeros(model.nv)
        v0[at], a0[at] = v1, a1
        assert_close(mass(smaller), mass(model), EDIT)
        assert_close(alg.mass_matrix(smaller, q1), alg.mass_matrix(model, q)[np.ix_(at, at)], EDIT)
        assert_close(alg.rnea(smaller, q1, v1, a1), alg.rnea(model, q, v0, a0)[at], EDIT)
        assert_close(alg.gravity(smaller, q1), alg.gravity(model, q)[at], EDIT)
        assert_close(alg.kinetic_energy(smaller, q1, v1), alg.kinetic_energy(model, q, v0), EDIT)
        assert_close(alg.center_of_mass(smaller, q1), alg.center_of_mass(model, q), EDIT)
        for frame in model.frames:
            now = alg.frame_pose(smaller, q1, smaller.frame(frame.name)).matrix()
            assert_close(now, alg.frame_pose(model, q, frame).matrix(), EDIT)


def test_locking_several_equals_locking_one_by_one(floating):
    model, q, _, _, rng = floating
    names = [body.joint.name for body in model.independent if body.joint.nv]
    chosen = rng.permutation(names)[: len(names) // 2].tolist()
    held = {name: q[model.joint(name).q] for name in chosen}
    at_once = Robot(model).edit().lock(held).done().model
    editor = Robot(model).edit()
    for name, value in held.items():
        editor.lock({name: value})
    one_by_one = editor.done().model
    q1 = by_joint(model, at_once, q, "q")
    assert_close(alg.mass_matrix(one_by_one, q1), alg.mass_matrix(at_once, q1), EDIT)
    assert_close(alg.gravity(one_by_one, q1), alg.gravity(at_once, q1), EDIT)


def test_payload_is_an_appended_body(case):
    model, q, v, a, rng = case
    given, X = random_mass(rng), random_pose(rng)
    frame = model.frames[rng.integers(len(model.frames))]
    robot = Robot(model).edit().add_frame("grip", body=frame.name, xyz=X.p, rpy=so3.to_rpy(X.R))
    loaded = robot.payload(frame="grip", name="load", **given).done().model
    # independently: the load's inertia put straight into the body that carries the frame
    body = model.bodies[frame.body]
    turned = frame.placement @ X
    extra = Inertia.from_com(given["mass"], given["com"], given["inertia"]).transform(turned)
    pi = model.parameters()
    pi[10 * body.index : 10 * body.index + 10] += extra.parameters()
    expected = model.with_parameters(pi)
    assert_close(mass(loaded), mass(model) + given["mass"], EDIT)
    assert_close(alg.rnea(loaded, q, v, a), alg.rnea(expected, q, v, a), EDIT)
    assert_close(alg.energy(loaded, q, v), alg.energy(expected, q, v), EDIT)


def test_merging_keeps_everything_but_the_name(floating):
    model, q, _, _, _ = floating
    link = [body for body in model.bodies if body.parent >= 0 and not isinstance(body.joint, Coupled)][-2]
    value = q[link.q]
    locked = Robot(model).edit().lock({link.joint.name: value}).done().model
    merged = Robot(model).edit().merge(link.name, at=value).done().model
    parts = {part.name for body in merged.bodies for part in body.parts}
    assert link.name not in parts and merged.frame(link.name)
    q1 = by_joint(model, merged, q, "q")
    assert_close(alg.mass_matrix(merged, q1), alg.mass_matrix(locked, q1), EDIT)
    assert_close(mass(merged), mass(model), EDIT)
    assert [f.name for f in merged.frames if f.name not in {b.name for b in model.bodies}] == [
        f.name for f in locked.frames if f.name not in {b.name for b in model.bodies}
    ]


def joint_of(rng, kind, **effects):
    axes = {"axis": rng.normal(size=3)} if "axis" in KINDS[kind].__dataclass_fields__ else {}
    axes |= {"axis2": rng.normal(size=3)} if kind == "universal" else {}
    axes |= {"pitch": 0.2} if kind == "screw" else {}
    return KINDS[kind](name=kind, **axes, **effects)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_a_joint_run_backwards_is_the_inverse_motion(kind):
    """X'(q') X(q) = 1, and the twists are opposite: of the parent seen from the child."""
    rng = np.random.default_rng(1)
    joint = joint_of(rng, kind, damping=0.0 if kind in ("planar", "free") else 0.3)
    back = joint.reversed()
    q, v = joint.random(rng, 1)[0], rng.normal(size=joint.nv)
    p, w = joint.reversed_state(q, v)
    assert_close((back.pose(p) @ joint.pose(q)).matrix(), np.eye(4), PRODUCT)
    assert_close(back.subspace(p) @ w, -joint.pose(q).motion(joint.subspace(q) @ v), PRODUCT)
    again, same = back.reversed_state(p, w)
    assert_close(back.reversed().pose(again).matrix(), joint.pose(q).matrix(), PRODUCT)
    assert_close(same, v, PRODUCT)
    h = 1e-6  # w is the rate of p
    ahead = joint.reversed_state(joint.integrate(q, h * v), v)[0]
    assert_close(back.difference(p, ahead) / h, w, ROUGH_SLOPE)


def rerooted(model, q, v, link):
    """The tree hung on another link, and the same state of it."""
    new = Robot(model).edit().reroot(link).done().model
    q1, v1 = np.full(new.nq, np.nan), np.full(new.nv, np.nan)
    old_path = set(chain(model, link))
    for body in new.independent:
        if body.index == 0 or not body.joint.nv:
            continue
        old = model.joint(body.joint.name)
        turned = old.index in old_path
        x = old.joint.reversed_state(q[old.q], v[old.v]) if turned else (q[old.q], v[old.v])
        q1[body.q], v1[body.v] = x
    there = links_at(model, q, v)[link]
    X = new.bodies[0].placement.inverse() @ there.X
    if new.bodies[0].joint.nv:
        q1[new.bodies[0].q], v1[new.bodies[0].v] = [*X.p, *so3.to_quaternion(X.R)], there.V
    return new, q1, v1


def chain(model, link):
    """Indices of the bodies from the one that holds the link to the base."""
    index = next(b.index for b in model.bodies for part in b.parts if part.name == link)
    while index >= 0:
        yield index
        index = model.bodies[index].parent


def plain(model):
    """Without what a joint run backwards cannot have: effects of ball, planar and free joints."""
    editor = Robot(model).edit()
    for body in model.bodies:
        if body.joint.kind in ("ball", "planar", "free"):
            editor.set_joint(body.joint.name, armature=0.0, damping=0.0, friction=0.0, stribeck=0.0, stiffness=0.0)
    return editor.done().model


def test_another_base_afloat_is_the_same_robot(floating):
    model, q, v, _, rng = floating
    model = plain(model)
    names = [part.name for body in model.bodies for part in body.parts]
    for link in rng.permutation(names)[:3].tolist():
        new, q1, v1 = rerooted(model, q, v, link)
        assert new.bodies[0].name == link and new.nv == model.nv
        assert_close(mass(new), mass(model), EDIT)
        assert_close(alg.kinetic_energy(new, q1, v1), alg.kinetic_energy(model, q, v), RECURSION)
        assert_close(alg.potential_energy(new, q1), alg.potential_energy(model, q), RECURSION)
        assert_close(alg.center_of_mass(new, q1), alg.center_of_mass(model, q), RECURSION)
        for frame in model.frames:
            now = alg.frame_pose(new, q1, new.frame(frame.name)).matrix()
            assert_close(now, alg.frame_pose(model, q, frame).matrix(), RECURSION)
        # left to itself it moves alike: equal accelerations of the joints whose coordinates are the same
        fall0, fall1 = (alg.forward_dynamics(m, *x, np.zeros(m.nv)) for m, x in ((model, (q, v)), (new, (q1, v1))))
        alike = [b.joint.name for b in model.independent if b.joint.kind not in ("ball", "planar", "free", "universal")]
        for joint in alike:
            assert_close(fall1[new.joint(joint).v], fall0[model.joint(joint).v], SOLVE)


@pytest.mark.parametrize("kinds", [("revolute", "prismatic", "screw", "continuous", "cylindrical")])
def test_another_base_held_is_the_free_robot_with_that_link_at_rest(seed, kinds):
    """Equations of a tree held elsewhere: those of the floating tree, its new base at rest."""
    rng = np.random.default_rng([7, seed])
    model = random_model(rng, n_bodies=8, kinds=kinds, base="fixed")
    link = model.bodies[-1].name
    held = Robot(model).edit().reroot(link).done().model
    afloat = Robot(model).edit().base("free").reroot(link).done().model
    q, v, a = random_state(rng, held)
    assert held.nv == model.nv == afloat.nv - 6
    X = held.bodies[0].placement
    p = np.concatenate([(afloat.bodies[0].placement.inverse() @ X).p, so3.to_quaternion(X.R), q])
    base = afloat.bodies[0]
    p[base.q] = np.concatenate([(base.placement.inverse() @ X).p, so3.to_quaternion((base.placement.inverse() @ X).R)])
    still = np.zeros(6)
    tau = alg.rnea(afloat, p, np.concatenate([still, v]), np.concatenate([still, a]))
    assert_close(alg.rnea(held, q, v, a), tau[6:], RECURSION)


def test_there_and_back_is_the_same_dynamics(case):
    model, q, v, a, rng = case
    model = plain(model)
    base, link = model.bodies[0].name, model.bodies[rng.integers(1, len(model.bodies))].name
    back = Robot(model).edit().reroot(link).reroot(base).done().model
    at = columns(model, back)
    q1, v1, a1 = by_joint(model, back, q, "q"), v[at], a[at]
    assert_close(alg.rnea(back, q1, v1, a1), alg.rnea(model, q, v, a)[at], RECURSION)


def test_base_held_and_let_go(case):
    model, q, _, _, _ = case
    other = {"fixed": "free", "free": "fixed"}[model.bodies[0].joint.kind]
    changed = Robot(model).edit().base(other).done().model
    assert abs(changed.nv - model.nv) == 6
    back = Robot(changed).edit().base(model.bodies[0].joint.kind).done().model
    bare = [m.without("friction", "damping", "armature", "springs") for m in (back, model)]
    if model.bodies[0].joint.kind == "fixed":
        assert back == model
    assert_close(alg.mass_matrix(bare[0], q), alg.mass_matrix(bare[1], q), EDIT)


@pytest.mark.parametrize(("length", "heavier"), [(2.0, None), (0.37, 5.0)])
def test_scaling_is_similar_motion(floating, length, heavier):
    """Torques × mass · length and forces × mass, on the motion slowed by √length."""
    model, q, v, a, _ = floating
    editor = Robot(model).edit()
    for body in model.bodies:  # one slip_speed cannot serve turning and sliding
        if body.joint.kind in ("cylindrical", "planar", "free"):
            editor.set_joint(body.joint.name, friction=0.0, stribeck=0.0)
    model = editor.done().model
    factor = length**3 if heavier is None else heavier
    large = Robot(model).edit().scale(length, mass=heavier).done().model
    power = np.concatenate([exponents(body.joint)[1] for body in model.independent])
    q1, v1 = similar_state(model, q, v, length)
    a1 = a * length ** (power - 1.0)
    assert_close(mass(large), mass(model) * factor, EDIT)
    expected = alg.rnea(model, q, v, a) * factor * length ** (1.0 - power)
    assert_close(alg.rnea(large, q1, v1, a1), expected, RECURSION)
    assert_close(alg.energy(large, q1, v1), alg.energy(model, q, v) * factor * length, RECURSION)


def test_attached_robot_is_its_tree_on_that_frame(seed):
    rng = np.random.default_rng([9, seed])
    arm, hand = random_model(rng, 6), random_model(rng, 5, base=["fixed", "free"][seed % 2], coupled=True)
    X = random_pose(rng)
    both = Robot(arm).edit().attach(Robot(hand), frame="tool", prefix="h_", placement=X).done().model
    held = Robot(hand).edit().base("fixed").done().model
    assert_close(mass(both), mass(arm) + mass(hand), EDIT)
    q, v, _ = random_state(rng, both)
    qa = by_joint(both, arm, q, "q")
    qh, vh = np.zeros(held.nq), np.zeros(held.nv)
    for body in held.independent:
        if body.joint.nv:
            there = both.joint("h_" + body.joint.name)
            qh[body.q], vh[body.v] = q[there.q], v[there.v]
    # links of the hand, seen from the frame, move as the hand by itself
    tool = alg.frame_pose(arm, qa, arm.frame("tool")) @ X
    links, alone = links_at(both, q, v), links_at(held, qh, vh)
    for name, link in alone.items():
        if name != "world":
            assert_close(links["h_" + name].X.matrix(), (tool @ link.X).matrix(), RECURSION)
    added = alg.potential_energy(both, q) - alg.potential_energy(arm, qa)
    assert_close(added, _height(hand, held, qh, tool, arm), RECURSION, scale=100.0)


def _height(hand, held, q, X, arm):
    """Potential energy of the hand placed at X in the arm's gravity, springs included."""
    springs = alg.potential_energy(replace(held, gravity=np.zeros(3)), q)
    return springs - mass(hand) * arm.gravity @ X.point(alg.center_of_mass(held, q))


def test_removing_is_building_without(seed):
    rng = np.random.default_rng([11, seed])
    given = [random_mass(rng) for _ in range(5)]
    X = [random_pose(rng) for _ in range(5)]

    def build(full):
        builder = ModelBuilder("robot")
        builder.add_body("a", parent="world", joint="revolute", placement=X[0], **given[0])
        builder.add_body("b", parent="a", joint="ball", placement=X[1], **given[1])
        if full:
            builder.add_body("hand", parent="a", placement=X[2], **given[2])
            builder.add_body("finger", parent="hand", joint="prismatic", placement=X[3], **given[3])
            builder.add_frame("tip", body="finger")
        builder.add_body("c", parent="b", joint="universal", placement=X[4], **given[4])
        return builder.model()

    assert Robot(build(True)).edit().remove("hand").done().model == build(False)


def test_names_do_not_move_anything(floating):
    model, q, v, a, _ = floating
    other = Robot(model).edit().rename({"tool": "nib"}, joints={}, name="twin", prefix="my_").done().model
    assert other.name == "twin" and other.frame("nib") and other.bodies[0].name == "my_base"
    assert_close(alg.rnea(other, q, v, a), alg.rnea(model, q, v, a), 0.0)


def test_parameters_set_are_those_built(floating):
    model, q, v, a, rng = floating
    body = model.bodies[-1]
    given = random_mass(rng)
    edited = Robot(model).edit().set_inertia(body.name, **given).gravity((1, 2, 3)).done().model
    pi = model.parameters()
    own = body.parts[0].inertia.parameters()
    new = Inertia.from_com(given["mass"], given["com"], given["inertia"]).parameters()
    pi[10 * body.index : 10 * body.index + 10] += new - own
    expected = replace(model.with_parameters(pi), gravity=np.array([1.0, 2.0, 3.0]))
    assert_close(alg.rnea(edited, q, v, a), alg.rnea(expected, q, v, a), EDIT)


def test_a_wrong_edit_is_not_returned(monkeypatch):
    """The check inside: an edit that loses mass, or moves a link, raises."""
    from dalembert.editing import structure

    model = random_model(3)
    right = structure.add_frame

    def loses_mass(plan, *arguments):
        change = right(plan, *arguments)
        plan.links["body0"] = replace(plan.links["body0"], inertia=Inertia.zero())
        return change

    def moves(plan, *arguments):
        change = right(plan, *arguments)
        link = plan.links["body0"]
        plan.links["body0"] = replace(link, placement=link.placement @ Pose(np.eye(3), np.full(3, 1e-6)))
        return change

    for wrong, words in ((loses_mass, "total mass"), (moves, "pose of 'body0'")):
        monkeypatch.setattr(structure, "add_frame", wrong)
        with pytest.raises(RuntimeError, match=words):
            Robot(model).edit().add_frame("f", body="base")


def test_joints_that_cannot_run_backwards_say_so():
    rng = np.random.default_rng(2)
    for kind, effect in (("ball", "friction"), ("planar", "damping"), ("free", "damping")):
        with pytest.raises(DalembertError, match=f"joint '{kind}' is {kind}"):
            joint_of(rng, kind, **{effect: 0.1}).reversed()


@pytest.mark.parametrize("seed", range(4))  # the last two have joints that follow others
def test_edits_in_any_order_keep_their_books(seed):
    """Chains of edits: each checks itself; masses add up, and the outcome can be taken apart and put together."""
    rng = np.random.default_rng([13, seed])
    model = plain(random_model(rng, n_bodies=7, base=["fixed", "free"][seed % 2], coupled=seed > 1))
    hand = random_model(rng, n_bodies=2)
    editor, expected = Robot(model).edit(), mass(model)
    for step in range(10):
        links = [part.name for body in editor.model.bodies for part in body.parts]
        link = links[rng.integers(len(links))]
        joints = [body for body in editor.model.independent if body.joint.nv]
        if step % 5 == 0:
            given = random_mass(rng)
            editor.payload(frame=link, name=f"load{step}", **given)
            expected += given["mass"]
        elif step % 5 == 1 and joints:
            chosen = joints[rng.integers(len(joints))].joint
            editor.lock({chosen.name: chosen.random(rng, 1)[0]})
        elif step % 5 == 2:
            editor.base(["free", "fixed"][step % 2])
        elif step % 5 == 3:
            editor.attach(hand, frame=link, prefix=f"h{step}_", placement=random_pose(rng))
            expected += mass(hand)
        else:
            moved = link != editor.model.bodies[0].name
            editor.rename(prefix="x")
            if moved:
                editor.merge("x" + link)
        assert_close(mass(editor.model), expected, EDIT)
        assert plan(editor.model).model() == editor.model
