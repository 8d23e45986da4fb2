"""Every joint type of SDF in a chain, against energies computed from the definition of the joint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms import rnea
from dalembert.errors import DalembertError
from dalembert.formats import read_sdf
from dalembert.model import Model
from formats.sdf.oracle import coriolis, gravity, mass_matrix, placed, rotation, translation
from formats.sdf.snippets import axis, joint, link, model, pose, random_mass, random_pose, unit
from tolerances import ITERATED, RECURSION, assert_close

G = np.array([0.0, 0.0, -9.81])
A, A2 = unit([0.3, -0.5, 0.8]), unit([1.0, 0.4, -0.2])
DIFFERENCES = 1e-8  # of central differences of the mass matrix

# type: what stands in <joint>, and the motion in the joint frame as a function of the coordinates
Motion = Callable[[np.ndarray], np.ndarray]
SCREW_LEAD = 0.05  # [m] per turn
TYPES: dict[str, tuple[str, str, int, Motion]] = {
    "revolute": ("revolute", axis(A), 1, lambda q: rotation(A, q[0])),
    "continuous": ("continuous", axis(A), 1, lambda q: rotation(A, q[0])),
    "prismatic": ("prismatic", axis(A), 1, lambda q: translation(A * q[0])),
    "universal": ("universal", axis(A) + axis(A2, tag="axis2"), 2, lambda q: rotation(A, q[0]) @ rotation(A2, q[1])),
    "revolute2": ("revolute2", axis(A) + axis(A2, tag="axis2"), 2, lambda q: rotation(A, q[0]) @ rotation(A2, q[1])),
    "screw, metres per turn": (
        "screw",
        axis(A) + f"<screw_thread_pitch>{SCREW_LEAD}</screw_thread_pitch>",
        1,
        lambda q: rotation(A, q[0]) @ translation(A * q[0] * SCREW_LEAD / (2 * np.pi)),
    ),
    "screw, radians per metre, left-handed": (
        "screw",
        axis(A) + "<thread_pitch>20</thread_pitch>",
        1,
        lambda q: rotation(A, q[0]) @ translation(-A * q[0] / 20.0),
    ),
    "fixed": ("fixed", "", 0, lambda q: np.eye(4)),
}


def where(made: Model, q: np.ndarray, frame: str) -> np.ndarray:
    return algorithms.frame_pose(made, q, made.frame(frame)).matrix()


class Chain:
    """base, fixed to the world; arm, on a joint of the given type; hand, on a hinge beside its origin."""

    def __init__(self, kind: str, seed: int, version: str = "1.6", offset: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.stated, self.inside, self.count, self.motion = TYPES[kind]
        self.masses = {name: random_mass(rng) for name in ("base", "arm", "hand")}
        self.at = {name: random_pose(rng) for name in ("model", "base", "arm", "hand", "joint", "hinge")}
        self.at["joint"] *= offset
        self.hinge = unit(rng.normal(size=3))
        links = "".join(link(name, mass, self.at[name]) for name, mass in self.masses.items())
        joints = joint("hold", "fixed", "world", "base")
        joints += joint("moves", self.stated, "base", "arm", self.inside + pose(self.at["joint"]))
        joints += joint("hinge", "revolute", "arm", "hand", axis(self.hinge) + pose(self.at["hinge"]))
        # joints before links, children before parents: the order in a file means nothing
        self.text = model(pose(self.at["model"]) + joints + links, version)
        self.nv = self.count + 1

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Of the links in the world: each joint frame is where the file puts it, and turns what it carries."""
        M = placed(self.at["model"])
        base, arm, hand = (M @ placed(self.at[name]) for name in ("base", "arm", "hand"))
        J, H = arm @ placed(self.at["joint"]), hand @ placed(self.at["hinge"])
        moved = J @ self.motion(q[:-1]) @ np.linalg.inv(J)
        turned = moved @ H @ rotation(self.hinge, q[-1]) @ np.linalg.inv(H)
        return {"base": base, "arm": moved @ arm, "hand": turned @ hand}


@pytest.mark.parametrize("offset", [1.0, 0.0], ids=["beside the axis", "on the axis"])
@pytest.mark.parametrize("kind", TYPES)
def test_chain(kind: str, offset: float) -> None:
    chain = Chain(kind, 7, offset=offset)
    made, _ = read_sdf(chain.text, strict=True)
    rng = np.random.default_rng(1)
    assert made.nq == made.nv == chain.nv
    for _ in range(3):
        q, v, a = rng.normal(size=(3, made.nv))
        for name, T in chain.poses(q).items():
            assert_close(where(made, q, name), T, RECURSION)
        moved = (lambda d, q=q: chain.poses(q + d)), {k: chain.masses[k] for k in ("arm", "hand")}
        M, g = mass_matrix(*moved, made.nv), gravity(*moved, made.nv, G)
        assert_close(algorithms.mass_matrix(made, q), M, RECURSION)
        assert_close(rnea(made, q, 0 * v, 0 * a), g, RECURSION)
        assert_close(rnea(made, q, v, a), M @ a + g + coriolis(*moved, v), DIFFERENCES, scale=10.0)


# version, attributes of <xyz>, what else is in <axis>: whether the axis is along the model's axes or the joint's
AXES = {
    "1.4": ("1.4", "", "", "model"),
    "1.5": ("1.5", "", "", "joint"),
    "1.6": ("1.6", "", "", "joint"),
    "1.6 in the model": ("1.6", "", "<use_parent_model_frame>1</use_parent_model_frame>", "model"),
    "1.6 not in the model": ("1.6", "", "<use_parent_model_frame>false</use_parent_model_frame>", "joint"),
    "1.7": ("1.7", "", "", "joint"),
    "1.7 in the model": ("1.7", 'expressed_in="__model__"', "", "model"),
    "1.9 in another link": ("1.9", 'expressed_in="base"', "", "base"),
    "1.11 in a frame": ("1.11", 'expressed_in="f"', "", "frame"),
}


@pytest.mark.parametrize("case", AXES)
def test_which_axes_an_axis_is_written_in(case: str) -> None:
    version, attributes, inside, meant = AXES[case]
    rng = np.random.default_rng(5)
    at = {name: random_pose(rng) for name in ("model", "base", "arm", "joint", "frame")}
    body = random_mass(rng)
    text = pose(at["model"]) + link("base", body, at["base"]) + link("arm", body, at["arm"])
    if meant == "frame":
        text += f'<frame name="f" attached_to="base">{pose(at["frame"])}</frame>'
    text += joint("hold", "fixed", "world", "base")
    text += joint("moves", "revolute", "base", "arm", pose(at["joint"]) + axis(A, inside, attributes=attributes))
    made, _ = read_sdf(model(text, version), strict=True)
    M = placed(at["model"])
    arm = M @ placed(at["arm"])
    J = arm @ placed(at["joint"])
    base = M @ placed(at["base"])
    frames = {"model": M, "joint": J, "base": base, "frame": base @ placed(at["frame"])}
    a = J[:3, :3].T @ frames[meant][:3, :3] @ A
    for q in (0.0, 0.7, -2.0):
        assert_close(where(made, np.array([q]), "arm"), J @ rotation(a, q) @ np.linalg.inv(J) @ arm, RECURSION)


@pytest.mark.parametrize("offset", [1.0, 0.0], ids=["beside", "at"])
def test_ball(offset: float) -> None:
    rng = np.random.default_rng(3)
    body, at, beside = random_mass(rng), random_pose(rng), offset * random_pose(rng)
    made, _ = read_sdf(model(link("arm", body, at) + joint("moves", "ball", "world", "arm", pose(beside))), strict=True)
    assert (made.nq, made.nv) == (4, 3)
    w = np.array([0.4, -0.8, 0.2])
    turn = rotation(w, np.linalg.norm(w))
    arm, J = placed(at), placed(at) @ placed(beside)
    axes = J if offset else arm  # the body lies at the joint frame where that differs from the link's
    q = np.array([np.cos(np.linalg.norm(w) / 2), *(np.sin(np.linalg.norm(w) / 2) * unit(w))])
    C = np.eye(4)
    C[:3, :3], C[:3, 3] = axes[:3, :3], J[:3, 3]

    def poses(d: np.ndarray) -> dict[str, np.ndarray]:
        small = np.eye(4, dtype=complex)
        small[:3, :3] += np.array([[0, -d[2], d[1]], [d[2], 0, -d[0]], [-d[1], d[0], 0]])
        return {"arm": C @ turn @ small @ np.linalg.inv(C) @ arm}

    assert_close(where(made, q, "arm"), poses(np.zeros(3))["arm"].real, RECURSION)
    assert_close(algorithms.mass_matrix(made, q), mass_matrix(poses, {"arm": body}, 3), RECURSION)
    assert_close(rnea(made, q, np.zeros(3), np.zeros(3)), gravity(poses, {"arm": body}, 3, G), RECURSION)


def test_a_model_that_nothing_holds_floats_and_its_q_is_the_pose_of_its_root() -> None:
    rng = np.random.default_rng(4)
    body, at = random_mass(rng), random_pose(rng)
    made, log = read_sdf(model(pose(at) + link("b", body, [0, 0, 0.5, 0, 0, 0])), strict=True)
    assert [made.bodies[0].joint.kind, made.nq] == ["free", 7]
    assert [finding.severity for finding in log] == ["info"]
    q = np.array([float(x) for x in log[0].what.split("= ")[1].split()])
    assert_close(where(made, q, "b"), placed(at) @ translation([0, 0, 0.5]), 10 * ITERATED)
    w, v = rng.normal(size=(2, 3))
    energy = 0.5 * body.mass * (u := v + np.cross(w, body.com)) @ u + 0.5 * w @ body.inertia @ w
    assert_close(algorithms.kinetic_energy(made, q, np.concatenate([w, v])), energy, RECURSION)


def test_base_fixed_and_free_on_demand() -> None:
    rng = np.random.default_rng(6)
    body, at = random_mass(rng), random_pose(rng)
    loose, held = model(link("b", body, at)), model(link("b", body, at) + joint("hold", "fixed", "world", "b"))
    assert read_sdf(loose, base="fixed")[0].nv == read_sdf(held)[0].nv == 0
    assert_close(where(read_sdf(loose, base="fixed")[0], np.zeros(0), "b"), placed(at), RECURSION)
    assert read_sdf(held, base="free")[0].nv == 6


def test_joint_physics() -> None:
    body = random_mass(np.random.default_rng(8))
    dynamics = (
        "<dynamics><damping>0.3</damping><friction>0.2</friction><spring_reference>0.4</spring_reference>"
        "<spring_stiffness>7</spring_stiffness></dynamics>"
    )
    limit = "<limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>-1</velocity></limit>"
    text = link("b", body) + joint("j", "revolute", "world", "b", axis((0, 0, 1), dynamics + limit))
    made, _ = read_sdf(model(text), strict=True)
    bare = made.without("damping", "friction", "springs")
    q, v, a = np.array([1.1]), np.array([0.9]), np.array([0.2])
    added = rnea(made, q, v, a) - rnea(bare, q, v, a)
    assert_close(added, [0.3 * 0.9 + 0.2 * np.tanh(0.9 / 0.01) + 7 * (1.1 - 0.4)], RECURSION)
    found = made.bodies[-1].joint
    assert [found.lower[0], found.upper[0], found.effort_limit[0], found.velocity_limit[0]] == [-1, 2, 30, np.inf]


@pytest.mark.parametrize("unlimited", ["1e16", "inf", "1.79769e+308", "Inf"])
def test_ways_to_write_no_limit(unlimited: str) -> None:
    limit = f"<limit><lower>-{unlimited}</lower><upper>{unlimited}</upper><effort>{unlimited}</effort></limit>"
    text = link("b", random_mass(np.random.default_rng(8))) + joint("j", "revolute", "world", "b", axis(A, limit))
    found = read_sdf(model(text), strict=True)[0].bodies[-1].joint
    assert [found.lower[0], found.upper[0], found.effort_limit[0]] == [-np.inf, np.inf, np.inf]


def test_a_limit_with_two_signs_is_no_number() -> None:
    limit = "<limit><lower>--inf</lower><upper>1</upper></limit>"
    text = link("b", random_mass(np.random.default_rng(8))) + joint("j", "revolute", "world", "b", axis(A, limit))
    with pytest.raises(DalembertError, match="<lower>: value: '--inf'"):
        read_sdf(model(text))


def test_two_axes_have_limits_and_dynamics_of_their_own() -> None:
    def of(k: float) -> str:
        return f"<dynamics><damping>{k}</damping></dynamics><limit><lower>-{k}</lower><upper>{k}</upper></limit>"

    body = random_mass(np.random.default_rng(8))
    inside = axis(A, of(1)) + axis(A2, of(2), "axis2")
    found = read_sdf(model(link("b", body) + joint("j", "universal", "world", "b", inside)), strict=True)[0].bodies[-1]
    assert found.joint.damping.tolist() == [1, 2]
    assert found.joint.lower.tolist() == [-1, -2]
