"""Environments on a card: the same random numbers and motions as on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, learn, load
from dalembert.compiler.execute import Program
from dalembert.learn.card import leaned
from dalembert.sim.elements import contact as contact_elements
from tolerances import SETTLED, SOLVE, assert_close


def environment(robot, **changes):
    settings = {
        "observe": {"q": lambda s: s.q, "v": lambda s: s.v, "action": lambda s: s.action},
        "reward": {"still": (-1.0, lambda s: s.v @ s.v)},
        "done": {"far": lambda s: s.q[0] > 1.0},
        "randomize": {"inertia": learn.scale(0.9, 1.1)},
        "action": learn.JointTargets(kp=40.0, kd=1.0),
        "episode": 0.2,
    }
    return learn.Environment(robot, **(settings | changes))


@pytest.mark.long
def test_lean_steps_on_feet_and_fallen(monkeypatch):
    """A step for a card agrees with the usual one, on its feet exactly; its other function agrees with both."""
    monkeypatch.setattr(contact_elements, "slots_for", lambda model, patches: 10)  # as if shapes were many
    robot = load("quadruped")
    q = robot.neutral()
    q[7:], q[2] = [0.0, 0.8, -1.6] * 4, 0.33
    contact = Contact(ground=0.0, friction=0.8, torsion=0.0, rolling=0.0)
    env = environment(robot, contact=contact, reset=q, step=0.002, substeps=2)
    stepping, n = env.stepping, 4
    function = leaned(stepping, "next_step")
    assert function.rare is not None
    vec = env.vector(n, seed=1, unsound="terminate")
    vec.reset()
    x = vec.state()
    x["q"][2:, 2] = 0.1  # two that lie
    memory, action = np.concatenate([x[name] for name in stepping.layout.sizes], axis=1), np.zeros((n, 12))
    shapes = stepping.shapes("next_step")
    answers = []
    for build in (lambda: stepping.step("next_step"), lambda: function, lambda: function.rare):
        program = Program("environment", None, {"action": 12, "x": memory.shape[1]}, shapes, build)
        answers.append(program({"action": action, "x": memory}, (n,)))
    usual, lean, rare = (stepping.layout.named(answer["x"]) for answer in answers)
    for name in ("q", "terms"):
        assert_close(lean[name][:2], usual[name][:2], SOLVE)
        for other in (lean, rare):
            assert_close(other[name], usual[name], SETTLED)  # contacts are solved to 1e-6 m/s, others are chosen


def test_on_a_card():
    torch = pytest.importorskip("torch")
    pytest.importorskip("cupy")
    if not torch.cuda.is_available():
        pytest.skip("no card")
    env = environment(load("cartpole"), step=0.01, substeps=3)
    here = env.vector(16, seed=2, dtype="float64", unsound="terminate")
    there = env.vector(16, seed=2, arrays="torch", device="cuda", dtype="float64", unsound="terminate")
    assert_close(there.reset()[0].cpu(), here.reset()[0], SOLVE)
    for k in range(12):
        actions = np.random.default_rng(k).uniform(-1.0, 1.0, (16, env.drive.size))
        want, got = here.step(actions), there.step(torch.as_tensor(actions, device="cuda"))
        for x, y in zip(got[:4], want[:4], strict=True):
            assert x.is_cuda
            assert_close(x.cpu(), y, SOLVE)
    state = there.state()
    again = there.step(torch.zeros((16, env.drive.size), device="cuda"))[0]
    there.set_state(state)
    assert torch.equal(there.step(torch.zeros((16, env.drive.size), device="cuda"))[0], again)
