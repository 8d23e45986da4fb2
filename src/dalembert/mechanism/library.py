"""Mechanisms that come with the package, built from published dimensions. `dalembert.load` knows them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import unknown

from .definition import Mechanism

XY = (0.0, -9.81, 0.0)  # gravity of mechanisms in the x-y plane


def add_bar(m: Mechanism, name: str, length: float, mass: float, **options: Any) -> None:
    """A slender bar from its point "a" to its point "b", a hundredth of its length thick."""
    about = mass * length**2 / 12.0
    points = {"a": (-0.5 * length, 0.0), "b": (0.5 * length, 0.0)}
    m.body(name, mass, [about * 1e-2, about, about], points=points, **options)


def slider_crank() -> Mechanism:
    """A crank of 0.15 m turning at 20 rad/s, a rod of 0.4 m, a slider of 1 kg."""
    m = Mechanism("slider-crank", gravity=XY)
    m.ground(A=(0.0, 0.0))
    side = 0.03
    for name, length in (("crank", 0.15), ("rod", 0.4)):
        mass = 1000.0 * length * side**2
        moments = mass / 12.0 * np.array([2.0 * side**2, length**2 + side**2, length**2 + side**2])
        m.body(name, mass, moments, points={"a": (-0.5 * length, 0.0), "b": (0.5 * length, 0.0)})
    m.body("slider", 1.0, [1.0 / 600.0] * 3)
    m.joint("revolute", "ground.A", "crank.a", name="pivot", start=0.0, rate=20.0)
    m.joint("point-on-line", "crank.b", "rod.a", name="pin")
    m.joint("revolute", "rod.b", "slider.origin", name="wrist")
    m.joint("prismatic", "ground.A", "slider.origin", name="guide", axis=(1.0, 0.0, 0.0))
    return m


def andrews() -> Mechanism:
    """Andrews' squeezer: seven bodies, three loops, a spring and a motor; numbers of the IVP test set.

    Mazzia and Magherini, Test Set for Initial Value Problem Solvers; angles are those of the source, in the plane.
    """
    masses = (0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498)
    moments = (2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    beta, theta, gamma, phi, delta, omega, epsilon = (
        -0.06171389001427645, 0.0, 0.45527981916307037, 0.22266839016588588, 0.48736497954384256,
        -0.22266839016588588, 1.2305474445498212,
    )  # fmt: skip
    m = Mechanism("andrews", gravity=(0.0, 0.0, 0.0))
    m.ground(O=(0, 0), A=(-0.06934, -0.00227), B=(-0.03635, 0.03273), C=(0.014, 0.072))
    points: dict[str, dict[str, Any]] = {  # of each body, from its centre of mass along its own axes
        "K1": {"O": (-0.00092, 0), "F": (0.007 - 0.00092, 0)},
        "K2": {"F": (0.0115, 0), "E": (0.0115 - 0.028, 0)},
        "K3": {"B": (-0.01043, 0.01874), "E": (-0.01043, 0.01874 - 0.035), "D": (-0.01043 + 0.02, 0.01874 - 0.018)},
        "K4": {"G": (0, 0.02 - 0.01421), "E": (0, -0.01421)},
        "K5": {"A": (-0.00916, -0.02308), "G": (-0.00916 + 0.04, -0.02308)},
        "K6": {"H": (0.01421 - 0.02, 0), "E": (0.01421, 0)},
        "K7": {"A": (-0.01228, -0.00449), "H": (-0.01228, -0.00449 - 0.04)},
    }
    angles = (beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon)
    for (name, named), mass, moment, angle in zip(points.items(), masses, moments, angles, strict=True):
        m.body(name, mass, [moment] * 3, points=named, angle=angle)
    m.joint("revolute", "ground.O", "K1.O", name="beta", start=beta)
    m.joint("revolute", "K1.F", "K2.F", name="theta", start=theta)
    m.joint("revolute", "ground.B", "K3.B", name="gamma")
    m.joint("revolute", "ground.A", "K5.A", name="delta")
    m.joint("revolute", "ground.A", "K7.A", name="epsilon")
    m.joint("revolute", "K5.G", "K4.G", name="phi")
    m.joint("revolute", "K7.H", "K6.H", name="omega")
    for body in ("K3", "K4", "K6"):
        m.joint("point-on-line", "K2.E", f"{body}.E", name=f"E of {body}")
    m.spring("K3.D", "ground.C", stiffness=4530.0, length=0.07785, name="spring")
    m.motor("beta", 0.033, name="motor")
    return m


def pendulum() -> Mechanism:
    """A point mass of 1 kg on a massless rod of 1 m, let go level (A01)."""
    m = Mechanism("pendulum", gravity=XY)
    m.body("bob", 1.0, [1e-9] * 3, xyz=(-1.0, 0.0), points={"pivot": (1.0, 0.0)})
    m.joint("revolute", "ground.origin", "bob.pivot", name="pivot", start=0.0)
    return m


def double_four_bar() -> Mechanism:
    """Two four-bars side by side of bars of 1 m and 1 kg, through positions in which all bars lie in one line (A02)."""
    m = Mechanism("double-four-bar", gravity=XY)
    for k in range(3):
        m.point("ground", f"p{k}", (float(k), 0.0))
        add_bar(m, f"rocker{k}", 1.0, 1.0, xyz=(float(k), 0.5), angle=0.5 * np.pi)
    for k in range(2):
        add_bar(m, f"coupler{k}", 1.0, 1.0, xyz=(k + 0.5, 1.0), angle=0.0)
    m.joint("revolute", "ground.p0", "rocker0.a", name="A0", start=0.5 * np.pi, rate=-1.0)
    for k in (1, 2):
        m.joint("revolute", f"ground.p{k}", f"rocker{k}.a", name=f"A{k}")
    for k in range(2):
        m.joint("revolute", f"rocker{k}.b", f"coupler{k}.a", name=f"B{k}")
        m.joint("point-on-line", f"coupler{k}.b", f"rocker{k + 1}.b", name=f"C{k}")
    return m


def bricard() -> Mechanism:
    """Bricard's loop of six hinges between bars of 1 m and 1 kg: it moves, and by counting it should not (A04)."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
    steps = np.roll(corners, -1, axis=0) - corners
    m = Mechanism("bricard", gravity=XY)
    for k in range(5):
        along = np.abs(steps[k])
        ends = {"a": tuple(-0.5 * steps[k]), "b": tuple(0.5 * steps[k])}
        m.body(f"bar{k}", 1.0, (1.0 - 0.99 * along) / 12.0, points=ends, xyz=corners[k] + 0.5 * steps[k])
    m.ground(a=(0, 0, 1.0), b=(0, 0, 0))
    for k in range(6):
        axis = np.cross(steps[k - 1], steps[k])
        before, after = ("ground.b" if k == 0 else f"bar{k - 1}.b"), ("ground.a" if k == 5 else f"bar{k}.a")
        m.joint("revolute", before, after, name=f"hinge{k}", axis=axis)
    return m


def governor() -> Mechanism:
    """A flyball governor: a spindle, two arms with balls, rods to a sleeve on a spring, turning freely (A05)."""
    m = Mechanism("governor", gravity=(0.0, 0.0, -9.81))
    m.ground(top=(0, 0, 0))
    m.body("spindle", 5.0, [0.2, 0.2, 0.05])
    m.joint("revolute", "ground.top", "spindle.origin", name="spindle", start=0.0, rate=16.0)
    m.body("sleeve", 3.0, [0.02, 0.02, 0.02], points={"left": (-0.05, 0, 0), "right": (0.05, 0, 0)})
    m.joint("prismatic", "spindle.origin", "sleeve.origin", name="slide", start=-0.72)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        m.point("spindle", side, (0.05 * sign, 0, 0))
        m.body(
            f"{side} arm", 1.0, [0.02, 0.02, 0.001], com=(0, 0, -0.25), points={"top": (0, 0, 0), "elbow": (0, 0, -0.4)}
        )
        m.body(f"{side} ball", 4.0, [0.01] * 3, points={"arm": (0, 0, 0.1)})
        m.body(f"{side} rod", 0.5, [0.01, 0.01, 0.0005], points={"top": (0, 0, 0.2), "foot": (0, 0, -0.2)})
        m.joint("revolute", f"spindle.{side}", f"{side} arm.top", name=f"{side} shoulder", axis=(0, -sign, 0))
        m.joint("fixed", f"{side} arm.elbow", f"{side} ball.arm", name=f"{side} ball")
        m.joint("revolute", f"{side} arm.elbow", f"{side} rod.top", name=f"{side} elbow", axis=(0, -sign, 0))
        m.joint("revolute", f"{side} rod.foot", f"sleeve.{side}", name=f"{side} foot", axis=(0, -sign, 0))
    m.point("spindle", "seat", (0, 0, -1.2))
    m.spring("sleeve.origin", "spindle.seat", stiffness=800.0, length=0.45, damping=30.0, name="spring")
    return m


def watt() -> Mechanism:
    """Watt's linkage: the middle of the coupler is led along a straight line."""
    m = Mechanism("watt", gravity=(0, 0, 0))
    m.ground(left=(-0.5, 0.1), right=(0.5, -0.1))
    add_bar(m, "left", 0.5, 1.0, xyz=(-0.25, 0.1), angle=0.0)
    add_bar(m, "right", 0.5, 1.0, xyz=(0.25, -0.1), angle=np.pi)
    add_bar(m, "coupler", 0.2, 1.0, xyz=(0.0, 0.0), angle=-0.5 * np.pi)
    m.joint("revolute", "ground.left", "left.a", name="drive", start=0.0, rate=1.0)
    m.joint("revolute", "left.b", "coupler.a", name="upper")
    m.joint("revolute", "ground.right", "right.a", name="guide")
    m.joint("revolute", "coupler.b", "right.b", name="lower")
    return m


def cam_drive() -> Mechanism:
    """A cam that lifts its follower by 20 mm, (1 − cos) rise, with a return spring."""
    m = Mechanism("cam-drive", gravity=(0.0, 0.0, -9.81))
    m.body("cam", 2.0, [0.005, 0.005, 0.01])
    m.body("follower", 0.3, [1e-4] * 3)
    m.joint("revolute", "ground.origin", "cam.origin", name="cam", axis=(0, 1, 0), start=0.0, rate=30.0)
    m.joint("prismatic", "ground.origin", "follower.origin", name="follower", axis=(0, 0, 1))
    m.cam("cam", "follower", lift=lambda angle: 0.01 * (1.0 - np.cos(angle)), name="lift")
    m.spring("follower", stiffness=2000.0, rest=-0.01, name="return spring")
    return m


def planetary() -> Mechanism:
    """A planetary gear: sun of 24, planets of 18, ring of 60 teeth that is held; the carrier turns 24/84 as fast."""
    m = Mechanism("planetary", gravity=(0, 0, 0))
    m.body("sun", 0.5, [2e-4, 2e-4, 4e-4])
    m.body("carrier", 1.0, [1e-3, 1e-3, 2e-3], points={"pin": (0.042, 0)})
    m.body("planet", 0.3, [1e-4, 1e-4, 2e-4])
    m.body("ring", 2.0, [5e-3, 5e-3, 1e-2])
    m.joint("revolute", "ground.origin", "sun.origin", name="sun", start=0.0, rate=10.0)
    m.joint("revolute", "ground.origin", "carrier.origin", name="carrier")
    m.joint("revolute", "carrier.pin", "planet.origin", name="planet")
    m.joint("revolute", "ground.origin", "ring.origin", name="ring", start=0.0, rate=0.0)
    m.gear("sun", "planet", teeth=(24, 18), carrier="carrier", name="sun mesh")
    m.gear("ring", "planet", teeth=(60, 18), carrier="carrier", internal=True, name="ring mesh")
    return m


def differential() -> Mechanism:
    """A bevel differential: the case turns with the mean of its two shafts."""
    m = Mechanism("differential", gravity=(0, 0, 0))
    m.body("case", 4.0, [0.02, 0.02, 0.03], points={"cross": ((0, 0, 0), (0.0, 0.5 * np.pi, 0.0))})
    m.body("left", 1.0, [2e-3] * 3)
    m.body("right", 1.0, [2e-3] * 3)
    m.body("pinion", 0.3, [1e-4] * 3)
    m.joint("revolute", "ground.origin", "case.origin", name="case")
    m.joint("revolute", "ground.origin", "left.origin", name="left", start=0.0, rate=3.0)
    m.joint("revolute", "ground.origin", "right.origin", name="right", start=0.0, rate=5.0)
    m.joint("revolute", "case.cross", "pinion.origin", name="pinion")
    m.gear("left", "pinion", teeth=(16, 10), carrier="case", name="left mesh")
    m.gear("right", "pinion", teeth=(16, 10), carrier="case", internal=True, name="right mesh")
    return m


def excavator() -> Mechanism:
    """Boom, stick and bucket, each moved by a hydraulic cylinder, the bucket through a rocker and a link."""
    m = Mechanism("excavator", gravity=(0.0, 0.0, -9.81))
    turn = (0, -1, 0)
    m.ground(boom=(0, 0, 1.2), foot=(0.3, 0, 0.9))
    m.body("boom", 900.0, [50.0, 2500.0, 2500.0], com=(2.0, 0, 0.2),
           points={"eye": (1.8, 0, -0.1), "stick": (4.6, 0, 0), "foot": (2.4, 0, 0.7)})  # fmt: skip
    stick = {"eye": (-0.55, 0, 0.25), "bucket": (2.0, 0, 0), "rocker": (1.6, 0, 0.05), "foot": (0.1, 0, 0.45)}
    m.body("stick", 400.0, [20.0, 300.0, 300.0], com=(0.7, 0, 0.1), points=stick)
    m.body("bucket", 350.0, [60.0, 80.0, 80.0], com=(0.4, 0, -0.2), points={"link": (-0.05, 0, 0.35)})
    m.body("rocker", 40.0, [1.0, 2.0, 2.0], com=(0.25, 0, 0), points={"tip": (0.5, 0, 0)})
    m.body("link", 40.0, [1.0, 2.0, 2.0], com=(0.25, 0, 0), points={"tip": (0.5, 0, 0)})
    m.joint("revolute", "ground.boom", "boom.origin", name="boom", axis=turn, start=0.6)
    m.joint("revolute", "boom.stick", "stick.origin", name="stick", axis=turn, start=-1.4)
    m.joint("revolute", "stick.bucket", "bucket.origin", name="bucket", axis=turn, start=-0.6)
    m.joint("revolute", "stick.rocker", "rocker.origin", name="rocker", axis=turn)
    m.joint("revolute", "rocker.tip", "link.origin", name="crosshead", axis=turn)
    m.joint("revolute", "link.tip", "bucket.link", name="ear", axis=turn)
    m.cylinder("ground.foot", "boom.eye", bore=0.12, rod=0.08, stroke=1.2, damping=4e5, name="boom cylinder")
    m.cylinder("boom.foot", "stick.eye", bore=0.12, rod=0.08, stroke=1.4, damping=3e5, name="stick cylinder")
    m.cylinder("stick.foot", "rocker.tip", bore=0.1, rod=0.07, stroke=1.0, damping=1e5, name="bucket cylinder")
    return m


def delta(angles: tuple[float, float, float] = (0.3, 0.3, 0.3)) -> Mechanism:
    """A delta robot: three arms at `angles` below level [rad], six rods of fixed length to a plate that stays level."""
    base, plate, arm, rod, half = 0.2, 0.05, 0.3, 0.8, 0.06
    m = Mechanism("delta-rods", gravity=(0.0, 0.0, -9.81))
    m.body("plate", 1.0, [2e-3, 2e-3, 4e-3], xyz=(0.0, 0.0, -0.85))
    for k, angle in enumerate(angles):
        turn = 2.0 * np.pi * k / 3.0
        out, across = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([-np.sin(turn), np.cos(turn), 0.0])
        m.point("ground", f"shoulder{k}", base * out, (0.0, 0.0, turn))
        elbows = {side: (arm, sign * half, 0.0) for side, sign in (("left", 1.0), ("right", -1.0))}
        m.body(f"arm{k}", 0.5, [1e-3, 5e-3, 5e-3], com=(0.5 * arm, 0, 0), points=elbows)
        m.joint("revolute", f"ground.shoulder{k}", f"arm{k}.origin", name=f"shoulder{k}", axis=(0, 1, 0), start=angle)
        for side, sign in (("left", 1.0), ("right", -1.0)):
            m.point("plate", f"{side}{k}", plate * out + sign * half * across)
            m.joint("distance", f"arm{k}.{side}", f"plate.{side}{k}", name=f"{side} rod {k}", length=rod)
    return m


def bicycle(speed: float = 5.0) -> Mechanism:
    """Whipple's bicycle with the numbers of a published benchmark, rolling upright along x at `speed` [m/s].

    Meijaard, Papadopoulos, Ruina and Schwab (2007), Linearized dynamics equations for the balance and steer of a
    bicycle: a benchmark and review; here z is up. It steers itself from 4.29 m/s on, and capsizes slowly above 6.02.
    """
    base, trail, tilt, rear, front = 1.02, 0.08, np.pi / 10.0, 0.3, 0.35
    lean = np.array([-np.sin(tilt), 0.0, np.cos(tilt)])
    head = np.array([base + trail, 0.0, 0.0]) + 0.9 * lean
    m = Mechanism("bicycle", gravity=(0.0, 0.0, -9.81))
    frame = [[9.2, 0.0, -2.4], [0.0, 11.0, 0.0], [-2.4, 0.0, 2.8]]
    points = {"hub": (0.0, 0.0, rear), "head": head}
    m.body("frame", 85.0, frame, com=(0.3, 0.0, 0.9), points=points, xyz=(0, 0, 0), velocity=(speed, 0, 0))
    fork = [[0.05892, 0.0, 0.00756], [0.0, 0.06, 0.0], [0.00756, 0.0, 0.00708]]
    hub = np.array([base, 0.0, front]) - head
    m.body("fork", 4.0, fork, com=np.array([0.9, 0.0, 0.7]) - head, points={"hub": hub})
    m.body("rear wheel", 2.0, [0.0603, 0.12, 0.0603])
    m.body("front wheel", 3.0, [0.1405, 0.28, 0.1405])
    m.joint("revolute", "frame.head", "fork.origin", name="steer", axis=lean, start=0.0, rate=0.0)
    for wheel, carrier, radius in (("rear", "frame", rear), ("front", "fork", front)):
        m.joint("revolute", f"{carrier}.hub", f"{wheel} wheel.origin", name=f"{wheel} hub", axis=(0, 1, 0), start=0.0,
                rate=speed / radius)  # fmt: skip
        m.wheel(f"{wheel} wheel.origin", radius, name=f"{wheel} contact")
    return m


BUNDLED: dict[str, Callable[[], Mechanism]] = {
    "andrews": andrews,
    "bicycle": bicycle,
    "bricard": bricard,
    "cam-drive": cam_drive,
    "delta-rods": delta,
    "differential": differential,
    "double-four-bar": double_four_bar,
    "excavator": excavator,
    "governor": governor,
    "pendulum": pendulum,
    "planetary": planetary,
    "slider-crank": slider_crank,
    "watt": watt,
}


def mechanism(name: str) -> Mechanism:
    """A bundled mechanism by name."""
    if name not in BUNDLED:
        raise unknown("mechanism", name, BUNDLED, "mechanism")
    return BUNDLED[name]()
