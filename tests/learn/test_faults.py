"""Bad input: who, where, what was expected."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, learn
from dalembert.math import sqrt
from learning import PERIOD, crawler_environment, pole, pole_environment

pytest.importorskip("gymnasium")


def test_gains_whose_swings_grow_are_told():
    """v1 = v − h/I (kp q + kd v), q1 = q + h v1 grows from kd h/I + kp h²/(2 I) = 2 on."""
    h, (inertia,) = PERIOD, pole().mass_matrix(np.zeros(1))[0]
    for kp in (0.0, inertia / h**2):
        most = 2.0 * inertia / h - 0.5 * kp * h
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pole_environment(action=learn.JointTargets(kp=kp, kd=0.999 * most), step=h, substeps=1)
        with pytest.warns(UserWarning, match="servo of joint 'hinge' .* unstable .* take step="):
            pole_environment(action=learn.JointTargets(kp=kp, kd=1.001 * most), step=h, substeps=1)


def branching(s):
    if s.q[0] > 0.0:  # the line that the message names
        return s.q
    return -s.q


def test_a_function_that_does_not_trace_is_named_with_its_line():
    line = branching.__code__.co_firstlineno + 1
    env = pole_environment(observe={"bad": branching})
    with pytest.raises(DalembertError, match=rf"observe 'bad' \(.*test_faults.py:{line}\)"):
        env.vector(2)
    with pytest.raises(DalembertError, match=r"reward 'r' \(.*test_faults.py:\d+\).*arithmetic"):
        pole_environment(reward={"r": (1.0, lambda s: {}["x"])})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"observe": {}}, "observe"),
        ({"observe": {"q": 3}}, "expected a function"),
        ({"observe": {"a": {"q": lambda s: s.q}, "b": lambda s: s.q}}, "side by side"),
        ({"observe": {"a": lambda s: "text"}}, "gave str"),
        ({"observe": {"a": lambda s: None}}, "gave NoneType"),
        ({"observe": {"a": lambda s: []}}, "no numbers"),
        ({"observe": {"a": learn.observed(lambda s: s.q, noise=(1.0, 2.0))}}, "noise has 2 numbers"),
        ({"reward": {}}, "reward"),
        ({"reward": {"r": (1.0, lambda s: np.array([s.q[0], s.q[0]]))}}, "2 numbers, expected one"),
        ({"reward": {"r": ("a", lambda s: s.q[0])}}, "weight"),
        ({"reward": {"r": (np.nan, lambda s: s.q[0])}}, "finite"),
        ({"done": {"d": lambda s: np.array([s.q[0] > 0, s.q[0] > 1])}}, "2 values"),
        ({"done": {"d": 1}}, "functions"),
        ({"step": 0.0}, "step"),
        ({"step": np.nan}, "step"),
        ({"substeps": 0}, "substeps"),
        ({"substeps": 2.5}, "substeps"),
        ({"episode": -1.0}, "episode"),
        ({"action": 3}, "action"),
        ({"action": learn.JointTargets()}, "kp is not given"),
        ({"action": learn.JointTargets(kp=-1.0, kd=1.0)}, "kp"),
        ({"action": learn.JointTargets(kp={"hinj": 1.0}, kd=1.0)}, "did you mean 'hinge'"),
        ({"action": learn.JointTargets(kp=[1.0, 2.0], kd=1.0)}, "kp"),
        ({"action": learn.JointTargets(kp=1.0, kd=1.0, delay=(2, 1))}, "delay"),
        ({"action": learn.JointTargets(kp=1.0, kd=1.0, delay=0.5)}, "delay"),
        ({"action": learn.JointTargets(kp=1.0, kd=1.0, joints=("hinge", "hinge"))}, "twice"),
        ({"action": learn.JointTargets(kp=1.0, kd=1.0, motor=3)}, "DCMotor"),
        ({"randomize": {"inertiae": learn.scale(0.9, 1.1)}}, "did you mean 'inertia'"),
        ({"randomize": {"inertia": 1.1}}, "expected a distribution"),
        ({"randomize": {"inertia": learn.uniform(0.9, 1.1)}}, "use learn.scale"),
        ({"randomize": {"inertia": learn.scale(-1.0, 1.0)}}, "values that a robot can have"),
        ({"randomize": {"damping": learn.uniform(-1.0, 1.0)}}, "damping"),
        ({"randomize": {"contact_friction": learn.uniform(0.1, 1.0)}}, "no contact"),
        ({"randomize": {"payload": learn.scale(0.5, 1.0)}}, "nominal value is 0"),
        ({"randomize": {"gravity": learn.uniform((0, 0), (1, 1))}}, "2 numbers"),
        ({"command": {"c": 3.0}}, "expected a distribution"),
        ({"command": {"c": learn.scale(0.1, 1.0)}}, "nothing to refer to"),
        ({"feet": ("rod",)}, "contact"),
        ({"events": [learn.push(every=1.0, speed=1.0)]}, "base of robot 'pole' is fixed"),
        ({"events": [3]}, "push"),
        ({"sensors": {"s": 3}}, "height_scan"),
        ({"sensors": {"s": learn.height_scan([[0, 0]])}}, "no ground"),
        ({"terrain": learn.terrains(rough=0.1)}, "needs contact"),
        ({"reset": [7.5]}, "outside the limits of joint 'hinge'"),
        ({"reset": np.zeros(3)}, "expected q"),
        ({"reset": [np.nan]}, "expected q"),
        ({"reset": "stand"}, "keyframe"),
        ({"reset": lambda random: random.uniform(0.0, 1.0, 2)}, "shapes"),
        ({"contact": 0.0}, "Contact"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(DalembertError, match=words):
        pole_environment(**settings).vector(2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: learn.uniform((0, 1), (1, 2, 3)), "uniform"),
        (lambda: learn.uniform((0, 1), (1, 0)), "low at most high"),
        (lambda: learn.scale(1.0), "low, high"),
        (lambda: learn.push(every=0.0, speed=1.0), "every"),
        (lambda: learn.push(every=(5, 1), speed=1.0), "every"),
        (lambda: learn.push(every=1.0, speed=-1.0), "speed"),
        (lambda: learn.observed(3), "function"),
        (lambda: learn.observed(lambda s: s.q, noise=-1.0), "noise"),
        (lambda: learn.observed(lambda s: s.q, history=0), "history"),
        (lambda: learn.observed(lambda s: s.q, scale=np.nan), "scale"),
        (lambda: learn.height_scan([[0.0, 0.0, 0.0]]), "points"),
        (lambda: learn.height_scan(np.zeros((0, 2))), "empty"),
        (lambda: learn.terrains(), "no kind"),
        (lambda: learn.terrains(rouhg=0.1), "did you mean 'rough'"),
        (lambda: learn.terrains(rough=-0.1), "rough"),
        (lambda: learn.terrains(rough=0.1, levels=0), "levels"),
        (lambda: learn.terrains(rough=0.1, size=3.0), "size"),
        (lambda: learn.Environment(3, observe={"q": lambda s: s.q}, reward={"r": lambda s: s.t}), "Robot"),
    ],
)
def test_bad_parts(make, words):
    with pytest.raises(DalembertError, match=words):
        make()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": 2.5}, "n is 2.5"),
        ({"n": True}, "n is True"),
        ({"first": -1}, "first"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"autoreset": "sometimes"}, "autoreset"),
        ({"arrays": "cupy"}, "arrays"),
        ({"device": "cuda"}, "device is 'cuda'"),
        ({"arrays": "torch", "device": "mps"}, "expected 'cpu', or 'cuda' with arrays='torch'"),
        ({"threads": 0}, "threads"),
        ({"dtype": "int32"}, "dtype"),
        ({"unsound": "ignore"}, "unsound"),
    ],
)
def test_bad_vectors(options, words):
    with pytest.raises(DalembertError, match=words):
        pole_environment().vector(**({"n": 2} | options))


def test_steps_before_reset_and_bad_actions():
    vec = pole_environment().vector(3)
    with pytest.raises(DalembertError, match="reset"):
        vec.step(np.zeros((3, 1)))
    vec.reset()
    with pytest.raises(DalembertError, match=r"shape \(3,\)"):
        vec.step(np.zeros(3))
    with pytest.raises(DalembertError, match="reset_mask"):
        vec.reset(options={"reset_mask": np.zeros(3)})
    with pytest.raises(DalembertError, match="no environment"):
        vec.reset(options={"reset_mask": np.zeros(3, bool)})
    with pytest.raises(DalembertError, match="seed has 2"):
        vec.reset(seed=[1, 2])
    with pytest.raises(DalembertError, match="missing"):
        vec.set_state({})
    with pytest.raises(DalembertError, match="shape"):
        vec.set_state(vec.state() | {"q": np.zeros((2, 1))})


def test_nan_from_a_policy_names_environment_and_step_or_ends_that_episode():
    vec = pole_environment().vector(4)
    vec.reset()
    vec.step(np.zeros((4, 1)))
    bad = np.zeros((4, 1))
    bad[2] = np.nan
    before = vec.state()
    with pytest.raises(DalembertError, match=r"environment 2 in control step 2 .* nan for 'hinge'"):
        vec.step(bad)
    after = vec.state()
    assert all(np.array_equal(after[name], x) for name, x in before.items())  # nothing has moved
    for mode in ("same_step", "next_step"):
        vec = pole_environment().vector(4, autoreset=mode, unsound="terminate")
        plain = pole_environment().vector(4, autoreset=mode)
        vec.reset()
        plain.reset()
        obs, reward, ended, _, info = vec.step(bad)
        expected, *_ = plain.step(np.zeros((4, 1)))
        assert ended.tolist() == [False, False, True, False]
        assert info["diverged"].tolist() == ended.tolist()
        assert np.isfinite(obs).all()
        assert np.isfinite(reward).all()
        others = ~ended
        assert np.array_equal(obs[others], expected[others])
        for _ in range(3):
            obs, *_ = vec.step(np.zeros((4, 1)))
            assert np.isfinite(obs).all()


def test_a_state_that_overflows_is_named():
    action = learn.Torques(scale=1.0)
    b = dalembert.ModelBuilder("free_wheel")
    b.add_body(
        "wheel", parent="world", joint="continuous", joint_name="axle", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3)
    )
    env = learn.Environment(
        b.build(), action=action, step=0.01, substeps=2, observe={"v": lambda s: s.v}, reward={"r": lambda s: s.t},
    )  # fmt: skip
    vec = env.vector(3)
    vec.reset()
    huge = np.zeros((3, 1))
    huge[1] = 1e305
    with pytest.raises(DalembertError, match="environment 1 is no longer finite after control step 1"):
        for _ in range(200):
            vec.step(huge)


def test_observations_that_are_not_finite_do_not_spread():
    """A term that divides by zero in one environment leaves the others alone."""
    env = pole_environment(reward={"r": (1.0, lambda s: sqrt(s.q[0] - s.q[0] - 1.0))})
    vec = env.vector(2)
    vec.reset()
    _, reward, *_ = vec.step(np.zeros((2, 1)))
    assert np.isnan(reward).all()  # reported as it is, never hidden


def test_a_delay_that_never_ends_in_time():
    env = pole_environment(action=learn.JointTargets(scale=1.0, kp=20.0, kd=1.0, delay=3), reset=np.zeros(1))
    vec = env.vector(1, autoreset="disabled")
    vec.reset()
    moved = [bool(vec.step(np.ones((1, 1)))[0][0, 0]) for _ in range(4)]
    assert moved == [False, False, False, True]


def test_the_motor_bounds_torque_by_speed():
    motor = learn.DCMotor(stall=10.0, speed=5.0)
    observe = {"tau": lambda s: s.tau, "v": lambda s: s.v}
    env = pole_environment(action=learn.Torques(scale=100.0, motor=motor), observe=observe, substeps=1, episode=None)
    vec = env.vector(16)
    vec.reset()
    fast = 0
    for k in range(60):
        before = vec.state()["e"][:, 0]
        sign = 1.0 if k < 30 else -1.0
        tau, _ = vec.step(np.full((16, 1), sign))[0].T
        bound = np.clip(10.0 * np.minimum(1.0, 1.0 - sign * before / 5.0), 0.0, None)
        np.testing.assert_allclose(sign * tau, bound, atol=1e2 * np.finfo(float).eps)
        fast += (np.abs(bound - 10.0) > 1.0).sum()
    assert fast > 100
    assert pole().limits.effort[0] == 20.0
    assert PERIOD > 0.0


def test_feet_need_a_contact_of_their_own():
    with pytest.raises(DalembertError, match="foot"):
        crawler_environment(feet=("trunk",))
    with pytest.raises(DalembertError, match="twice"):
        crawler_environment(feet=("front_left", "front_left"))
    with pytest.raises(DalembertError, match="expected contact"):
        crawler_environment(contact=None)
