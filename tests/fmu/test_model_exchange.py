"""FMUs for model exchange: rates beside `forward_dynamics`, slopes beside differences, runs beside `simulate`."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, load
from fmu.importer import Instance
from tolerances import RECURSION, SLOPE, assert_close

pytest.importorskip("fmpy")

SOLVED = 1e-6  # by the importer's own solver, at relative tolerance 1e-9
VERSIONS = pytest.mark.parametrize("version", ["2.0", "3.0"])


def tumbling():
    """A free body with an arm: quaternions among the states."""
    builder = ModelBuilder("tumbling", gravity=(0.0, 0.0, -1.0))
    builder.add_body("hull", parent="world", joint="free", joint_name="base", mass=2.0, com=(0.1, 0.0, 0.05),
                     inertia=np.diag([0.1, 0.2, 0.25]))  # fmt: skip
    builder.add_body("arm", parent="hull", joint="revolute", joint_name="hinge", axis=(0.0, 1.0, 0.0), mass=0.5,
                     com=(0.0, 0.0, -0.3), inertia=1e-2 * np.eye(3), damping=0.1)  # fmt: skip
    return builder.build()


@VERSIONS
def test_rates_and_slopes(tmp_path, version):
    from fmpy.validation import validate_fmu

    robot, rng = tumbling(), np.random.default_rng(4)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    (path,) = robot.export("simulate", "fmu", tmp_path, version=version, kind="model-exchange", q=q, v=v)
    assert validate_fmu(path) == []
    model = robot.model
    states = [*(f"q.{x}" for x in model.coordinate_names), *(f"v.{x}" for x in model.freedom_names)]
    inputs = [f"tau.{x}" for x in model.freedom_names]
    rates = [f"der({x})" for x in states]
    instance = Instance(path, tmp_path / "unpacked", model_exchange=True)
    tau = rng.normal(size=robot.nv)
    instance.set(dict(zip(inputs, tau, strict=True)))
    ahead, behind = (robot.integrate(q, v, dt) for dt in (1e-5, -1e-5))
    want = np.concatenate([(ahead - behind) / 2e-5, robot.forward_dynamics(q, v, tau)])
    got = instance.get(*rates)
    assert_close(got[: robot.nq], want[: robot.nq], SLOPE)
    assert_close(got[robot.nq :], want[robot.nq :], RECURSION, scale=10.0)

    knowns, unknowns = [*states, *inputs], [*rates, "energy.kinetic", "energy.potential", states[0]]
    seed = rng.normal(size=len(knowns))
    along = instance.slopes(unknowns, knowns, list(seed))
    values, h = np.concatenate([q, v, tau]), 1e-6
    sides = []
    for sign in (1.0, -1.0):
        moved = values + sign * h * seed
        beside = Instance(path, tmp_path / f"side{sign:.0f}", model_exchange=True)
        row = (ctypes.c_double * len(states))(*moved[: len(states)])
        if version == "2.0":
            beside.fmu.setContinuousStates(row, len(states))
        else:
            beside.fmu.fmi3SetContinuousStates(beside.fmu.component, row, len(states))
        beside.set(dict(zip(inputs, moved[len(states) :], strict=True)))
        sides.append(beside.get(*unknowns))
    difference = (sides[0] - sides[1]) / (2.0 * h)
    assert_close(along, difference, SLOPE, scale=float(np.abs(difference).max()))
    instance.close()


@VERSIONS
def test_an_importer_integrates_it(tmp_path, version):
    import fmpy

    robot = load("2r").without("friction")
    (path,) = robot.export("simulate", "fmu", tmp_path, version=version, kind="both", q=[0.6, -0.4])
    result = fmpy.simulate_fmu(
        path, fmi_type="ModelExchange", stop_time=0.5, relative_tolerance=1e-9, output_interval=0.1,
        output=["q.shoulder", "q.elbow", "v.shoulder", "v.elbow"],
    )  # fmt: skip
    run = robot.simulate([0.6, -0.4], [0.0, 0.0], 0.5, rtol=1e-11, atol=1e-12)
    assert_close(list(result[-1])[1:], [*run.q[-1], *run.v[-1]], SOLVED)


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("quadruped", {"contact": Contact()}, "contact has steps of its own"),
        ("2r", {"stops": True}, "begins and ceases to act"),
        ("four_bar", {}, "closed loops"),
        ("ur5", {"friction": "dry"}, "friction.*smooth"),
    ],
)
def test_models_that_are_not_smooth_are_refused_by_name(tmp_path, name, options, named):
    robot = load(name)
    if name == "ur5":
        robot = robot.edit().set_joint("elbow_joint", friction=2.0).done()
    elements = robot.stops() if options.pop("stops", False) else ()
    with pytest.raises(DalembertError, match=named):
        robot.export("simulate", "fmu", tmp_path, kind="model-exchange", elements=elements, **options)
    assert not list(tmp_path.iterdir())
