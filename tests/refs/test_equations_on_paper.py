"""Equations of small arms, term by term as textbooks print them."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, load
from tolerances import ROUNDING

sympy = pytest.importorskip("sympy")
from sympy import Matrix, cos, sin, symbols  # noqa: E402

THREE_DECIMALS = 6e-4  # half of the last digit printed
TWO_TERMS = 2e-3  # sums of printed terms
SMALL_TERMS = 3e-4  # of a term of 0.1


def same(found, expected) -> bool:
    """Whether the difference is 0 after expanding products and sums of angles, exactly."""
    return all(sympy.expand(sympy.expand_trig(x)) == 0 for x in Matrix(found) - Matrix(expected))


def test_planar_2r_arm_textbook_form():
    """Planar 2R arm with point masses at the ends of its links, textbook form: every term of both torques."""
    names = {"l_1": "L_1", "l_c1": "L_1", "l_c2": "L_2"}
    found = load("2r").equations(symbols=True, rename=names | {"q_1": "theta_1", "q_2": "theta_2"}).sympy
    m1, m2, L1, L2, g = symbols("m_1 m_2 L_1 L_2 g")
    t1, t2, v1, v2, a1, a2 = symbols("theta_1 theta_2 thetadot_1 thetadot_2 thetaddot_1 thetaddot_2")
    tau1 = (
        (m1 * L1**2 + m2 * L1**2 + m2 * L2**2 + 2 * m2 * L1 * L2 * cos(t2)) * a1
        + (m2 * L2**2 + m2 * L1 * L2 * cos(t2)) * a2
        - 2 * m2 * L1 * L2 * sin(t2) * v1 * v2
        - m2 * L1 * L2 * sin(t2) * v2**2
        + g * ((m1 * L1 + m2 * L1) * cos(t1) + m2 * L2 * cos(t1 + t2))
    )
    tau2 = (
        (m2 * L2**2 + m2 * L1 * L2 * cos(t2)) * a1
        + m2 * L2**2 * a2
        + m2 * L1 * L2 * sin(t2) * v1**2
        + g * m2 * L2 * cos(t1 + t2)
    )
    for ours, theirs in zip(found, (tau1, tau2), strict=True):
        terms = [set(sympy.Add.make_args(sympy.expand(x))) for x in (ours, theirs)]
        assert terms[0] == terms[1]  # without any identity of sines and cosines: the terms are those of the book
        assert len(terms[0]) == len(sympy.Add.make_args(sympy.expand(theirs)))


def test_planar_2r_arm_numbers():
    """ℓ = 0.30 m, m = 2.0 and 1.5 kg at q = (0, π/2), v = (1, −0.5): printed to three decimals."""
    robot, q, v = load("2r"), (0, np.pi / 2), (1, -0.5)
    M, g = robot.equations("mass_matrix"), robot.equations("gravity")
    np.testing.assert_allclose(M.evaluate(q), [[0.450, 0.135], [0.135, 0.135]], atol=ROUNDING)
    np.testing.assert_allclose(g.evaluate(q), [10.30, 0], atol=THREE_DECIMALS)
    tau = robot.equations().evaluate(q, v, (0, 0))
    np.testing.assert_allclose(tau, [10.40, 0.135], atol=TWO_TERMS)
    np.testing.assert_allclose(robot.equations("coriolis_matrix").evaluate(q, v) @ v, [0.101, 0.135], atol=SMALL_TERMS)


def test_acrobot():
    """M. Spong, "The swing up control problem for the acrobot", IEEE Control Systems 15(1), 1995; q = 0 hangs down."""
    robot = load("acrobot")
    m1, m2, l1, c1, c2, I1, I2, g = symbols("m_1 m_2 l_1 l_c1 l_c2 I_1 I_2 g")
    q1, q2, v1, v2 = symbols("q_1 q_2 qdot_1 qdot_2")
    d11 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(q2)) + I1 + I2
    d12, d22 = m2 * (c2**2 + l1 * c2 * cos(q2)) + I2, m2 * c2**2 + I2
    assert same(robot.equations("mass_matrix", symbols=True).sympy, [[d11, d12], [d12, d22]])
    h1 = -m2 * l1 * c2 * sin(q2) * v2**2 - 2 * m2 * l1 * c2 * sin(q2) * v2 * v1
    h2 = m2 * l1 * c2 * sin(q2) * v1**2
    phi1 = (m1 * c1 + m2 * l1) * g * sin(q1) + m2 * c2 * g * sin(q1 + q2)
    phi2 = m2 * c2 * g * sin(q1 + q2)
    assert same(robot.equations("bias", symbols=True).sympy, [h1 + phi1, h2 + phi2])


def test_cart_pole():
    """The cart-pole with its pole standing up at 0: textbook form with the pole's inertia; friction left out."""
    robot = load("cartpole").without("friction", "damping")
    M, m, l, I, g = symbols("M m l I g")
    q2, v2, a1, a2 = symbols("theta thetadot qddot_1 thetaddot")
    names = {"m_1": "M", "m_2": "m", "l_c2": "l", "I_2": "I", "q_2": "theta"}
    found = robot.equations(symbols=True, rename=names).sympy
    assert same(
        found,
        [
            (M + m) * a1 + m * l * cos(q2) * a2 - m * l * sin(q2) * v2**2,
            m * l * cos(q2) * a1 + (I + m * l**2) * a2 - m * g * l * sin(q2),
        ],
    )


def test_cart_pole_accelerations():
    """The accelerations of the cart-pole, one fraction each, with M + m sin² below for a point mass."""
    builder = ModelBuilder("cart-pole")
    builder.add_body("cart", parent="world", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    builder.add_body("pole", parent="cart", joint="revolute", axis=(0, 1, 0), mass=0.1, com=(0, 0, 0.5))
    names = {"m_1": "M", "m_2": "m", "l_c2": "l", "q_2": "theta"}
    found = builder.build().equations("forward_dynamics", symbols=True, rename=names).sympy
    M, m, l, g, t, v, f, n = symbols("M m l g theta thetadot tau_1 tau_2")
    cart = (f + m * l * v**2 * sin(t) - m * g * sin(t) * cos(t) - n * cos(t) / l) / (M + m * sin(t) ** 2)
    pole = (
        (n / l) * (M + m) / (m * l) + (M + m) * g * sin(t) / l - cos(t) * (f / l + m * v**2 * sin(t))
    ) / (M + m * sin(t) ** 2)  # fmt: skip
    for ours, theirs in zip(found, (cart, pole), strict=True):
        over, under = sympy.fraction(sympy.together(ours - theirs))
        assert sympy.expand(sympy.expand_trig(sympy.expand(over)).subs(cos(t) ** 2, 1 - sin(t) ** 2)) == 0
        assert under != 0


def test_scara_gravity_and_inertia():
    """A SCARA carries its weight with the slide alone; only the elbow's angle changes its inertia."""
    robot = load("scara")
    m3, m4, g = symbols("m_3 m_4 g")
    assert same(robot.equations("gravity", symbols=True).sympy, [0, 0, -g * (m3 + m4), 0])
    found = robot.equations("mass_matrix", symbols=True).sympy
    assert {s.name for s in found.free_symbols if s.name.startswith("q")} == {"q_2"}


def positioning_part():
    """The first three joints of a Puma 560, the wrist left off: lengths and angles of the arm, round inertias."""
    b = ModelBuilder("puma")
    half = np.pi / 2
    moving = {"joint": "revolute", "axis": (0, 0, 1)}
    b.add_body("trunk", parent="world", **moving, mass=13.0, inertia=np.diag((0.25, 0.25, 0.35)))
    b.add_body("upper", parent="trunk", **moving, rpy=(half, 0, 0), mass=17.4, com=(0.068, 0.006, 0.2275),
               inertia=np.diag((0.13, 0.524, 0.539)))  # fmt: skip
    b.add_body("fore", parent="upper", **moving, xyz=(0.4318, 0, 0), mass=4.8, com=(0, 0.07, 0.16415),
               inertia=np.diag((0.066, 0.0125, 0.066)))  # fmt: skip
    return b.build()


def test_puma_positioning_part():
    """Gravity in the books' form, and that the first column of M depends on q2 and q2 + q3 in the way they say."""
    robot = positioning_part()
    m2, m3, l2, g = symbols("m_2 m_3 l_2 g")
    c2x, c2y, c3y = symbols("l_c2x l_c2y l_c3y")
    q2, q3 = symbols("q_2 q_3")
    g2 = g * (m2 * c2x + m3 * l2) * cos(q2) - g * m2 * c2y * sin(q2) - g * m3 * c3y * sin(q2 + q3)
    g3 = -g * m3 * c3y * sin(q2 + q3)
    assert same(robot.equations("gravity", symbols=True).sympy, [0, g2, g3])
    M = robot.equations("mass_matrix", symbols=True).sympy
    assert symbols("q_1") not in M.free_symbols and M[1, 1].free_symbols & {q2, q3} == {q3}
    angles = {wave.args[0] for wave in M[0, 1].atoms(sin, cos)}
    assert angles == {q2, q2 + q3}  # as printed: no multiple angles, no products
