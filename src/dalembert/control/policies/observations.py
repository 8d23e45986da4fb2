"""Observations of a policy: entries by name, each a function of the state, scaled, with their history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.math import clip
from dalembert.robot import Robot

from .contract import Contract, Observed

ALIASES = {
    "joint_pos_rel": "joint_pos",
    "dof_pos": "joint_pos",
    "joint_vel_rel": "joint_vel",
    "dof_vel": "joint_vel",
    "last_action": "actions",
    "last_actions": "actions",
    "previous_action": "actions",
    "previous_actions": "actions",
    "prev_actions": "actions",
    "commands": "command",
    "velocity_command": "command",
    "velocity_commands": "command",
    "generated_commands": "command",
    "base_linear_velocity": "base_lin_vel",
    "base_angular_velocity": "base_ang_vel",
    "base_gravity": "projected_gravity",
}
OF_JOINTS = ("joint_pos", "joint_pos_abs", "joint_vel", "actions")
OF_BASE = {"base_lin_vel": 3, "base_ang_vel": 3, "projected_gravity": 3, "base_height": 1, "base_quat": 4}
KNOWN = (*OF_JOINTS, *OF_BASE, "command", "time")

Term = Callable[..., Any]


@dataclass(frozen=True)
class ObservationEntry:
    """One entry: how it is observed, its name here, and its numbers in one sample."""

    observed: Observed
    kind: str
    size: int


class Observations:
    """The vector that a policy takes, of the state, the last answer and the command.

    terms: functions (t, q, v) → numbers by name, for what no robot has of its own.
    """

    def __init__(
        self, where: str, robot: Robot, contract: Contract, size: int, terms: Mapping[str, Term], command: int | None
    ) -> None:
        self.where, self.robot, self.contract, self.terms = where, robot, contract, dict(terms)
        self.q = np.array([robot.joint(name).q.start for name in contract.joints or ()], int)
        self.v = np.array([robot.joint(name).v.start for name in contract.joints or ()], int)
        self.default = np.zeros(len(self.q)) if contract.default is None else np.array(contract.default)
        self.base = next((info for info in robot.joints if info.kind == "free"), None)
        for name in terms:
            if not callable(terms[name]):
                raise DalembertError(f"{where}: terms: {name!r} is {type(terms[name]).__name__}, expected a function")
        listed = [(x, self._kind(x.name)) for x in contract.observe or ()]
        sizes = [self._size(x, kind, command) for x, kind in listed]
        known = self._completed(listed, sizes, size)
        self.entries = [ObservationEntry(x, kind, n) for (x, kind), n in zip(listed, known, strict=True)]
        if (total := sum(e.size * e.observed.history for e in self.entries)) != size:
            said = ", ".join(
                f"{e.observed.name} {e.size}" + (f" × {e.observed.history}" if e.observed.history > 1 else "")
                for e in self.entries
            )
            raise DalembertError(
                f"{where}: its observation has {total} numbers by the contract ({said}), and its network takes {size}"
            )
        if contract.stack == "frames" and len({e.observed.history for e in self.entries}) > 1:
            raise DalembertError(f"{where}: stack is 'frames', for which all entries need the same history")
        if len(commands := {e.size for e in self.entries if e.kind == "command"}) > 1:
            raise DalembertError(f"{where}: the command is observed with {min(commands)} and {max(commands)} numbers")
        for entry in self.entries:
            for word in ("scale", "offset"):
                count = np.size(getattr(entry.observed, word))
                if count not in (1, entry.size):
                    raise DalembertError(
                        f"{where}: observation {entry.observed.name!r} has {entry.size} numbers and {count} of {word}"
                    )

    def _kind(self, name: str) -> str:
        """The name of an entry here; refuses those that this robot does not have."""
        kind = name if name in self.terms else ALIASES.get(name, name)
        if kind not in self.terms and kind not in KNOWN:
            raise DalembertError(
                f"{unknown('observation', name, [*KNOWN, *self.terms], self.where)}; pass terms={{{name!r}: "
                "function (t, q, v) → numbers}}"
            )
        if kind in OF_BASE and kind not in self.terms and self.base is None:
            raise DalembertError(
                f"{self.where}: observation {name!r} is of a free base, which {self.robot.name!r} lacks"
            )
        if kind == "joint_pos" and kind not in self.terms and self.contract.default is None:
            raise DalembertError(
                f"{self.where}: observation {name!r} is relative to the default configuration, which the contract does "
                "not state: pass contract={'default': …}"
            )
        return kind

    def _size(self, x: Observed, kind: str, command: int | None) -> int | None:
        """Numbers of an entry in one sample; None: not known yet."""
        if kind in self.terms:
            value = np.asarray(self.terms[kind](0.0, self.robot.neutral(), np.zeros(self.robot.nv)))
            return int(value.size)
        own = {**dict.fromkeys(OF_JOINTS, len(self.q)), **OF_BASE, "time": 1}.get(kind, command)
        if own is not None and x.size is not None and own != x.size:
            raise DalembertError(
                f"{self.where}: observation {x.name!r} has {own} numbers here, and {x.size} by the contract"
            )
        return own or x.size

    def _completed(self, listed: list[Any], sizes: list[int | None], size: int) -> list[int]:
        """The one size that is not known is what the others leave."""
        if None in sizes:
            missing = [x for (x, _), n in zip(listed, sizes, strict=True) if n is None]
            left = size - sum(n * x.history for (x, _), n in zip(listed, sizes, strict=True) if n is not None)
            count = sum(x.history for x in missing)
            if len({x.name for x in missing}) > 1 or left <= 0 or left % count:
                raise DalembertError(
                    f"{self.where}: the size of observation {missing[0].name!r} is not known: state it in the contract"
                )
            sizes = [left // count if n is None else n for n in sizes]
        return [int(n) for n in sizes if n is not None]

    @property
    def command(self) -> int:
        """Numbers of the command; 0: none is observed."""
        return next((e.size for e in self.entries if e.kind == "command"), 0)

    @property
    def kept(self) -> int:
        """Numbers of earlier samples in all histories."""
        return sum(e.size * (e.observed.history - 1) for e in self.entries)

    def sample(self, t: Any, q: np.ndarray, v: np.ndarray, action: np.ndarray, command: Any) -> list[np.ndarray]:
        """The present numbers of each entry, scaled and clipped."""
        parts = []
        for e in self.entries:
            x = np.asarray(self._value(e.kind, t, q, v, action, command)).reshape(-1)
            x = (x - np.asarray(e.observed.offset)) * np.asarray(e.observed.scale)
            parts.append(x if e.observed.clip is None else np.asarray(clip(x, -e.observed.clip, e.observed.clip)))
        return parts

    def _value(self, kind: str, t: Any, q: np.ndarray, v: np.ndarray, action: np.ndarray, command: Any) -> Any:
        if kind in self.terms:
            return self.terms[kind](t, q, v)
        if kind in ("command", "time", "actions"):
            return {"command": command, "time": [t], "actions": action}[kind]
        if kind in OF_JOINTS:
            return v[self.v] if kind == "joint_vel" else q[self.q] - (self.default if kind == "joint_pos" else 0.0)
        assert self.base is not None
        at, rates = self.base.q.start, v[self.base.v]
        if kind == "projected_gravity":
            g = np.asarray(self.robot.model.gravity, float)
            R = self.robot.pose(q, self.base.child)[:3, :3]
            return R.T @ (g / max(float(np.linalg.norm(g)), np.finfo(float).tiny))
        places = {"base_height": q[at + 2 : at + 3], "base_quat": q[at + 3 : at + 7]}
        return {"base_ang_vel": rates[:3], "base_lin_vel": rates[3:], **places}[kind]

    def filled(self, parts: list[np.ndarray]) -> np.ndarray:
        """Earlier samples that are all like this one."""
        return np.concatenate(
            [np.zeros(0), *(x for e, x in zip(self.entries, parts, strict=True) for _ in range(e.observed.history - 1))]
        )

    def histories(self, earlier: np.ndarray, parts: list[np.ndarray]) -> list[np.ndarray]:
        """The history of each entry, the oldest sample first, up to this one."""
        rows, begin = [], 0
        for e, now in zip(self.entries, parts, strict=True):
            end = begin + e.size * (e.observed.history - 1)
            rows.append(np.concatenate([earlier[begin:end], now]))
            begin = end
        return rows

    def remembered(self, histories: list[np.ndarray]) -> np.ndarray:
        """Samples that the next one takes as its history."""
        kept = [x[e.size :] for e, x in zip(self.entries, histories, strict=True)]
        return np.concatenate([np.zeros(0), *kept])

    def stacked(self, histories: list[np.ndarray]) -> np.ndarray:
        """The vector that the network takes."""
        if self.contract.stack == "terms" or not histories:
            return np.concatenate([np.zeros(0), *histories])
        rows = [x.reshape(self.entries[0].observed.history, -1) for x in histories]
        return np.concatenate(rows, axis=1).reshape(-1)
