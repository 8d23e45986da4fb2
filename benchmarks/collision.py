"""Signed distances per pair of shapes, beside MuJoCo's mj_geomDistance and coal's distance, in one run.

python benchmarks/collision.py [states]

CPU time of one thread, best of three, for random poses of which about half overlap. The peers are called from Python,
one pair at a time, as people call them; ours takes the whole batch. A peer that is not installed is named: MuJoCo comes
with `pip install mujoco-core`, coal with `pip install coal`.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import dalembert
from dalembert.dynamics.collision import distance, hull
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import Pose, so3

ROCK = hull(np.random.default_rng(7).normal(size=(40, 3)) * [0.2, 0.15, 0.1])
SHAPES = {
    "sphere": Sphere(0.12),
    "capsule": Capsule(0.05, 0.3),
    "box": Box([0.2, 0.3, 0.1]),
    "cylinder": Cylinder(0.1, 0.25),
    "ellipsoid": Ellipsoid([0.2, 0.1, 0.06]),
    "hull": ROCK,
}
PAIRS = [
    ("sphere", "sphere"), ("sphere", "box"), ("capsule", "capsule"), ("capsule", "box"), ("box", "box"),
    ("sphere", "hull"), ("box", "hull"), ("hull", "hull"), ("cylinder", "box"), ("ellipsoid", "ellipsoid"),
]  # fmt: skip


def placements(rng: np.random.Generator, count: int) -> np.ndarray:
    x = rng.normal(size=(count, 7))
    x[:, :3] *= 0.12
    x[:, 3:] /= np.linalg.norm(x[:, 3:], axis=1)[:, None]
    return x


def best(run, count: int) -> float:
    """CPU time of one state [µs]."""
    times = []
    for _ in range(3):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) / count * 1e6


def ours(a: str, b: str, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Time of one state [µs], and the share that overlaps."""

    def compute(x, y):
        X, Y = (Pose(so3.from_quaternion(p[3:]), p[:3]) for p in (x, y))
        w = distance(SHAPES[a], X, SHAPES[b], Y)
        return np.array([w.distance, *w.a, *w.normal])

    call = dalembert.function(compute, dalembert.load("2r"), x=7, y=7)
    overlapping = float((call(x, y, threads=1)[:, 0] < 0.0).mean())
    return best(lambda: call(x, y, threads=1), len(x)), overlapping


def of_mujoco(mujoco, a: str, b: str, x: np.ndarray, y: np.ndarray) -> float:
    bodies = ""
    for k, name in enumerate((a, b)):
        shape = SHAPES[name]
        if name == "hull":
            points = " ".join(map(str, shape.vertices.ravel()))
            bodies += f'<body><freejoint/><geom type="mesh" mesh="m{k}"/></body>'
            mesh = f'<mesh name="m{{}}" vertex="{points}"/>'
        else:
            sizes = {
                "sphere": lambda s: [s.radius],
                "capsule": lambda s: [s.radius, s.length / 2],
                "cylinder": lambda s: [s.radius, s.length / 2],
                "box": lambda s: s.size / 2,
                "ellipsoid": lambda s: s.radii,
            }[name](shape)
            bodies += f'<body><freejoint/><geom type="{name}" size="{" ".join(map(str, sizes))}"/></body>'
    meshes = "".join(mesh.format(k) for k, name in enumerate((a, b)) if name == "hull")
    model = mujoco.MjModel.from_xml_string(f"<mujoco><asset>{meshes}</asset><worldbody>{bodies}</worldbody></mujoco>")
    data, states, fromto = mujoco.MjData(model), [], np.zeros(6)
    for q in np.concatenate([x, y], axis=1):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        states.append((data.geom_xpos.copy(), data.geom_xmat.copy()))

    def run() -> None:
        for position, rotation in states:
            data.geom_xpos[:], data.geom_xmat[:] = position, rotation
            mujoco.mj_geomDistance(model, data, 0, 1, 10.0, fromto)

    return best(run, len(x))


def of_coal(coal, a: str, b: str, x: np.ndarray, y: np.ndarray) -> float:
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    one, two = (coal_shape(coal, SHAPES[name]) for name in (a, b))
    poses = [[coal.Transform3s(so3.from_quaternion(p[3:]), p[:3]) for p in both] for both in zip(x, y, strict=True)]
    result = coal.DistanceResult()

    def run() -> None:
        for X, Y in poses:
            result.clear()
            coal.distance(one, X, two, Y, request, result)

    return best(run, len(x))


def coal_shape(coal, shape):
    match shape:
        case Sphere():
            return coal.Sphere(shape.radius)
        case Capsule():
            return coal.Capsule(shape.radius, shape.length)
        case Cylinder():
            return coal.Cylinder(shape.radius, shape.length)
        case Box():
            return coal.Box(*shape.size)
        case Ellipsoid():
            return coal.Ellipsoid(*shape.radii)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in shape.vertices:
        points.append(vertex)
    for corners in shape.triangles:
        triangles.append(coal.Triangle(*map(int, corners)))
    return coal.Convex(points, triangles)


def peer(name: str):
    try:
        return __import__(name)
    except ImportError:
        print(f"{name} is not installed: its column stays empty")
        return None


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    mujoco, coal = peer("mujoco"), peer("coal")
    rng = np.random.default_rng(0)
    x, y = placements(rng, count), placements(rng, count)
    few = min(count, 1000)
    print(f"{'pair':24}{'overlap':>8}{'ours µs':>10}{'MuJoCo µs':>12}{'coal µs':>10}{'ratios':>16}")
    for a, b in PAIRS:
        own, share = ours(a, b, x, y)
        theirs = [
            f(library, a, b, x[:few], y[:few]) if library else np.nan
            for f, library in ((of_mujoco, mujoco), (of_coal, coal))
        ]
        ratios = " ".join(f"{t / own:7.1f}" for t in theirs)
        print(f"{a + ' - ' + b:24}{share:8.0%}{own:10.3f}{theirs[0]:12.2f}{theirs[1]:10.2f}{ratios:>16}")


if __name__ == "__main__":
    main()
