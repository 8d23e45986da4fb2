"""How well the laws of contact are kept, step by step, beside MuJoCo: one table of residuals.

`python benchmarks/contact_laws.py`; needs MuJoCo (pip install mujoco). All at 2 ms with default settings, friction 0.6.

    Signorini           depth of penetration [m]
    complementarity     normal force times gap [J]
    dissipation         what friction takes less than it could, |µ F_n |u_t| + F_t · u_t| [W]
    cone                |F_t| beyond µ F_n [N]

Each is zero in an exact solution; (largest over all steps and points, mean). Velocities are those at the end of a step,
with the forces that acted in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dalembert import Contact, ModelBuilder, Robot
from dalembert.shapes import Box

STEP, G, MU, SIDE = 2e-3, 9.81, 0.6, 0.2
LAWS = ("signorini", "complementarity", "dissipation", "cone")
SETTINGS = {
    "MuJoCo, default": '<option timestep="0.002"/>',
    "MuJoCo, elliptic, impratio 100": '<option timestep="0.002" cone="elliptic" impratio="100"/>',
}


class Scene(NamedTuple):
    """Loose boxes of these masses one above the other; gravity (3,); where the lowest begins, its turn and velocity."""

    masses: tuple[float, ...]
    duration: float
    slope: float = 0.0  # tangent of the angle by which gravity leans towards x
    height: float = 0.5 * SIDE
    quaternion: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    velocity: tuple[float, ...] = (0.0,) * 6  # ω, v, in body axes

    @property
    def gravity(self) -> tuple[float, float, float]:
        angle = np.arctan(self.slope)
        return (G * np.sin(angle), 0.0, -G * np.cos(angle))

    @property
    def starts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(q (7,), v (6,)) of each box."""
        for k in range(len(self.masses)):
            yield np.array([0.0, 0.0, self.height + k * SIDE, *self.quaternion]), np.array(self.velocity)


SCENES = {
    "box slides at 3 m/s until it stops": Scene((1.0,), 0.8, velocity=(0, 0, 0, 3.0, 0, 0)),
    "box held on a slope of 0.95 µ": Scene((1.0,), 1.0, slope=0.95 * MU),
    "box slides down a slope of 1.5 µ": Scene((1.0,), 1.0, slope=1.5 * MU),
    "box thrown, tumbling": Scene(
        (1.0,), 1.5, height=0.5, quaternion=(0.8, 0.36, 0.48, 0.0), velocity=(3.0, 2.0, 1.0, 2.0, 0.5, 0.0)
    ),
    "1000 kg on 1 kg": Scene((1.0, 1000.0), 0.5),
}


def ours(scene: Scene) -> dict[str, tuple[float, float]]:
    builder = ModelBuilder("boxes", gravity=scene.gravity)
    for k, mass in enumerate(scene.masses):
        inertia = np.eye(3) * mass * SIDE**2 / 6.0
        builder.add_body(f"box{k}", parent="world", joint="free", mass=mass, inertia=inertia)
        builder.add_geometry(Box([SIDE] * 3), body=f"box{k}", role="collision")
    robot: Robot = builder.build()
    pairs = [("box0", "ground"), *((f"box{k}", f"box{k + 1}") for k in range(len(scene.masses) - 1))]
    q, v = (np.concatenate(parts) for parts in zip(*scene.starts, strict=True))
    run = robot.simulate(q, v, scene.duration, step=STEP, record=STEP, contact=Contact(friction=MU, pairs=pairs))
    return run.contacts.table


def theirs(scene: Scene, option: str) -> dict[str, tuple[float, float]]:
    """The same numbers of MuJoCo: forces of each step, velocities at its end, axes where they were found."""
    import mujoco

    bodies = "".join(
        f'<body><freejoint/><geom type="box" size="{SIDE / 2} {SIDE / 2} {SIDE / 2}" mass="{mass}"/></body>'
        for mass in scene.masses
    )
    x, y, z = scene.gravity
    text = f"""<mujoco>{option}<option gravity="{x} {y} {z}"/><default><geom friction="{MU} 0 0"/></default><worldbody>
    <geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for k, (q, v) in enumerate(scene.starts):
        data.qpos[7 * k : 7 * k + 7] = q
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, np.asarray(q[3:]))
        data.qvel[6 * k : 6 * k + 3], data.qvel[6 * k + 3 : 6 * k + 6] = rotation.reshape(3, 3) @ v[3:], v[:3]
    rows: dict[str, list[float]] = {law: [] for law in LAWS}
    points = 8 * len(scene.masses)  # corners: those that are not near count as kept
    steps = round(scene.duration / STEP)
    for _ in range(steps):
        mujoco.mj_step(model, data)
        for k in range(data.ncon):
            residuals = _of_contact(mujoco, model, data, k)
            for law in LAWS:
                rows[law].append(residuals[law])
    return {law: (max(rows[law], default=0.0), sum(rows[law]) / (steps * points)) for law in LAWS}


def _of_contact(mujoco: Any, model: Any, data: Any, k: int) -> dict[str, float]:
    contact, wrench = data.contact[k], np.zeros(6)
    mujoco.mj_contactForce(model, data, k, wrench)
    axes = contact.frame.reshape(3, 3)
    u = np.zeros(3)
    for sign, geom in ((1.0, contact.geom2), (-1.0, contact.geom1)):
        J = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, J, None, contact.pos, model.geom_bodyid[geom])
        u += sign * (axes @ (J @ data.qvel))
    normal, tangents = wrench[0], wrench[1:3]
    slip = float(np.linalg.norm(u[1:]))
    return {
        "signorini": max(-contact.dist, 0.0),
        "complementarity": normal * max(contact.dist, 0.0),
        "dissipation": abs(MU * normal * slip + tangents @ u[1:]),
        "cone": max(float(np.linalg.norm(tangents)) - MU * normal, 0.0),
    }


def main() -> None:
    print("| | Signorini [m] | complementarity [J] | dissipation [W] | cone [N] |\n|---|--:|--:|--:|--:|")
    for name, scene in SCENES.items():
        print(f"| **{name}** | | | | |")
        engines = {"dalembert": ours(scene)}
        try:
            engines |= {engine: theirs(scene, option) for engine, option in SETTINGS.items()}
        except ImportError:
            print("| MuJoCo is missing: pip install mujoco | | | | |")
        for engine, table in engines.items():
            print(f"| {engine} | " + " | ".join("{:.0e}, {:.0e}".format(*table[law]) for law in LAWS) + " |")


if __name__ == "__main__":
    main()
