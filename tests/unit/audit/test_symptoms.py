"""Deliberately damaged robots: every fault of the symptom table is found, and named, by the rule made for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import dalembert.control.rules  # noqa: F401  (its rule is one of them)
import damaged
from dalembert import Robot, load
from dalembert.audit import RULES, Expectations, diagnose, expectations_of
from dalembert.audit.expectations import ContactExpectations, ControllerExpectations, SimulationExpectations
from dalembert.audit.symptoms import SYMPTOMS
from damaged import (
    ABOUT_ORIGIN,
    EXCHANGED,
    MASS,
    TENSOR,
    arm,
    changed,
    controlled,
    expected,
    inertia,
    joint,
    simulated,
    slow_log,
    turned,
)


class Fault(NamedTuple):
    """A damaged robot, the rule that finds it, words that it uses; symptom: row of the table that must blame it."""

    rule: str
    words: str
    robot: Callable[[], Robot]
    symptom: int | None = None
    options: Callable[[], dict[str, Any]] = dict


INERTIAS = {
    "about the link's origin": Fault("moments", "about the link's origin", inertia("fore", inertia=ABOUT_ORIGIN), 0),
    "in the axes of the mesh": Fault("moments", "along other axes", inertia("fore", inertia=turned(TENSOR, 0.9)), 0),
    "axes exchanged": Fault("moments", "x and z are exchanged", inertia("fore", inertia=EXCHANGED), 0),
    "axes exchanged and too large": Fault(
        "moments", "exchanged, and all of them are 1.7 times", inertia("fore", inertia=1.7 * EXCHANGED), 0
    ),
    "inertia halved": Fault("shape", "do not belong together", inertia("fore", inertia=0.5 * TENSOR), 0),
    "inertia in kg·mm²": Fault("inertia-size", "radius of gyration", inertia("fore", inertia=1e6 * TENSOR), 0),
    "inertia not stated": Fault(
        "inertia-missing", "no moments of inertia", inertia("fore", inertia=np.zeros((3, 3))), 0
    ),
    "an impossible inertia": Fault("inertia-possible", "triangle", damaged.impossible, 13),
    "placeholders": Fault("inertia-placeholder", "links have 1 kg", damaged.placeholders, 0),
}
MASSES = {
    "40 % of a link's mass missing": Fault(
        "density", "0.60 times", inertia("fore", mass=0.6 * MASS, inertia=0.6 * TENSOR), 4
    ),
    "40 % missing, inertia kept": Fault("shape", "do not belong together", inertia("fore", mass=0.6 * MASS), 4),
    "masses in grams": Fault("total-mass", "grams", lambda: damaged.heavier(arm(), 1000.0), 4),
    "one leg lighter": Fault("left-right", "weigh", changed("quadruped", "set_inertia", "FL_thigh", mass=0.4), 5),
    "a joint that moves nothing": Fault("mass-missing", "moves no mass", damaged.massless_wheel, 2),
    "a point mass on its own axis": Fault("mass-missing", "on its axis", damaged.on_axis, 2),
    "a shape in millimetres": Fault("density", "kg/m³ within its shapes", damaged.shape_in_millimetres),
    "centre of mass off by 9 cm": Fault("com-place", "0.09 m from the middle", inertia("fore", com=(0.39, 0, 0)), 4),
    "centre of mass with a sign": Fault("shape", "its negative would fit", inertia("fore", com=(-0.3, 0, 0)), 4),
    "centre of mass in millimetres": Fault("com-far", "from its frame", inertia("fore", com=(300, 0, 0)), 4),
}
GRAVITY_AND_BASE = {
    "gravity up": Fault("gravity-direction", "points up", changed("bars", "gravity", (0, 0, 9.81)), 4),
    "gravity up on legs": Fault("gravity-direction", "points up", changed("quadruped", "gravity", (0, 0, 9.81)), 10),
    "gravity sideways": Fault("gravity-direction", "does not point down", changed("bars", "gravity", (0, -9.81, 0)), 4),
    "gravity in mm/s²": Fault("gravity-direction", "millimetres", changed("bars", "gravity", (0, 0, -9810))),
    "quadruped nailed to the world": Fault("base", "which are legs", lambda: load("quadruped", base="fixed"), 14),
    "arm let loose": Fault("base", "free to fall", lambda: load("ur5", base="free"), 10),
}
JOINTS = {
    "limits in degrees": Fault("limits-degrees", "over two turns", joint("fore_joint", lower=-120.0, upper=120.0), 9),
    "speed in degrees a second": Fault("limits-speed", "turns a second", joint("fore_joint", velocity_limit=180.0), 9),
    "limits of nothing": Fault(
        "limits-empty", "has an empty range, from 0 to 0", joint("fore_joint", lower=0.0, upper=0.0), 9
    ),
    "axis of one leg turned": Fault(
        "axis-mirror", "turn about", changed("quadruped", "set_joint", "FL_swing", axis=(0, 0, 1)), 5
    ),
    "yaw that pitches": Fault("axis-name", "as its name says", damaged.yaw, 5),
    "elbow about the arm's own axis": Fault("axis-coincident", "same line", damaged.coaxial, 5),
    "wheel about its diameter": Fault(
        "axis-wheel", "across it", lambda: load(damaged.solid_arm(wheel_axis="1 0 0")), 5
    ),
    "one rotor missing": Fault("rotors-missing", "unlike most", lambda: damaged.quadruped_without("armature"), 0),
    "friction of one joint missing": Fault(
        "friction-missing", "unlike most", lambda: damaged.quadruped_without("damping"), 1
    ),
    "no friction": Fault("friction-missing", "no joint has", lambda: arm().without("friction", "damping"), 1),
    "friction beyond the motor": Fault("friction-size", "cannot move", joint("fore_joint", friction=500.0), 1),
    "motor too weak": Fault("headroom", "cannot hold", joint("upper_joint", effort_limit=20.0), 4),
    "payload too heavy": Fault("headroom", "cannot hold", arm, 4, lambda: {"payload": 50.0}),
}
RUNNING = {
    "explicit steps on stiff ground": Fault(
        "contact", "explodes on contact", arm, 2, lambda: simulated(1e-3, "rk4", stiffness=1e8)
    ),
    "explicit steps on a stiff damper": Fault(
        "step", "explodes", joint("fore_joint", damping=5e4), 2, lambda: simulated(1e-3)
    ),
    "steps that feed energy": Fault(
        "step-energy", "gains", lambda: arm().without("friction", "damping"), 2, lambda: simulated(0.02, "euler")
    ),
    "slippery ground": Fault(
        "contact",
        "feet slide",
        lambda: load("quadruped"),
        5,
        lambda: {"expect": Expectations(contact=ContactExpectations(friction=0.2))},
    ),
    "controller faster than the arm": Fault(
        "controller", "of the resonance", arm, 6, lambda: controlled(kp=4e4, kd=400.0)
    ),
    "controller without damping": Fault("controller", "rings", arm, 6, lambda: controlled(kp=100.0, kd=2.0)),
    "gains that ring on this arm": Fault(
        "closed-loop", "damping: lowest ratio 0.10", arm, None, lambda: controlled(kp=100.0, kd=2.0)
    ),
    "NaN in a log": Fault(
        "log-finite", "v has no number in row 8", arm, 12, lambda: {"motion": damaged.with_nan(slow_log(arm()))}
    ),
    "efforts with the wrong sign": Fault(
        "log-torque", "opposite sign", arm, 5, lambda: {"motion": damaged.negated(slow_log(arm()))}
    ),
    "a log that excites little": Fault(
        "log-excites", "identification needs", arm, 13, lambda: {"motion": slow_log(arm())}
    ),
}
DESIGN = {
    "a joint too few": Fault(
        "expected-sizes", "expected 6", changed("ur5", "lock", elbow_joint=0.3), 10, lambda: expected("ur5")
    ),
    "a link lighter than designed": Fault(
        "expected-masses",
        "upper_arm_link",
        changed("ur5", "set_inertia", "upper_arm_link", mass=5.0),
        4,
        lambda: expected("ur5"),
    ),
    "a centre of mass elsewhere than designed": Fault(
        "expected-gravity",
        "expected",
        changed("ur5", "set_inertia", "upper_arm_link", com=(0.12, 0, 0.14)),
        4,
        lambda: expected("ur5"),
    ),
    "an axis elsewhere than designed": Fault(
        "expected-gravity",
        "expected",
        changed("ur5", "set_joint", "elbow_joint", axis=(1, 0, 0)),
        4,
        lambda: expected("ur5"),
    ),
    "lengths in millimetres": Fault(
        "expected-reach", "expected 1.19", changed("ur5", "scale", 1000.0, mass=1.0), None, lambda: expected("ur5")
    ),
}
FAULTS = INERTIAS | MASSES | GRAVITY_AND_BASE | JOINTS | RUNNING | DESIGN


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_named(name: str) -> None:
    fault = FAULTS[name]
    audit = fault.robot().audit(rules=[fault.rule], **fault.options())
    texts = [f"{f.where}: {f.what}" for f in audit.findings if f.rule == fault.rule]
    assert any(fault.words in text for text in texts), (texts, audit.skipped)


@pytest.mark.parametrize("rule", sorted({fault.rule for fault in FAULTS.values()}))
def test_the_sound_arm_has_none_of_them(rule: str) -> None:
    meant = replace(
        expectations_of(arm()),
        simulation=SimulationExpectations(1e-3, "rk4"),
        contact=ContactExpectations(1e5, 100.0, 0.8),
        controller=ControllerExpectations(100.0, 20.0, 1000.0),
    )
    audit = arm().audit(rules=[rule], expect=meant, motion=slow_log(arm(), n=801), payload=1.0)
    assert not [f for f in audit.findings if f.severity != "info"] and not audit.blocked, str(audit)


def test_at_least_thirty_faults_and_every_rule_but_the_laws() -> None:
    assert len(FAULTS) >= 30
    tried_elsewhere = {  # by injected faults and lies in test_run and test_touching
        "derivatives", "energy", "gravity-by-hand", "import", "inverse-forward", "limits-missing", "limits-zero-effort",
        "mass-condition", "mass-matrix", "names", "neutral-outside", "passivity", "contact-run", "self-collision",
    }  # fmt: skip
    assert {fault.rule for fault in FAULTS.values()} | tried_elsewhere == set(RULES)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.symptom is not None])
def test_a_diagnosis_puts_the_fault_first(name: str) -> None:
    fault = FAULTS[name]
    assert fault.symptom is not None
    (diagnosis,) = diagnose(SYMPTOMS[fault.symptom].text, fault.robot(), **fault.options())
    first = diagnosis.suspects[0]
    assert fault.rule in first.cause.rules and fault.rule in {f.rule for f in first.findings}, str(diagnosis)
