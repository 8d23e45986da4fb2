"""The same policy on the same robot in MuJoCo: a check of the simulation by another one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError

from .observing import GROUP
from .playing import Played, play
from .state import Foot, base_of

if TYPE_CHECKING:
    from .environment import Environment

DEFAULT_FRICTION = 0.6


@dataclass(frozen=True)
class Twin:
    """Motions of one policy here and in MuJoCo, from the same start with the same command.

    here, mujoco: `Played`, each of one environment. Printed: speeds of the base and where it ended, side by side.
    """

    here: Played
    mujoco: Played
    command: dict[str, tuple[float, ...]]
    floating: bool

    def speed(self, played: Played) -> np.ndarray:
        """Mean velocity (3,) of the base: forward, left [m/s], turning [rad/s], after the first second."""
        later = played.t > min(1.0, 0.5 * played.t[-1])
        return played.v[0][later][:, [3, 4, 2]].mean(axis=0)

    def __str__(self) -> str:
        seconds = self.here.t[-1]
        lines = [f"{'':28s}{'here':>12s}{'MuJoCo':>12s}"]
        rows: list[tuple[str, Any, Any]] = []
        if self.floating:
            a, b = self.speed(self.here), self.speed(self.mujoco)
            names = ("forward [m/s]", "left [m/s]", "turning [rad/s]")
            rows += [(f"mean speed {name}", x, y) for name, x, y in zip(names, a, b, strict=True)]
            height = [p.q[0, :, 2].mean() for p in (self.here, self.mujoco)]
            rows.append(("mean height of base [m]", *height))
        rows.append(("reward per second", *(p.reward.sum() / seconds for p in (self.here, self.mujoco))))
        rows.append(("terminated at [s]", self.here.ended[0], self.mujoco.ended[0]))
        first = np.abs(self.here.q[0] - self.mujoco.q[0]).max(axis=1)
        lines += [f"{name:28s}{x:12.4g}{y:12.4g}" for name, x, y in rows]
        apart = f"{first[0]:.2g} after {self.here.t[0]:g} s, {first[-1]:.2g} after {seconds:g} s"
        lines.append(f"largest difference of q: {apart}")
        return "\n".join(lines)

    __repr__ = __str__


def mujoco_twin(
    env: Environment,
    policy: Callable[[Any], Any] | None = None,
    *,
    seconds: float = 10.0,
    seed: int = 0,
    command: Any = None,
    path: str | Path | None = None,
) -> Twin:
    """Run a policy (observations (n, size) → actions) here and in MuJoCo on the same file, and print the difference.

    Without noise, delays and random parameters, from the same start. path: the robot's MJCF file; default the robot
    written as one. The ground is level. command: by name, default what is drawn.
    """
    quiet = _quiet(env)
    held = {name: tuple(map(float, np.atleast_1d(x))) for name, x in dict(command or {}).items()}
    vec = quiet.vector(1, seed=seed, autoreset="disabled")
    vec.reset()
    if not held:
        held = {name: tuple(x[0].tolist()) for name, x in vec.commands.items()}
    here = play(quiet, policy, seconds=seconds, seed=seed, command=held)
    there = _Mujoco(quiet, path).played(vec.state(), policy, round(seconds / env.period), held)
    twin = Twin(here, there, held, env.robot.model.bodies[base_of(env.robot.model)].joint.nv == 6)
    print(twin)
    return twin


def _quiet(env: Environment) -> Environment:
    """The environment without noise, delays, random parameters and pushes."""
    from dataclasses import replace

    groups = {
        group: {name: replace(x, noise=0.0, delay=(x.delay[0], x.delay[0])) for name, x in entries.items()}
        for group, entries in env.observing.groups.items()
    }
    action = replace(env.action, delay=env.drive.delay[0])
    if env.terrain is not None:
        raise DalembertError("mujoco_twin: the environment has a terrain, expected level ground")
    observe = groups[GROUP] if env.observing.flat else groups
    return env.replace(observe=observe, action=action, randomize=None, events=(), episode=None)


class _Mujoco:
    """The robot in MuJoCo, driven as the environment drives it."""

    def __init__(self, env: Environment, path: str | Path | None) -> None:
        try:
            import mujoco
        except ImportError:
            raise DalembertError("mujoco_twin: MuJoCo is not installed: pip install 'dalembert[mjcf]'") from None
        self.env, self.library = env, mujoco
        if path is None:
            with tempfile.TemporaryDirectory() as folder:
                written = Path(folder) / "robot.xml"
                env.robot.save(written, approximate=True)
                spec = mujoco.MjSpec.from_file(str(written))
                model = self._grounded(spec)
        else:
            model = self._grounded(mujoco.MjSpec.from_file(str(path)))
        self.model, self.data = model, mujoco.MjData(model)
        self.places = [self._place(body.joint, body) for body in env.robot.model.independent if body.joint.nv]

    def _grounded(self, spec: Any) -> Any:
        """The compiled model with a floor and the step of the physics."""
        mujoco, contact = self.library, self.env.contact
        spec.option.timestep = self.env.step
        friction = contact.friction if contact is not None and isinstance(contact.friction, float) else DEFAULT_FRICTION
        if contact is not None and not any(g.type == mujoco.mjtGeom.mjGEOM_PLANE for g in spec.geoms):
            floor = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
            floor.pos[2] = contact.ground if isinstance(contact.ground, float) else 0.0
        for geom in spec.geoms:
            geom.friction[0], geom.priority = friction, 0
        model = spec.compile()
        if contact is None:
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        model.actuator_gainprm[:], model.actuator_biasprm[:] = 0.0, 0.0  # torques are applied at the joints
        return model

    def _place(self, joint: Any, body: Any) -> tuple[slice, slice, slice, slice, bool]:
        """(q here, v here, q there, v there, free) of a joint."""
        number = self.library.mj_name2id(self.model, self.library.mjtObj.mjOBJ_JOINT, joint.name)
        if number < 0:
            raise DalembertError(f"mujoco_twin: MuJoCo's model has no joint {joint.name!r}")
        q, v = int(self.model.jnt_qposadr[number]), int(self.model.jnt_dofadr[number])
        return body.q, body.v, slice(q, q + joint.nq), slice(v, v + joint.nv), joint.nv == 6

    def put(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set the state."""
        for here_q, here_v, there_q, there_v, free in self.places:
            self.data.qpos[there_q] = q[here_q]
            part = v[here_v]
            self.data.qvel[there_v] = np.concatenate([_rotation(q[here_q][3:]) @ part[3:], part[:3]]) if free else part
        self.library.mj_forward(self.model, self.data)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """q, v as they are written here."""
        q, v = np.zeros(self.env.robot.nq), np.zeros(self.env.robot.nv)
        for here_q, here_v, there_q, there_v, free in self.places:
            q[here_q] = self.data.qpos[there_q]
            part = self.data.qvel[there_v]
            v[here_v] = np.concatenate([part[3:], _rotation(q[here_q][3:]).T @ part[:3]]) if free else part
        return q, v

    def apply(self, tau: np.ndarray) -> None:
        """Forces of the joints (nv,) for the next step."""
        for _, here_v, _, there_v, free in self.places:
            self.data.qfrc_applied[there_v] = 0.0 if free else tau[here_v]

    def forces(self) -> dict[str, np.ndarray]:
        """Contact force (3,) on each foot in world axes [N]."""
        mujoco, names = self.library, self.env.stepping.parts.feet.names
        out = {name: np.zeros(3) for name in names}
        ids = {mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name): name for name in names}
        wrench = np.zeros(6)
        for k in range(self.data.ncon):
            contact = self.data.contact[k]
            mujoco.mj_contactForce(self.model, self.data, k, wrench)
            force = contact.frame.reshape(3, 3).T @ wrench[:3]
            for geom, sign in ((contact.geom[0], -1.0), (contact.geom[1], 1.0)):
                name = ids.get(int(self.model.geom_bodyid[geom]))
                if name is not None:
                    out[name] += sign * force
        return out

    def played(self, start: dict[str, np.ndarray], policy: Any, steps: int, command: dict[str, Any]) -> Played:
        """The motion of a policy from a state of the environment."""
        env, stepping = self.env, self.env.stepping
        x = {name: np.array(part[0], float) for name, part in start.items() if not name.startswith("last ")}
        x["command"] = np.concatenate([np.zeros(0), *(np.asarray(command[n], float) for n in stepping.command_sizes)])
        q, v = x["q"], x["e"][: env.robot.nv]
        self.put(q, v)
        feet = {name: Foot(np.zeros(3), 0.0, 0.0, 0.0, 0.0) for name in stepping.parts.feet.names}
        still, n = np.zeros(env.robot.nv), env.drive.size
        s = self._seen(q, v, still, still, x | {"previous": np.zeros(n)}, feet)
        obs, kept = stepping.parts.observing.first(s, _silent())
        x |= {name: np.asarray(part, float) for name, part in kept.items()}
        rows: dict[str, list[Any]] = {"q": [], "v": [], "action": [], "reward": []}
        ended, group = np.inf, next(iter(env.observing.groups))
        for k in range(steps):
            shown = np.asarray(obs[group], np.float32)[None]
            action = np.zeros(n) if policy is None else np.asarray(policy(shown), float)[0]
            rows["action"].append(action)
            action = np.asarray(env.drive.bounded(action), float)
            acting, queue = stepping._late(action, x["queue"], float(np.ravel(x["lag"])[0]))
            for _ in range(env.substeps):
                q, before = self.state()
                tau = np.asarray(env.drive.torque(env.robot.model, np.asarray(acting, float), q, before, None), float)
                self.apply(tau)
                self.library.mj_step(self.model, self.data)
            q, v = self.state()
            self.library.mj_forward(self.model, self.data)
            feet, air, touched = stepping.feet_after(self.forces(), x)
            x |= {"steps": np.array([k + 1.0]), "queue": np.asarray(queue, float), "air": np.asarray(air, float)}
            previous, x["action"], x["touched"] = x["action"], action, np.asarray(touched, float)
            s = self._seen(q, v, tau, (v - before) / env.step, x | {"previous": previous}, feet)
            obs, kept = stepping.parts.observing.next(s, _silent(), k + 1.0, x)
            x |= {name: np.asarray(part, float) for name, part in kept.items()}
            terms = [w * float(np.ravel(f(s))[0]) * env.period for w, f in env.rewards.values()]
            if np.isinf(ended) and any(bool(np.ravel(f(s))[0]) for f in env.done.values()):
                ended = (k + 1) * env.period
            for name, value in (("q", q), ("v", v), ("reward", sum(terms))):
                rows[name].append(value)
        t = env.period * np.arange(1, steps + 1)
        q, v, actions, rewards = (np.array(rows[name])[None] for name in ("q", "v", "action", "reward"))
        return Played(t, q, v, actions, rewards, np.array([ended]))

    def _seen(self, q: Any, v: Any, tau: Any, acceleration: Any, x: dict[str, Any], feet: Any) -> Any:
        """The state s that functions see, of MuJoCo's numbers."""
        return self.env.stepping.seen(self.env.robot.model, q, v, tau, acceleration, x, feet)


def _silent() -> Any:
    """A stream for environments that draw nothing."""
    from dalembert.study.distributions.stream import Stream

    return Stream(0.0, 0.0)


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    """The rotation of a unit quaternion w, x, y, z."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
