"""The table of symptoms: what users observe, possible causes, the rules that detect them, the deciding check."""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """A possible cause, the check that decides, the cure, and the rules that detect it."""

    text: str
    check: str
    fix: str
    rules: tuple[str, ...] = ()
    term: str = ""  # one of TERMS in diagnose: the part of a log's residual that it explains


class Symptom(NamedTuple):
    """A symptom, other words for it, and its causes, the most usual first."""

    text: str
    words: str
    causes: tuple[Cause, ...]


GRAVITY_VECTOR = Cause(
    "gravity is in the wrong frame or has the wrong sign",
    "print robot.model.gravity: it is a vector in the world, (0, 0, -9.81) with z up",
    "set the gravity, or the orientation of the base",
    ("gravity-direction",),
    "gravity",
)
MASSES = Cause(
    "a mass or a centre of mass is wrong, or a tool is missing",
    "hold the robot still in several poses and compare measured with modelled torques",
    "correct masses and centres of mass; add the tool with robot.edit().payload(…)",
    ("expected-masses", "expected-gravity", "density", "com-place", "com-far", "left-right", "total-mass", "shape"),
    "gravity",
)
INERTIAS = Cause(
    "inertias are too small, in the wrong frame or in other units",
    "robot.check_inertia() compares them with the shapes",
    "take the tensors about the centre of mass from CAD again, or identify them",
    ("moments", "inertia-size", "inertia-possible", "inertia-missing", "inertia-placeholder", "density"),
    "inertia",
)
ROTOR = Cause(
    "rotor inertias are missing: N² times that of the motor",
    "the missing torque is proportional to the joint's own acceleration in every pose",
    "state armature per joint",
    ("rotors-missing",),
    "rotor",
)
FRICTION = Cause(
    "friction is missing, or its numbers are wrong",
    "the missing torque follows the sign of the speed: move slowly there and back",
    "identify and state damping and friction: F_v v + F_c sgn(v)",
    ("friction-missing", "friction-size"),
    "friction",
)
CORIOLIS = Cause(
    "the Coriolis term is missing or has the wrong sign",
    "the error grows with the square of the speed; robot.passivity_residual is zero for a consistent C",
    "use bias(q, v), which contains it; check Ṁ − 2C",
    ("passivity",),
    "coriolis",
)
AXIS = Cause(
    "a joint axis or a sign is wrong",
    "move one joint at a time and look at the robot: dalembert view",
    "correct <axis> or the sign of the measured efforts",
    ("axis-mirror", "axis-name", "axis-coincident", "axis-wheel", "log-torque"),
    "sign",
)
STIFF = Cause(
    "an explicit integrator with a stiff contact, spring or damper",
    "shorten the step tenfold: if the explosion goes away, this was it",
    "a step below 2/ω, an implicit integrator, or constraint-based contact",
    ("step", "contact"),
)
INJECTING = Cause(
    "the integrator feeds energy into the motion",
    "run a free swing without friction: run.audit() shows the drift",
    "a shorter step, rk4, implicit-midpoint or variational",
    ("step-energy",),
)
SINGULAR = Cause(
    "a joint moves next to no inertia",
    "look at the smallest eigenvalue of M with a unit diagonal",
    "state the inertia, or a rotor",
    ("mass-missing", "mass-matrix", "inertia-missing", "mass-condition"),
)
BASE = Cause(
    "the base is fixed where it should be free, or the reverse",
    "print robot.nq and robot.nv: a free base has 7 and 6 more",
    "load(…, base='free') or base='fixed'",
    ("base", "expected-sizes"),
)
SLIDING = Cause(
    "the friction coefficient of the ground is too low, or contact normals are wrong",
    "log ‖F_t‖ / (μ F_n) of every contact: above 1 the foot slides",
    "raise μ to 0.6 or more; check the normals",
    ("contact",),
)
WEAK = Cause(
    "motors are too weak for what is asked",
    "compare the torques of the motion with effort limits: dalembert size",
    "a smaller payload or acceleration, or larger motors",
    ("headroom",),
)
LIMITS = Cause(
    "joint limits are missing, in degrees, or empty",
    "dalembert info lists them",
    "state lower and upper in rad or m",
    ("limits-missing", "limits-degrees", "limits-empty", "limits-speed"),
)
BANDWIDTH = Cause(
    "the controller is faster than the structure",
    "lower the gains fourfold: if the oscillation goes away, this was it",
    "a bandwidth below a fifth of the first resonance, damping ratio about 1",
    ("controller",),
)

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "inverse-dynamics torque too small at high acceleration",
        "torque small low fast acceleration accelerate dynamic underestimated feedforward peak quick",
        (INERTIAS, ROTOR, MASSES),
    ),
    Symptom(
        "inverse-dynamics torque too small at low speed",
        "torque small low slow speed velocity stick slip friction creep backlash tracking start",
        (FRICTION, MASSES),
    ),
    Symptom(
        "forward simulation explodes after a few seconds",
        "simulation explodes explosion blows up diverges unstable infinite crash energy grows",
        (STIFF, INJECTING, SINGULAR, INERTIAS),
    ),
    Symptom(
        "quaternion drifts off unit norm",
        "quaternion norm unit drift normalise normalize orientation rotation matrix orthogonal",
        (
            Cause(
                "the quaternion is integrated as four numbers",
                "print its norm after every step",
                "robot.integrate(q, v, dt), or robot.normalize(q) after each step",
            ),
        ),
    ),
    Symptom(
        "position drifts during a hold",
        "drift drifts hold still sinks sag rises static position standing gravity compensation falls",
        (GRAVITY_VECTOR, MASSES, WEAK, FRICTION),
    ),
    Symptom(
        "legged robot drifts sideways on flat ground",
        "legged sideways slides slips ground feet foot skid flat quadruped biped walking",
        (SLIDING, AXIS, MASSES),
    ),
    Symptom(
        "tracking error grows with speed",
        "tracking error speed velocity faster grows lag follow",
        (CORIOLIS, INERTIAS, FRICTION, BANDWIDTH),
    ),
    Symptom(
        "operational-space controller blows up near a singularity",
        "operational space singularity singular cartesian osc inverse jacobian task end effector",
        (
            Cause(
                "the task inertia (J M⁻¹ Jᵀ)⁻¹ is ill-conditioned there",
                "cond of J M⁻¹ Jᵀ along the motion; cond(M) itself does not change near singularities",
                "damped least squares, damping=0.05 in the operational functions",
                ("mass-condition",),
            ),
            SINGULAR,
        ),
    ),
    Symptom(
        "whole-body QP infeasible",
        "qp infeasible whole body solver constraint optimisation optimization no solution",
        (
            WEAK._replace(text="torque limits conflict with the tasks"),
            SLIDING._replace(text="friction cones conflict with the tasks"),
        ),
    ),
    Symptom(
        "joint passes its mechanical stop in simulation",
        "joint stop limit passes past through penetrates beyond end range",
        (
            LIMITS,
            Cause(
                "the stop is a soft spring, or none: limits are not enforced unless asked for",
                "look at how far it goes through for twice the stiffness",
                "elements.SoftLimit stiffer, or HardStop",
            ),
        ),
    ),
    Symptom(
        "floating robot accelerates up off the ground",
        "floating base accelerates up takes off flies jumps ground upward lifts",
        (GRAVITY_VECTOR, MASSES._replace(text="the mass of the base is too low"), BASE, STIFF),
    ),
    Symptom(
        "attitude overshoots with spinning wheels",
        "attitude overshoots satellite spacecraft reaction wheel gyroscopic spinning rotor gyroscope",
        (
            CORIOLIS._replace(
                text="the gyroscopic term ω × Iω is missing",
                fix="bias(q, v) contains it; model the wheels as bodies with joints",
            ),
            INERTIAS,
        ),
    ),
    Symptom(
        "inverse dynamics gives NaN",
        "nan not a number inverse dynamics invalid none missing value filter estimator",
        (
            Cause(
                "velocities or accelerations from upstream contain NaN",
                "np.isfinite of q, v and a, row by row",
                "clean them where they come from; check=True names the argument",
                ("log-finite",),
            ),
            SINGULAR,
        ),
    ),
    Symptom(
        "identified inertias are not physical",
        "identified identification negative inertia mass diagonal physical regression parameters sdp",
        (
            Cause(
                "the motion does not excite all parameters",
                "the condition of the regressor of the base parameters",
                "an exciting motion: Fourier series on every joint, 200 Hz, 60 s",
                ("log-excites",),
            ),
            Cause(
                "the regression has no constraint of physical consistency",
                "robot.with_parameters(pi).problems lists the bodies",
                "constrain the pseudo-inertia to be positive definite",
                ("inertia-possible",),
            ),
        ),
    ),
    Symptom(
        "contact wrench or ZMP outside the support polygon",
        "zmp support polygon contact wrench outside tips over falls balance infeasible reference",
        (
            Cause(
                "the reference motion is not feasible",
                "robot.zero_moment_point along the motion against the feet",
                "plan again with the support polygon as a constraint",
            ),
            MASSES,
            BASE,
        ),
    ),
)
