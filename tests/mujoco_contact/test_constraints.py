"""Contact(model="mujoco"): accelerations and motions equal to those of MuJoCo itself, from the same file and state."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, load
from dalembert.model.geometry import Sphere
from dalembert.mujoco import constraints as soft_constraints
from dalembert.mujoco import gathering
from dalembert.mujoco.candidates import mobility
from dalembert.mujoco.constraints import mujoco_constraints
from mujoco_contact.twin import BODY, FLOOR, SHAPES, SOFT, Twin, mj, scene
from tolerances import COMPUTED, CONTACT_SOLVER, ITERATED, MILLISECOND_STEPS, PEER, REACHED, SLOPE, assert_close

MOTION = 1e-10  # beside the largest number, after hundreds of steps: rounding that contacts amplify


@pytest.fixture(params=["each", "gathered"])
def places(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that may touch, each as a part of every step, or gathered into slots where they do."""
    if request.param == "gathered":
        monkeypatch.setattr(soft_constraints, "FEW", 0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


CONES = ('cone="elliptic"', 'cone="elliptic" impratio="7"', 'cone="pyramidal"', 'cone="pyramidal" impratio="3"')


@pytest.mark.parametrize("option", CONES)
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_shapes_on_a_plane(option: str, condim: int, rng: np.random.Generator) -> None:
    for shape in SHAPES.values():
        twin = Twin(scene(option, FLOOR.format(f'condim="{condim}"') + BODY.format(0.1, shape, f'condim="{condim}"')))
        for _ in range(2):
            twin.move(rng)
            twin.d.qpos[2] = rng.uniform(0.08, 0.12)
            ours, theirs = twin.accelerations()
            assert twin.d.ncon
            assert_close(ours, theirs, ITERATED)


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("option", (CONES[1], CONES[3]))
def test_shapes_with_all_kinds_of_friction_at_once(option: str, rng: np.random.Generator) -> None:
    dimensions = zip((1, 3, 4, 6, 3), SHAPES.values(), strict=True)
    soft = 'solimp=".8 .9 .01 .4 3" friction=".4 .02 .01"'
    bodies = "".join(BODY.format(0.1, shape, f'condim="{k}" {soft if k > 3 else ""}') for k, shape in dimensions)
    floor = FLOOR.format('condim="1" contype="1" conaffinity="0"').replace('margin=".01"', 'margin=".02"')
    twin = Twin(scene(option, floor + bodies.replace("<geom", '<geom contype="0"')))
    for _ in range(3):
        twin.move(rng, 0.1)
        twin.d.qpos[::7], twin.d.qpos[2::7] = np.arange(5), 0.08
        ours, theirs = twin.accelerations()
        assert twin.d.ncon > 5
        assert_close(ours, theirs, ITERATED)


UNIQUE = ("sphere sphere", "sphere capsule", "capsule capsule", "sphere box", "sphere cylinder", "sphere ellipsoid")


@pytest.mark.parametrize("option", (CONES[1], CONES[3]))
@pytest.mark.parametrize("pair", UNIQUE)
def test_shapes_on_each_other(option: str, pair: str, rng: np.random.Generator) -> None:
    one, two = (SHAPES[name] for name in pair.split())
    twin = Twin(scene(option, BODY.format(0.0, one, 'condim="6"') + BODY.format(0.2, two, 'friction=".4 .01 .01"')))
    touched = 0
    for _ in range(5):
        twin.move(rng, 0.05)
        ours, theirs = twin.accelerations()
        touched += twin.d.ncon
        assert_close(ours, theirs, 1e-4 if "ellipsoid" in pair else ITERATED)  # of ellipsoids MuJoCo's are near
    assert touched > 2


def test_parallel_capsules_touch_twice() -> None:
    bodies = BODY.format(0.0, SHAPES["capsule"], 'euler="0 90 0"') + BODY.format(
        0.19, SHAPES["capsule"], 'euler="0 90 0"'
    )
    twin = Twin(scene("", bodies))
    for shift, tilt in ((0.0, 0.0), (0.05, 1e-7), (0.23, 0.0), (0.3, 0.0), (-0.1, 1e-3)):
        mj.mj_resetData(twin.m, twin.d)
        twin.d.qpos[7], twin.d.qpos[10:13] = shift, [1.0, 0.0, 0.5 * tilt]
        mj.mj_normalizeQuat(twin.m, twin.d.qpos)
        ours, theirs = twin.accelerations()
        assert twin.d.ncon == (2 if tilt < 1e-4 else 1)
        assert_close(ours, theirs, CONTACT_SOLVER)


@pytest.mark.usefixtures("places")
def test_parameters_are_mixed_as_there(rng: np.random.Generator) -> None:
    ground = (
        '<geom type="plane" size="1 1 1" solref="{}" solimp=".8 .99 .01 .3 {}" margin=".02" gap=".01" priority="{}"/>'
    )
    ball = BODY.format(0.1, SHAPES["sphere"], 'solref="-500 -20" solmix="3" friction=".3" gap=".02" solimp=".5 .5 0"')
    for solref, power, priority in (("-100 -5", 1, 0), (".001 1", 3, 1), (".04 .5", 2.5, -1)):
        for flag in ("", '<flag refsafe="disable"/>'):
            text = scene('cone="elliptic"', ground.format(solref, power, priority) + ball)
            twin = Twin(text.replace("<worldbody>", f"<option>{flag}</option><worldbody>"))
            twin.move(rng)
            twin.d.qpos[2] = 0.11
            assert_close(*twin.accelerations(), ITERATED)


def test_overridden_parameters(rng: np.random.Generator) -> None:
    option = 'o_solref=".05 .7" o_solimp=".7 .8 .01 .5 2" o_margin=".03" o_friction=".4 .3 .02 .01 .01" cone="elliptic"'
    text = scene(option, FLOOR.format("") + BODY.format(0.1, SHAPES["box"], 'condim="4"'))
    twin = Twin(text.replace("<worldbody>", '<option><flag override="enable"/></option><worldbody>'))
    for _ in range(3):
        twin.move(rng)
        assert_close(*twin.accelerations(), ITERATED)


@pytest.mark.usefixtures("places")
def test_pairs_exclusions_and_masks(rng: np.random.Generator) -> None:
    """Check that the same contacts exist, with the parameters of <pair>."""
    bodies = FLOOR.format('name="floor"') + "".join(
        f'<body name="{name}" pos="0 0 {z}"><freejoint/><geom name="{name}" type="sphere" size=".1" {mask}/></body>'
        for name, z, mask in (
            ("a", 0.08, ""),
            ("b", 0.25, 'contype="2" conaffinity="2"'),
            ("c", 0.42, ""),
            ("d", 0.55, ""),
        )
    )
    after = """<contact><exclude body1="c" body2="d"/><pair geom1="b" geom2="c" condim="6" friction=".3 .5 .1 .02 .04"
      solref=".01 1" solreffriction=".03 .8" margin=".01" gap=".02"/></contact>"""
    twin = Twin(scene('cone="elliptic"', bodies, after))
    names = mujoco_constraints(twin.robot.model, SOFT, None).names
    assert set(names) == {"c on b", "a on floor", "c on floor", "d on floor", "c on a", "d on a"}
    for _ in range(5):
        twin.move(rng, 0.02)
        assert_close(*twin.accelerations(), ITERATED)
        assert twin.d.ncon == 2


MECHANISM = """<site name="w" pos="0 0 1"/>
<body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" range="-5 5" margin=".02" frictionloss=".3"
   solreflimit=".01 .7" solimplimit=".5 .9 .1 .3 1.5" ref="3"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
 <body name="b" pos=".3 0 0"><joint name="j2" type="slide" axis="1 0 0" range="-.05 .05" frictionloss=".2"
   solreffriction="-100 -20"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/><site name="s1" pos=".2 0 0"/>
  <body name="c" pos=".2 0 0"><joint name="j3" type="ball" range="0 10" limited="true" damping=".01"/>
   <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/><site name="s2" pos="0 0 -.2"/></body></body></body>
<body name="d" pos="0 .5 1"><joint name="j4" axis="1 0 0"/><geom type="box" size=".05 .05 .05" pos="0 0 -.2"/></body>
<body name="e" pos="0 -.5 1"><freejoint/><geom type="box" size=".05 .06 .07" pos="0 0 .01"/></body>"""
TIES = """<tendon><fixed name="t1" limited="true" range="-.05 .05" frictionloss=".1"><joint joint="j1" coef="1.5"/>
 <joint joint="j4" coef="-.7"/></fixed><spatial name="t2" limited="true" range="0 .6" frictionloss=".2"><site site="w"/>
 <site site="s1"/><site site="s2"/></spatial></tendon>
<equality><joint joint1="j4" joint2="j1" polycoef=".1 .5 .2 .3 .1" solref=".05 1"/>
 <tendon tendon1="t1" polycoef=".1 0 0 0 0"/><connect body1="c" body2="d" anchor="0 0 -.1"/>
 <weld body1="e" body2="d" torquescale=".7"/>
 <weld body1="e" anchor=".1 .2 .3" relpose="0 0 0 1 .1 .2 .3"/></equality>"""


def test_limits_friction_tendons_and_equalities(rng: np.random.Generator) -> None:
    text = scene("", MECHANISM, TIES).replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    twin = Twin(text)
    for _ in range(5):
        twin.move(rng)
        assert_close(*twin.accelerations(), ITERATED)
        assert twin.d.nefc > 20


def test_weights_of_links_and_freedoms() -> None:
    twin = Twin(scene("", MECHANISM))
    weights, m = mobility(twin.robot.model), twin.m
    for i in range(1, m.nbody):
        assert_close(weights.links[m.body(i).name], m.body_invweight0[i], PEER)
    freedoms = m.dof_invweight0.copy()
    freedoms[-6:] = np.roll(freedoms[-6:], 3)  # the free joint comes last, and has its angular part first here
    assert_close(weights.freedoms, freedoms, PEER)


LEGS = (("FR", 0.18, -1), ("FL", 0.18, 1), ("RR", -0.18, -1), ("RL", -0.18, 1))
LEG = """<body pos="{x} {y} 0"><joint name="{n}a" axis="1 0 0" range="-50 50" {s}/>
<inertial pos="0 0 0" mass=".6" diaginertia=".001 .001 .001"/>
<body pos="0 {o} 0"><joint name="{n}h" axis="0 1 0" range="-40 180" {s}/>
<inertial pos="0 0 -.1" mass=".9" diaginertia=".006 .006 .001"/>
<body pos="0 0 -.213"><joint name="{n}k" axis="0 1 0" range="-160 -50" {s}/>
<inertial pos="0 0 -.1" mass=".2" diaginertia=".002 .002 .0001"/>
<geom name="{n}" type="sphere" size=".023" pos="0 0 -.213" friction=".8 .02 .01" priority="1" condim="{d}"
 contype="0" conaffinity="1" solimp=".015 1 .03"/></body></body></body>"""


def quadruped(option: str) -> str:
    """About a Go1: servos, limits, dry friction, and feet of which one resists rolling."""
    joint = 'damping=".3" frictionloss=".2" armature=".01"'
    legs = "".join(LEG.format(n=n, x=x, y=0.05 * s, o=0.08 * s, s=joint, d=6 if n == "FL" else 3) for n, x, s in LEGS)
    servos = "".join(f'<position joint="{n}{j}" kp="60" kv="1" forcerange="-30 30"/>' for n, *_ in LEGS for j in "ahk")
    trunk = '<inertial pos=".02 0 -.005" mass="5.2" diaginertia=".02 .07 .08"/>'
    bodies = f'<geom name="floor" type="plane" size="0 0 .05"/><body pos="0 0 .3"><freejoint/>{trunk}{legs}</body>'
    return scene(option, bodies, f"<actuator>{servos}</actuator>")


def trot(steps: int) -> np.ndarray:
    """Angles (steps, 12) that the servos are asked for."""
    angle = 4.0 * np.pi * 0.002 * np.arange(steps)[:, None] + np.pi * np.array([0, 1, 1, 0])
    u = np.tile([0.0, 0.9, -1.8], (steps, 4))
    u[:, 1::3] += 0.25 * np.sin(angle)
    u[:, 2::3] += 0.25 * np.cos(angle)
    return u


def stepped(twin: Twin, controls: np.ndarray) -> np.ndarray:
    """MuJoCo's positions (steps, nq), from where it is."""
    rows = []
    for row in controls:
        twin.d.ctrl[:] = row
        mj.mj_step(twin.m, twin.d)
        rows.append(twin.d.qpos.copy())
    return np.array(rows)


@pytest.mark.parametrize(
    "option",
    [
        'cone="elliptic" impratio="10"',
        pytest.param('cone="pyramidal" integrator="implicitfast"', marks=pytest.mark.long),
    ],
)
def test_a_quadruped_trots_the_same_way(option: str) -> None:
    twin, steps = Twin(quadruped(option)), 250
    twin.d.qpos[2], twin.d.qpos[7:] = 0.29, np.tile([0.0, 0.9, -1.8], 4)
    twin.d.qvel[:6] = [0.3, 0.1, 0.0, 0.2, 0.3, 0.5]
    q, v = twin.state
    controls = trot(steps)
    run = twin.robot.rollout(q, v, step=0.002, steps=steps, every=1, controls=controls, contact=SOFT)
    assert_close(run.q, stepped(twin, controls), MOTION)


def test_a_heap_that_may_touch_in_many_points(rng: np.random.Generator) -> None:
    capsules = "".join(BODY.format(0.1, SHAPES["capsule"], "") for _ in range(5))
    twin = Twin(scene(CONES[1], FLOOR.format("") + capsules))
    assert len(mujoco_constraints(twin.robot.model, SOFT, None).names) == 30
    twin.move(rng, 0.15)
    ours, theirs = twin.accelerations()
    assert 5 < twin.d.ncon < 30
    assert_close(ours, theirs, ITERATED)
    q, v = twin.state
    result = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT)
    assert_close(result.a, ours, ITERATED)
    pushes = np.zeros((twin.d.ncon, 6))
    for k, push in enumerate(pushes):
        mj.mj_contactForce(twin.m, twin.d, k, push)
    assert result.force.shape == (30, 3)
    assert_close(np.linalg.norm(result.force, axis=1).sum(), np.linalg.norm(pushes[:, :3], axis=1).sum(), ITERATED)


def test_more_contacts_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_constraints, "FEW", 0)
    monkeypatch.setattr(gathering, "SLOTS", 3)
    monkeypatch.setattr(soft_constraints, "SLOTS", 3)
    twin = Twin(scene("", FLOOR.format("") + BODY.format(0.1, SHAPES["box"], "")))
    twin.d.qpos[2] = 0.13
    q, v = twin.state
    assert np.isnan(twin.robot.contact_dynamics(q, v, v, contact=SOFT).a).all()
    with pytest.raises(DalembertError, match="more than 3 points touch, for which there is no room"):
        twin.robot.simulate(q, v, 0.01, contact=SOFT)


def test_a_level_terrain_is_a_floor() -> None:
    robot = load(scene("", BODY.format(0.119, SHAPES["sphere"], "")))
    q = robot.neutral()
    q[2] = 0.119
    grounds = {"ground": 0.0}, {"terrain": lambda x, y: 0.0 * x}
    floor, terrain = (
        robot.contact_dynamics(q, np.zeros(6), np.zeros(6), contact=Contact(model="mujoco", **ground)).a
        for ground in grounds
    )
    assert floor[5] > 0.0
    assert_close(terrain, floor, COMPUTED)


def test_a_link_may_be_called_ground() -> None:
    accelerations = []
    for name in ("ball", "ground"):
        body = BODY.format(0.119, SHAPES["sphere"], "").replace("<body", f'<body name="{name}"')
        robot, contact = load(scene("", body)), Contact(model="mujoco", ground=0.0)
        q = robot.neutral()
        q[2] = 0.119
        accelerations.append(robot.contact_dynamics(q, np.zeros(6), np.zeros(6), contact=contact).a)
    assert accelerations[0][5] > 0.0
    assert np.array_equal(*accelerations)


def test_a_robot_of_another_format_stands_on_a_floor_of_its_own() -> None:
    builder = ModelBuilder("ball")
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Sphere(0.1), body="ball", role="collision")
    ball = builder.build()
    q = np.array([0.0, 0.0, 0.0999, 1.0, 0.0, 0.0, 0.0])
    result = ball.contact_dynamics(q, np.zeros(6), np.zeros(6), contact=SOFT)
    assert result.gap.shape == (1,) and result.force[0, 2] > 0.0
    run = ball.simulate(q, np.zeros(6), 0.2, contact=SOFT)
    assert run.settings["integrator"] == "semi-implicit-damped" and run.settings["step"] == 0.002
    assert run.contacts.names == ("ball",) and run.contacts.bodies == (("ball", "ground"),)
    assert run.contacts.force[-1, 0, 2] == pytest.approx(9.81, rel=MILLISECOND_STEPS)
    stepper = ball.stepper(0.002, contact=SOFT)
    _, v1 = stepper(q, np.zeros(6))
    assert_close(v1, 0.002 * result.a, ITERATED)


@pytest.mark.usefixtures("places")
def test_batches_are_the_same_as_single_states(rng: np.random.Generator) -> None:
    twin = Twin(scene(CONES[1], FLOOR.format("") + BODY.format(0.1, SHAPES["box"], 'condim="4"')))
    states = []
    for _ in range(9):
        twin.move(rng)
        states.append(twin.state)
    q, v = (np.array(x) for x in zip(*states, strict=True))
    together = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT)
    for k, (one, speed) in enumerate(states):
        alone = twin.robot.contact_dynamics(one, speed, np.zeros(6), contact=SOFT)
        assert np.array_equal(alone.a, together.a[k]) and np.array_equal(alone.force, together.force[k])


def test_compiled_code_gives_the_same_accelerations(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several cylinders on each of two bodies, and a box, gathered; `accelerations` has the uncompiled algorithm's."""
    monkeypatch.setattr(soft_constraints, "FEW", 0)
    cylinders = "".join(f'<geom type="cylinder" size="{r} .02" pos="0 {y} 0"/>' for r, y in ((0.05, 0), (0.03, 0.1)))
    bodies = "".join(f'<body pos="{x} 0 .4"><freejoint/>{cylinders}</body>' for x in (0, 0.3))
    twin = Twin(scene(CONES[1], FLOOR.format("") + bodies + BODY.format(0.1, SHAPES["box"], 'condim="4"')))
    twin.move(rng, 0.05)
    ours, _ = twin.accelerations()
    q, v = twin.state
    compiled = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT)
    assert twin.d.ncon and np.abs(compiled.force).max() > 1.0
    assert_close(compiled.a, ours, ITERATED)


def test_a_number_for_friction_takes_the_place_of_the_files(rng: np.random.Generator) -> None:
    text = scene(CONES[1], FLOOR.format("") + BODY.format(0.1, SHAPES["box"], 'friction=".9 .01 .001"'))
    twin = Twin(text, Contact(model="mujoco", friction=0.3))
    twin.m.geom_friction[:, 0] = 0.3
    twin.move(rng)
    twin.d.qpos[2] = 0.1
    assert_close(*twin.accelerations(), ITERATED)


def test_what_is_refused() -> None:
    twin = Twin(scene("", FLOOR.format("") + BODY.format(0.1, SHAPES["sphere"], "")))
    with pytest.raises(DalembertError, match="does not take the constraints of Contact"):
        twin.robot.stepper(1e-3, "implicit-midpoint", contact=SOFT)
    with pytest.raises(DalembertError, match="unknown body or shape"):
        twin.robot.stepper(1e-3, contact=Contact(model="mujoco", pairs=[("wheel", "ground")]))
    loose = load(scene("", BODY.format(0.1, 'type="sphere" size=".1" contype="0" conaffinity="0"', "")))
    with pytest.raises(DalembertError, match=r"nothing of robot .* may touch anything"):
        loose.stepper(1e-3, contact=SOFT)


FIELD = """<mujoco><option cone="elliptic"/><asset><hfield name="hill" nrow="3" ncol="5" size="1 .5 .2 .1"
elevation="0 .25 .5 .75 1  0 .25 .5 .75 1  0 .25 .5 .75 1"/></asset><worldbody>
<geom name="hill" type="hfield" hfield="hill" pos=".1 0 -.1"/>
<body pos="0 0 .1"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""


def test_a_height_field_is_the_ground() -> None:
    """An even slope, on which MuJoCo's triangles are the same surface as `robot.terrain`."""
    twin = Twin(FIELD)
    terrain = twin.robot.terrain
    assert terrain is not None and terrain(0.1, 0.0) == pytest.approx(0.0)
    assert terrain(1.1, 0.3) == pytest.approx(0.1) and terrain(-0.9, 0.3) == pytest.approx(-0.1)
    twin.d.qpos[:3] = 0.05, 0.02, 0.09
    twin.d.qvel[:] = 0.1, 0.2, -0.3, 0.4, 0.5, 0.6
    ours, theirs = twin.accelerations()
    assert twin.d.ncon
    assert_close(ours, theirs, COMPUTED)
    assert mujoco_constraints(twin.robot.model, SOFT, None).names[0] == "ball on hill 1"
    rigid = twin.robot.simulate(
        twin.state[0] + [0, 0, 0.02, 0, 0, 0, 0], np.zeros(6), 0.05, step=2e-3, contact=Contact(terrain=terrain)
    )
    assert rigid.contacts.gap.min() > -REACHED


@pytest.mark.usefixtures("places")
def test_slopes_are_those_of_the_solution() -> None:
    jax = pytest.importorskip("jax", reason="gradients are those of JAX: pip install jax")
    bodies = "".join(BODY.format(z, SHAPES["sphere"], 'condim="4"') for z in (0.1, 2.0))  # one touches nothing
    twin = Twin(scene(CONES[1], FLOOR.format("") + bodies))
    q, v, tau = twin.d.qpos.copy(), np.tile([0.1, 0.5, 0.2, 0.3, 0.1, -0.2], 2), np.zeros(12)

    def a(v):
        return twin.robot.contact_dynamics(q, v, tau, contact=SOFT).a

    jax.config.update("jax_enable_x64", True)
    slopes = jax.jacobian(a)(jax.numpy.array(v))
    for k, e in enumerate(np.eye(12)):
        assert_close(slopes[:, k], (a(v + 1e-6 * e) - a(v - 1e-6 * e)) / 2e-6, 10 * SLOPE)
