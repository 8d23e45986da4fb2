"""Integrators, elements, constraints and events written outside the package, edited, and run again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dalembert
from dalembert import Event, constraints, elements, integrators, load
from dalembert.dynamics import algorithms
from tolerances import COMPUTED, ITERATED, ORDER


def slide(mass: float = 2.0, gravity: float = 0.0) -> dalembert.Robot:
    builder = dalembert.ModelBuilder("slide", gravity=(0.0, 0.0, -gravity))
    builder.add_body("block", parent="world", joint="prismatic", joint_name="x", axis=(0, 0, 1), mass=mass)
    return builder.build()


def test_an_integrator_of_ones_own_and_its_edit() -> None:
    """The explicit midpoint rule: of order 2; with a wrong weight it is not, and the edit shows."""
    weight = 0.5

    def midpoint(system, t, h, q, e, u):
        v = system.layout.velocity
        half = e + h * weight * system.rates(t, q, e, u)
        q_half = algorithms.integrate(system.model, q, h * weight * v(e))
        e1 = e + h * system.rates(t + h * weight, q_half, half, u)
        return algorithms.integrate(system.model, q, h * v(half)), e1

    robot, start = load("2r"), (np.array([0.3, 0.2]), np.array([1.0, -0.5]))
    exact = robot.simulate(*start, 0.5, rtol=1e-11, atol=1e-12, record=0.5).q[-1]

    def error(steps: int) -> float:
        method = integrators.Integrator("explicit-midpoint", 2, step=midpoint, stable=(0.0, 2.0))
        run = robot.simulate(*start, 0.5, integrator=method, step=0.5 / steps, record=0.5)
        assert run.settings["integrator"] == "explicit-midpoint"
        end = robot.rollout(*start, step=0.5 / steps, steps=steps, integrator=method)
        np.testing.assert_allclose(end.q, run.q[-1], rtol=COMPUTED)
        once = robot.stepper(0.5 / steps, method)(*start)
        np.testing.assert_allclose(once[0], robot.rollout(*start, step=0.5 / steps, steps=1, integrator=method).q)
        return float(np.abs(run.q[-1] - exact).max())

    assert np.log2(error(64) / error(128)) == pytest.approx(2.0, abs=ORDER)
    weight = 0.4
    assert np.log2(error(64) / error(128)) == pytest.approx(1.0, abs=2 * ORDER)


def test_a_tableau_and_a_residual_of_ones_own() -> None:
    ralston = integrators.Tableau(
        "ralston", 2, np.array([[0.0, 0.0], [2 / 3, 0.0]]), np.array([0.25, 0.75]), np.array([0.0, 2 / 3])
    )

    def backward_euler(system, t, h, q, e, u, x):
        layout = system.layout
        d, z = layout.velocity(x), layout.states(x)
        q1, v1 = algorithms.integrate(system.model, q, d), d / h
        applied = system.applied(t + h, q1, layout.replaced(e, v1, z), u)
        missing = system.residual(q1, v1, (v1 - layout.velocity(e)) / h, applied.forces, applied.wrenches)
        lag = z - layout.states(e) - h * system.state_rates(applied)
        accounts = layout.accounts(e) + h * system.powers(q1, v1, applied)
        e1 = layout.replaced(e, v1, z, accounts=accounts)
        return integrators.Attempt(np.concatenate([h * missing, lag]), q1, e1)

    robot, start = load("2r"), (np.array([0.3, 0.2]), np.array([1.0, -0.5]))
    exact = robot.simulate(*start, 0.5, rtol=1e-11, atol=1e-12, record=0.5).q[-1]
    for method in (
        integrators.Integrator("ralston", 2, ralston),
        integrators.Integrator("backward-euler", 1, residual=backward_euler, single_precision=False),
    ):
        errors = []
        for steps in (512, 1024):
            run = robot.simulate(*start, 0.5, integrator=method, step=0.5 / steps, record=0.5)
            errors.append(np.abs(run.q[-1] - exact).max())
        assert np.log2(errors[0] / errors[1]) == pytest.approx(method.order, abs=1.5 * ORDER)
        assert f"with {method.name}" in run.audit().text
    with pytest.raises(dalembert.DalembertError, match="it has no step, expected one of"):
        integrators.Integrator("nothing", 1)
    with pytest.raises(dalembert.DalembertError, match="unknown integrator 'rk5'"):
        robot.simulate(*start, 0.1, integrator="rk5")
    with pytest.raises(dalembert.DalembertError, match="expected a name or a dalembert Integrator"):
        robot.simulate(*start, 0.1, integrator=3)


def test_an_element_of_ones_own_and_its_edit() -> None:
    def pushing(newtons: float) -> type[elements.Element]:
        @dataclass(frozen=True)
        class Push(elements.Element):
            joint: str

            gives = True

            def act(self, s):
                body = s.model.joint(self.joint)
                return elements.Action({body.index: np.array([newtons])}, given=newtons * s.v[body.v][0])

        return Push

    robot = slide(2.0)
    for newtons in (2.0, -2.0, 6.0):
        run = robot.simulate([0.0], [0.0], 1.0, elements=[pushing(newtons)("x")])
        assert run.q[-1, 0] == pytest.approx(newtons / 4.0, rel=ITERATED)
        assert run.energy.work["Push(x)"][-1] == pytest.approx(newtons * run.q[-1, 0], rel=ITERATED)


def test_a_constraint_of_ones_own_and_its_edit() -> None:
    """A rope that holds at its length, and is slack below it: an elastic end, then a soft one."""

    def rope(restitution: float) -> type[elements.Element]:
        @dataclass(frozen=True)
        class Rope(elements.Element):
            joint: str
            length: float

            loses = True

            def constraints(self, model):
                body = model.joint(self.joint)

                def rows(s):
                    J = -np.eye(s.model.nv)[[body.v.start]]
                    return constraints.Rows(-s.q[body.q], J, bias=np.zeros(1), surface=np.zeros(1))

                law = constraints.Impact(restitution)
                return (constraints.Constraint("rope", 1, rows, constraints.Range(-np.inf, self.length), law),)

            def act(self, s):
                return elements.Action()

        return Rope

    robot, fall = slide(2.0, 9.81), np.sqrt(2.0 / 9.81)
    hung = robot.simulate([0.0], [0.0], 1.5, elements=[rope(0.0)("x", 1.0)])
    assert [(event.name, event.kind) for event in hung.events] == [("rope", "impact")]
    assert hung.events[0].t == pytest.approx(fall) and hung.q[-1, 0] == pytest.approx(-1.0, abs=COMPUTED)
    assert hung.multipliers[-1, 0] == pytest.approx(-2.0 * 9.81)  # at the upper end of its range: it pulls upwards
    bounced = robot.simulate([0.0], [0.0], 2.0 * fall, elements=[rope(1.0)("x", 1.0)])
    assert bounced.q[-1, 0] == pytest.approx(0.0, abs=ITERATED)


def test_an_event_and_its_edit() -> None:
    settings = {"height": 0.5}

    def falls(t, q, v):
        return q[0] - settings["height"]

    robot = slide(1.0, 9.81)
    for height in (0.5, 0.2):
        settings["height"] = height
        run = robot.simulate([1.0], [0.0], 2.0, events=[Event("low", falls, direction=-1, terminal=True)])
        assert run.t[-1] == pytest.approx(np.sqrt(2.0 * (1.0 - height) / 9.81), rel=ITERATED)
