"""Numbers that no call can take: each raises an error that names the argument."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load

Z = np.zeros(6)
HUGE = np.array([0.0, 1e300, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def arm():
    return load("ur5")


@pytest.mark.parametrize("name", ["inverse_dynamics", "bias", "energy", "kinetic_energy", "forward_dynamics"])
def test_a_result_that_overflows_names_the_argument(arm, name: str) -> None:
    rest = {"inverse_dynamics": (Z,), "forward_dynamics": (Z,)}.get(name, ())
    function = getattr(arm, name)
    for batch in (False, True):
        states = [np.tile(x, (3, 1)) if batch else x for x in (Z + 0.1, HUGE, *rest)]
        said = "too large" if name == "forward_dynamics" else rf"{name}.*: v\[1\] is 1e\+300"
        with pytest.raises(DalembertError, match=said):
            function(*states)
    assert not np.isfinite(function(Z + 0.1, HUGE, *rest, check=False)).all()
    assert np.isfinite(function(Z + 0.1, Z + 1e3, *rest)).all()


@pytest.mark.parametrize("strides", [(0, 8), (8, 8), (48, 0), (0, 0)])
def test_results_do_not_share_memory(arm, strides: tuple[int, int]) -> None:
    out = np.lib.stride_tricks.as_strided(np.zeros(64), (3, 6), strides)
    with pytest.raises(DalembertError, match="out has strides"):
        arm.gravity(np.zeros((3, 6)), out=out)


def test_strided_results_with_memory_of_their_own_are_written(arm) -> None:
    q = np.random.default_rng(0).normal(size=(3, 6))
    for out in (np.zeros((6, 12))[::2, ::2], np.zeros((3, 6))[::-1], np.zeros((6, 3)).T):
        arm.gravity(q, out=out)
        np.testing.assert_array_equal(out, arm.gravity(q))


def test_true_is_no_number(arm) -> None:
    calls = {
        "duration": lambda: arm.simulate(Z, Z, duration=True),
        "step": lambda: arm.simulate(Z, Z, 0.1, integrator="rk4", step=True),
        "record": lambda: arm.simulate(Z, Z, 0.1, record=True),
        "rtol": lambda: arm.simulate(Z, Z, 0.1, rtol=True),
        "steps": lambda: arm.rollout(Z, Z, steps=True),
        "payload": lambda: arm.audit(payload=True),
        "margin": lambda: arm.sizing(margin=True),
    }
    for name, call in calls.items():
        with pytest.raises(DalembertError, match=f"{name} is True"):
            call()
    for step in (lambda: arm.rollout(Z, Z, step=True), lambda: arm.stepper(step=True)):
        with pytest.raises(DalembertError, match="step is True"):
            step()
