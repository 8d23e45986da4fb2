"""Equations of robots: equal to the numbers, canonical, short, well named, and refused where they get too long."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Wrench, load
from tolerances import ACCUMULATED, COMPUTED, PRODUCT, REORDERED, ROUNDING

sympy = pytest.importorskip("sympy")

from dalembert.compiler.graph import trace  # noqa: E402
from dalembert.equations.laurent import Ring  # noqa: E402
from dalembert.equations.terms import multiple_angles, products  # noqa: E402
from dalembert.math import cos, exp, sin, tanh  # noqa: E402

SMALL = ("2r", "3r", "acrobot", "cartpole", "scara")
QUANTITIES = ("mass_matrix", "coriolis_matrix", "gravity", "inverse_dynamics")


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return {"q": robot.random(rng), "v": rng.standard_normal(robot.nv), "a": rng.standard_normal(robot.nv)}


def inputs(robot, name, seed=0):
    letters = {"mass_matrix": "q", "gravity": "q", "coriolis_matrix": "qv", "bias": "qv", "inverse_dynamics": "qva"}
    return [state(robot, seed)[letter] for letter in letters[name]]


def polynomial(function, n):
    ring = Ring()
    ((found,),) = ring.polynomials(trace(function, {"q": n}))
    return ring, found


@pytest.mark.parametrize("symbols", [(), True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("robot", SMALL)
def test_equal_to_the_numbers(robot, name, symbols):
    robot = load(robot)
    equation = robot.equations(name, symbols=symbols)
    for seed in range(3):
        given = inputs(robot, name, seed)
        wanted = getattr(robot, name)(*given)
        np.testing.assert_allclose(equation.evaluate(*given), wanted, atol=COMPUTED * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics"])
@pytest.mark.parametrize("robot", ["puma560", "ur5"])
def test_six_joints(robot, name):
    robot = load(robot)
    given = inputs(robot, name)
    wanted = getattr(robot, name)(*given)
    np.testing.assert_allclose(
        robot.equations(name).evaluate(*given), wanted, atol=COMPUTED * max(1.0, np.abs(wanted).max())
    )


@pytest.mark.parametrize("robot", SMALL)
@pytest.mark.parametrize("name", ["mass_matrix", "gravity", "bias", "inverse_dynamics"])
def test_lagrange_gives_the_same_expression(robot, name):
    """Two derivations, one normal form: the same SymPy objects, not only the same values."""
    robot = load(robot)
    newton = robot.equations(name, symbols=True).sympy
    assert robot.equations(name, symbols=True, method="lagrange").sympy == newton
    assert robot.equations(name, symbols=True, method="generalized-newton-euler").sympy == newton


def test_normal_form_of_identities():
    for zero in (
        lambda q: sin(q[0]) ** 2 + cos(q[0]) ** 2 - 1,
        lambda q: sin(q[0] + q[1]) - sin(q[0]) * cos(q[1]) - cos(q[0]) * sin(q[1]),
        lambda q: cos(3 * q[0]) - 4 * cos(q[0]) ** 3 + 3 * cos(q[0]),
        lambda q: sin(0.5 * q[0]) ** 2 - 0.5 * (1 - cos(q[0])),
        lambda q: (q[0] + q[1]) ** 2 - q[0] * q[0] - 2 * q[0] * q[1] - q[1] * q[1],
        lambda q: tanh(q[0] + q[1]) - tanh(q[1] + q[0]),
        lambda q: q[0] * exp(q[1] * 2) / q[0] - exp(q[1] + q[1]),
    ):
        assert polynomial(zero, 2)[1] == {}


def test_both_forms_have_the_value():
    ring, found = polynomial(lambda q: 0.3 * sin(q[0] - 2 * q[1]) * cos(q[0]) + cos(q[1] + 0.4) ** 3, 2)
    q = np.array([0.7, -1.1])
    wanted = 0.3 * np.sin(q[0] - 2 * q[1]) * np.cos(q[0]) + np.cos(q[1] + 0.4) ** 3
    for terms in (multiple_angles(ring, found), products(ring, found, "cos"), products(ring, found, "sin")):
        total = 0.0
        for term in terms:
            assert not term.monomial
            waves = [
                {"sin": np.sin, "cos": np.cos}[name](
                    sum(float(m) * q[ring.generators[p].value[1]] for p, m in angle)
                ) ** n
                for (name, angle), n in term.waves
            ]  # fmt: skip
            total += term.coefficient * np.prod(waves)
        assert total == pytest.approx(wanted, abs=ROUNDING)


def test_the_shorter_form_is_chosen():
    q, m, l = sympy.symbols("q_2 m_2 l_c2")
    builder = ModelBuilder("pan and tilt")
    builder.add_body("pan", parent="world", joint="revolute", axis=(0, 0, 1))
    builder.add_body("tilt", parent="pan", joint="revolute", axis=(0, -1, 0), mass=2.0, com=(0.5, 0, 0))
    M = builder.build().equations("mass_matrix", symbols=True).sympy
    assert M[0, 0] == m * l**2 * sympy.cos(q) ** 2  # not ½ m l² (1 + cos 2q)
    bias = builder.build().equations("bias", symbols=True).sympy
    assert sympy.sin(2 * q) in bias[0].atoms(sympy.sin)  # shorter than 2 sin q cos q


def test_followers_with_fractional_ratios_and_offsets():
    builder = ModelBuilder("gears")
    turning = {"joint": "revolute", "axis": (0, -1, 0)}
    builder.add_body("a", parent="world", **turning, mass=1.0, com=(0.2, 0, 0.1))
    ratio = ("a", 0.5, 0.3)
    builder.add_body("b", parent="a", **turning, xyz=(0.4, 0, 0), mass=0.5, com=(0.3, 0, 0), mimic=ratio)
    robot = builder.build()
    for symbols in ((), True):
        for name in QUANTITIES:
            given = inputs(robot, name)
            found = robot.equations(name, symbols=symbols)
            np.testing.assert_allclose(found.evaluate(*given), getattr(robot, name)(*given), atol=REORDERED)
    assert sympy.cos(sympy.Symbol("q_1") / 2) in robot.equations("mass_matrix").sympy.atoms(sympy.cos) or (
        robot.equations("mass_matrix").sympy.has(sympy.Symbol("q_1") / 2)
    )


@pytest.mark.parametrize("symbols", [(), True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("robot", ["2r", "acrobot", "cartpole", "3r"])
def test_accelerations_are_fractions_of_one_denominator(robot, symbols):
    robot = load(robot)
    q, v, tau = state(robot).values()
    wanted = robot.forward_dynamics(q, v, tau)
    found = robot.equations("forward_dynamics", symbols=symbols)
    np.testing.assert_allclose(found.evaluate(q, v, tau), wanted, atol=ACCUMULATED * np.abs(wanted).max())
    inverse = robot.equations("inverse_mass_matrix", symbols=symbols)
    np.testing.assert_allclose(inverse.evaluate(q), robot.inverse_mass_matrix(q), rtol=ACCUMULATED)
    assert len({sympy.fraction(x)[1] for x in found.elements(digits=6)}) == 1


def test_free_base():
    robot = load("quadrotor")
    for name in ("mass_matrix", "inverse_dynamics"):
        given = inputs(robot, name)
        found = robot.equations(name, symbols=True).evaluate(*given)
        np.testing.assert_allclose(found, getattr(robot, name)(*given), atol=REORDERED)


def test_forces_from_outside():
    robot, load_ = load("2r"), Wrench(force=(1.0, 2.0, 3.0), frame="tool")
    equation = robot.equations(external=[load_])
    given = inputs(robot, "inverse_dynamics")
    wanted = robot.inverse_dynamics(*given, external=[load_])
    np.testing.assert_allclose(equation.evaluate(*given, (0, 0, 0), (1, 2, 3), (0, 0, 0)), wanted, atol=REORDERED)
    assert {"F_x", "F_z", "p_x", "n_y"} <= {s.name for s in equation.sympy.free_symbols}


def test_kinematics_in_symbols():
    pose = load("2r").equations("pose", frame="tool", symbols="placement").sympy
    l1, l2, q1, q2 = sympy.symbols("l_1 l_tool q_1 q_2")
    assert pose[0, 3] == l1 * sympy.cos(q1) + l2 * sympy.cos(q1 + q2)
    assert pose[2, 3] == l1 * sympy.sin(q1) + l2 * sympy.sin(q1 + q2)


def test_symbols_are_named_and_have_the_models_values():
    equation = load("acrobot").equations("mass_matrix", symbols=True)
    assert [p.name for p in equation.used] == ["m_1", "l_c1", "I_1", "l_1", "m_2", "l_c2", "I_2"]
    by_name = {p.name: p for p in equation.used}
    assert by_name["l_1"].value == 1.0 and by_name["I_2"].value == pytest.approx(0.33)
    assert by_name["I_1"].unit == "kg·m²" and by_name["m_2"].meaning == "mass of lower"
    halved = equation.evaluate((0, 0), m_2=0.0, I_2=0.0)
    np.testing.assert_allclose(halved, [[0.083 + 0.25, 0], [0, 0]], atol=ROUNDING)


def test_some_groups_only():
    found = load("2r").equations("gravity", symbols="gravity").sympy
    assert {s.name for s in found.free_symbols} == {"g", "q_1", "q_2"}
    np.testing.assert_allclose(float(found[1].coeff(sympy.Symbol("g")).subs({"q_1": 0, "q_2": 0})), 0.45)


def test_rounded_numbers():
    equation = load("cartpole").equations("mass_matrix")
    assert "0.0333358" in equation.latex() and "0.03334" in equation.latex(digits=4)
    assert "0.0333358300000000" in str(equation.sympy[1, 1].n(15))


def test_latex_is_balanced_and_short_on_request():
    equation = load("3r").equations(symbols=True)
    for short in (False, True):
        text = equation.latex(short=short)
        assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")
        assert text.startswith(r"\tau = ")
        assert ("c_{123}" in text) == short and (r"\cos" in text) != short
    assert equation._repr_latex_().startswith("$") and r"\ddot{q}_{1}" in equation._repr_latex_()


def test_sources_as_text():
    robot = load("2r")
    assert robot.source("gravity", "latex").startswith("g(q) = ")
    exec(robot.source("mass_matrix", "sympy", live=("inertia", "placement")), names := {})
    point = {"q_2": np.pi / 2}
    np.testing.assert_allclose(
        np.array(names["mass_matrix"].subs(names["values"]).subs(point), float),
        robot.mass_matrix((0, np.pi / 2)),
        atol=ROUNDING,
    )
    with pytest.raises(DalembertError, match=r"unknown language 'latx': did you mean 'latex'"):
        robot.source("gravity", "latx")


def test_unsimplified_expressions():
    robot = load("2r")
    plain = robot.equations("inverse_dynamics", symbols=True, simplify=False)
    simple = robot.equations("inverse_dynamics", symbols=True)
    given = inputs(robot, "inverse_dynamics")
    np.testing.assert_allclose(plain.evaluate(*given), simple.evaluate(*given), atol=PRODUCT)
    assert plain.sympy != simple.sympy and not plain.sympy.has(sympy.cos(sympy.Symbol("q_1") + sympy.Symbol("q_2")))
    assert "0.135" not in robot.equations("mass_matrix", simplify=False).latex(digits=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "mass_matrx"}, "did you mean 'mass_matrix'"),
        ({"symbols": "inertias"}, "did you mean 'inertia'"),
        ({"rename": {"m_1": "m_2"}, "symbols": True}, "m_2.*only equal numbers can share a symbol"),
        ({"rename": {"q_1": "q_2"}}, "two symbols are called 'q_2'"),
        ({"rename": {"g": "q_1"}, "symbols": True}, "two symbols are called 'q_1'"),
        ({"rename": {"q_7": "theta"}}, "unknown symbol 'q_7'"),
        ({"name": "pose"}, "which frame"),
        ({"method": "hamilton"}, "unknown method"),
    ],
    ids=str,
)
def test_mistakes(arguments, message):
    with pytest.raises(DalembertError, match=message):
        load("2r").equations(**arguments)


def test_too_long_for_paper():
    with pytest.raises(DalembertError, match=r"mass_matrix of robot 'panda' is too long for paper .*: ask for"):
        load("panda").equations("mass_matrix")


def test_kinematics_have_the_letters_of_textbooks():
    robot = load("2r")
    assert str(robot.equations("jacobian", frame="tool")).startswith("J₂₁ = -1")
    assert robot.equations("pose", frame="tool").latex().startswith(r"X(q) = ")
    assert str(robot.equations("center_of_mass")).startswith("r₁ = ")
