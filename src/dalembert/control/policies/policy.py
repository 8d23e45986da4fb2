"""Policies as laws: what is observed goes through the network at the policy's rate, and its answer becomes torques."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.errors import DalembertError
from dalembert.math import clip, where
from dalembert.model import motorized, motors_of
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled

from ..laws.law import within_effort
from .contract import Contract
from .network import Network, network
from .observations import Observations

NEEDED = {  # what no policy can do without, in words
    "joints": "joints (names in the order of the action)",
    "period": "period [s] or rate [Hz]",
    "action": "action ('position', 'velocity' or 'torque')",
    "scale": "scale of the action",
    "observe": "observe (entries of the observation in their order)",
}
OF_TARGETS = {
    "position": {"kp": "kp", "kd": "kd", "default": "default (configuration of the joints)"},
    "velocity": {"kd": "kd"},
    "torque": {},
}
PD_PERIOD = "pd_period [s] (of the torques between answers, often the step of the simulation)"


class Policy:
    """The deviation of the targets from their offset: scale · answer, (n,) in the order of the contract's joints.

    state: the last answer, states of the network by name; where there are histories, their earlier samples, and whether
    there was one.
    """

    def __init__(self, network: Network, contract: Contract, observations: Observations, command: Any) -> None:
        self.network, self.contract, self.observations, self.command = network, contract, observations, command
        self.scale = np.array(contract.scale)

    def start(self, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
        """The state at the beginning: no answer, no history, states of the network that are 0."""
        net = {f"network {name}": np.zeros(self.network.sizes[name]) for name in self.network.states}
        kept = self.observations.kept
        history = {"history": np.zeros(kept), "begun": 0.0} if kept else {}
        return {"answer": np.zeros(len(self.scale)), **history, **net}

    def __call__(
        self, t: Any, q: np.ndarray, v: np.ndarray, state: dict[str, Any], command: Any = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        ordered = self.command if command is None else command
        ordered = np.asarray(ordered(t) if callable(ordered) else ordered).reshape(-1)
        if len(ordered) != self.observations.command:
            raise DalembertError(
                f"{self.network}: command has {len(ordered)} numbers, expected {self.observations.command}"
            )
        parts = self.observations.sample(t, q, v, state["answer"], ordered)
        earlier, kept = np.zeros(0), {}
        if self.observations.kept:
            first = self.observations.filled(parts)
            earlier = np.array(
                [where(state["begun"] > 0.5, x, y) for x, y in zip(state["history"], first, strict=True)]
            )
        histories = self.observations.histories(earlier, parts)
        if self.observations.kept:
            kept = {"history": self.observations.remembered(histories), "begun": 1.0}
        answers, carried = self.answers(self.observations.stacked(histories), state)
        return self.scale * answers, {"answer": answers, **kept, **carried}

    def answers(self, observation: np.ndarray, state: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
        """The network's answer (n,), clipped as the contract says, and its states after it."""
        net = self.network
        inputs = {name: state[f"network {name}"] for name in net.states}
        results = net.evaluated({next(iter(net.sizes)): observation, **inputs})
        action = results[next(name for name in net.outputs if name not in net.states.values())]
        if self.contract.clip is not None:
            action = np.asarray(clip(action, -self.contract.clip, self.contract.clip))
        return action, {f"network {name}": results[output] for name, output in net.states.items()}


class TargetDrive:
    """Torques (nv,) of joints that follow the targets of a policy: kp (target − q) − kd v, within the effort limits."""

    def __init__(self, robot: Robot, contract: Contract, observations: Observations) -> None:
        n = len(observations.v)
        self.robot, self.action, self.q, self.v = robot, contract.action, observations.q, observations.v
        offset = contract.offset or (contract.default if contract.action == "position" else None)
        self.offset = np.zeros(n) if offset is None else np.array(offset)
        self.kp, self.kd = (np.zeros(n) if x is None else np.array(x) for x in (contract.kp, contract.kd))
        self.effort = None if contract.effort is None else np.array(contract.effort)

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, target: Any) -> np.ndarray:
        target = np.asarray(target) + self.offset
        if self.action == "position":
            force = self.kp * (target - q[self.q]) - self.kd * v[self.v]
        else:
            force = self.kd * (target - v[self.v]) if self.action == "velocity" else target
        if self.effort is not None:
            force = np.asarray(clip(force, -self.effort, self.effort))
        tau = np.zeros(self.robot.nv, np.result_type(force, float))
        tau[self.v] = force
        return tau if self.effort is not None else within_effort(self.robot, tau)


def policy(
    path: str | os.PathLike[str],
    robot: Robot,
    contract: Contract | Mapping[str, Any] | None = None,
    *,
    command: Any = None,
    terms: Mapping[str, Callable[..., Any]] | None = None,
) -> Sampled:
    """A trained policy from an ONNX file as a law, for `simulate` with fixed steps, `rollout` and `stepper`.

    contract: what the policy was trained with, see `control.Contract`; what it states stands in the place of the file's
    metadata, and what neither states is asked for. What does not fit the robot is refused by name. command: numbers, or
    a function t → numbers, of the observation "command", by default zeros; `rollout(…, parameters={"command": (…, k)})`
    gives each motion its own. terms: functions (t, q, v) → numbers for observations that a robot does not have of its
    own.

    Observations by name: joint_pos (less the default configuration), joint_pos_abs, joint_vel, actions (the last
    answer), all in the contract's order; base_lin_vel, base_ang_vel [m/s, rad/s, in the axes of the base],
    projected_gravity (the unit vector of gravity in these axes), base_height [m], base_quat (w, x, y, z); command,
    time [s].
    """
    net = network(path)
    where = str(net)
    known = Contract.from_metadata(net.metadata, f"{where}: metadata").with_others(Contract.of(contract))
    known = _complete(where, known)
    _check_joints(where, robot, known)
    name = _check_network(where, net, known)
    size = None if command is None or callable(command) else len(_numbers(where, command))
    if callable(command):
        size = len(_numbers(where, command(0.0)))
    observations = Observations(where, robot, known, net.sizes[name], terms or {}, size)
    ordered = np.zeros(observations.command) if command is None else command
    if command is not None and not observations.command:
        raise DalembertError(f"{where}: got a command, but the policy observes none")
    inner = Policy(net, known, observations, ordered if callable(ordered) else np.asarray(ordered, float).reshape(-1))
    assert known.period is not None
    answers = Sampled(inner, known.period, known.delay, state=inner.start)
    drive = TargetDrive(robot, known, observations)
    return Sampled(drive, known.pd_period or known.period, state=(), inputs={"target": answers})


def _numbers(where: str, command: Any) -> np.ndarray:
    numbers = np.atleast_1d(real_array(f"{where}: command", command, "expected numbers (k,)"))
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise DalembertError(f"{where}: command has shape {numbers.shape}, expected finite numbers (k,)")
    return numbers


def _complete(where: str, x: Contract) -> Contract:
    """The contract with the action that its gains tell; asks for what is missing."""
    if x.action is None and x.kp is not None:
        x = Contract(**{**vars(x), "action": "position"})
    missing = [words for name, words in NEEDED.items() if getattr(x, name) is None]
    if x.action is not None:
        missing += [words for name, words in OF_TARGETS[x.action].items() if getattr(x, name) is None]
        if x.action != "torque" and x.pd_period is None:
            missing.append(PD_PERIOD)
    if missing:
        raise DalembertError(
            f"{where}: neither its metadata nor `contract` states {'; '.join(missing)}: pass contract={{…}}, see "
            "control.Contract"
        )
    return Contract(**vars(x))


def _check_joints(where: str, robot: Robot, contract: Contract) -> None:
    """Every joint of the contract is one of the robot's, has one coordinate and a motor."""
    driven = motorized(robot.model)
    for name in contract.joints or ():
        try:
            info = robot.joint(name)
        except DalembertError as error:
            raise DalembertError(f"{where}: the contract's joints: {error}") from None
        if info.q.stop - info.q.start != 1 or info.v.stop - info.v.start != 1:
            raise DalembertError(f"{where}: joint {name!r} of {robot.name!r} is {info.kind}, expected one coordinate")
        if info.leader is not None:
            raise DalembertError(f"{where}: joint {name!r} of {robot.name!r} follows {info.leader!r}, and has no motor")
        if not driven[info.v].all():
            raise DalembertError(
                f"{where}: joint {name!r} of {robot.name!r} has no motor, by {motors_of(robot.model).because}"
            )


def _check_network(where: str, net: Network, contract: Contract) -> str:
    """The input that is the observation; all others are states, and the answer has a number for each joint."""
    names = list(net.sizes)
    if not names:
        raise DalembertError(f"{where}: its network has no input")
    states = net.states
    for name in names[1:]:
        if name not in states:
            raise DalembertError(
                f"{where}: input {name!r} is neither the observation, which comes first ({names[0]!r}), nor a state, "
                f"for which an output of {net.sizes[name]} numbers is missing; outputs: {', '.join(net.outputs)}"
            )
    others = [name for name in net.outputs if name not in states.values()]
    if not others:
        raise DalembertError(f"{where}: its network gives states alone, expected actions")
    if (count := net.output_sizes[others[0]]) != len(contract.joints or ()):
        raise DalembertError(
            f"{where}: its network gives {count} numbers ({others[0]!r}) for {len(contract.joints or ())} joints: "
            f"{', '.join(contract.joints or ())}"
        )
    return names[0]
