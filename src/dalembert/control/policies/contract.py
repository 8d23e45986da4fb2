"""The contract of a policy: what it was trained with, and how that is written into the metadata of an ONNX file.

Keys of the metadata that others write too have their names: joint_names, joint_stiffness, joint_damping,
default_joint_pos, action_scale, observation_names. Lists are numbers or names with commas between; `observations` is
JSON, a list with one object for each entry of the observation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, is_number, unknown

VERSION = 1
ACTIONS = ("position", "velocity", "torque")
STACKS = ("terms", "frames")
FIELDS = {  # fields of the contract by their keys in the metadata
    "joint_names": "joints",
    "period": "period",
    "pd_period": "pd_period",
    "action_type": "action",
    "action_scale": "scale",
    "action_offset": "offset",
    "action_clip": "clip",
    "action_delay": "delay",
    "default_joint_pos": "default",
    "joint_stiffness": "kp",
    "joint_damping": "kd",
    "joint_effort_limits": "effort",
    "history_stack": "stack",
}
ALIASES = {"joint_order": "joints", "gains_kp": "kp", "gains_kd": "kd", "observations": "observe"}
PER_JOINT = ("scale", "offset", "default", "kp", "kd", "effort")
LONGEST_TEXT = 1_000_000  # characters of one entry of metadata


@dataclass(frozen=True)
class Observed:
    """One entry of the observation: offset and scale make `scale · (value − offset)` of it.

    name: of what is measured, see `control.policy`. size: its numbers, where neither the name nor the robot says so.
    scale, offset: a number, or one for each number. history: samples of it, the oldest first; clip: bound of |value|
    after scaling.
    """

    name: str
    size: int | None = None
    scale: float | tuple[float, ...] = 1.0
    offset: float | tuple[float, ...] = 0.0
    history: int = 1
    clip: float | None = None

    def __post_init__(self) -> None:
        where = f"contract: observation {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise DalembertError(f"contract: an observation's name is {self.name!r}, expected a text")
        for word in ("scale", "offset"):
            object.__setattr__(self, word, _numbers(f"{where}: {word}", getattr(self, word), alone=True))
        for word in ("size", "history"):
            value = getattr(self, word)
            if value is None and word == "size":
                continue
            if not (is_number(value) and float(value).is_integer() and 1 <= value <= 10_000):
                raise DalembertError(f"{where}: {word} is {value!r}, expected a whole number from 1 on")
        if self.clip is not None and not (is_number(self.clip) and 0.0 < self.clip < np.inf):
            raise DalembertError(f"{where}: clip is {self.clip!r}, expected a number above 0")

    @classmethod
    def of(cls, x: Any) -> Observed:
        """An entry from its name, or from a mapping of its fields."""
        if isinstance(x, (Observed, str)):
            return cls(x) if isinstance(x, str) else x
        if not isinstance(x, Mapping):
            raise DalembertError(
                f"contract: an observation is {type(x).__name__}, expected a name, Observed or a mapping"
            )
        known = [each.name for each in fields(cls)]
        for key in x:
            if key not in known:
                raise unknown("field", str(key), known, f"contract: observation {x.get('name')!r}")
        if "name" not in x:
            raise DalembertError("contract: an observation has no name")
        return cls(**x)


@dataclass(frozen=True)
class Contract:
    """Conditions under which a policy was trained. A field that is None is not known.

    joints: names in the order of the action (n). period: of the policy [s]; pd_period: of the torques between [s],
    often the step of the simulation. action: "position" (target = offset + scale · answer, tau = kp (target − q) −
    kd v), "velocity" (tau = kd (target − v)) or "torque" (tau = target). scale, offset, kp [N·m/rad, N/m],
    kd [N·m·s/rad, N·s/m], effort (bound of |tau| [N·m, N]), default (configuration of the joints [rad, m]): one number
    for each joint, or one for all. offset None: `default` for positions, else 0. clip: bound of |answer|. delay [s] of
    the answers.
    observe: entries of the observation in their order. stack: "terms" (the history of each entry in a row) or "frames"
    (all entries of the oldest sample, then of the next).
    """

    joints: tuple[str, ...] | None = None
    period: float | None = None
    pd_period: float | None = None
    action: str | None = None
    scale: tuple[float, ...] | None = None
    offset: tuple[float, ...] | None = None
    clip: float | None = None
    delay: float = 0.0
    default: tuple[float, ...] | None = None
    kp: tuple[float, ...] | None = None
    kd: tuple[float, ...] | None = None
    effort: tuple[float, ...] | None = None
    observe: tuple[Observed, ...] | None = None
    stack: str = "terms"

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.joints is not None:
            put(self, "joints", _names(self.joints))
        if self.observe is not None:
            entries = [self.observe] if isinstance(self.observe, (str, Mapping, Observed)) else self.observe
            put(self, "observe", tuple(map(Observed.of, entries)))
        for word in PER_JOINT:
            value = getattr(self, word)
            if value is not None:
                put(self, word, self._per_joint(word, value))
        for word, low in (("period", 0.0), ("pd_period", 0.0), ("clip", 0.0), ("delay", -1.0)):
            value = getattr(self, word)
            if value is not None and not (is_number(value) and low < value < np.inf and value >= 0.0):
                above = "0 or more" if low < 0.0 else "above 0"
                raise DalembertError(f"contract: {word} is {value!r}, expected a number {above}")
        if self.action is not None and self.action not in ACTIONS:
            raise unknown("action", str(self.action), ACTIONS, "contract")
        if self.stack not in STACKS:
            raise unknown("stack", str(self.stack), STACKS, "contract")

    def _per_joint(self, word: str, value: Any) -> tuple[float, ...]:
        numbers = _numbers(f"contract: {word}", value)
        if self.joints is not None and len(numbers) == 1:
            numbers *= len(self.joints)
        if self.joints is not None and len(numbers) != len(self.joints):
            raise DalembertError(
                f"contract: {word} has {len(numbers)} numbers for {len(self.joints)} joints, expected one for each"
            )
        if word in ("kp", "kd", "effort") and min(numbers) < 0.0:
            raise DalembertError(f"contract: {word} is {min(numbers):g} for a joint, expected 0 or more")
        return numbers

    @classmethod
    def of(cls, x: Contract | Mapping[str, Any] | None) -> Contract:
        """A contract from a mapping of its fields, or of their names in the metadata."""
        if x is None or isinstance(x, Contract):
            return x or cls()
        if not isinstance(x, Mapping):
            raise DalembertError(f"contract is of type {type(x).__name__}, expected control.Contract or a mapping")
        known, named = [each.name for each in fields(cls)], {}
        for key, value in x.items():
            word = {**FIELDS, **ALIASES}.get(key, key)
            if key == "rate":
                if not (is_number(value) and value > 0.0):
                    raise DalembertError(f"contract: rate is {value!r}, expected a number above 0 [Hz]")
                word, value = "period", 1.0 / value
            if word not in known:
                raise unknown("field", str(key), known, "contract")
            named[word] = value
        return cls(**named)

    def with_others(self, x: Contract) -> Contract:
        """This contract with all that another one states in its place."""
        plain = {each.name: each.default for each in fields(Contract)}
        stated = {name: value for name, value in vars(x).items() if value != plain[name]}
        return Contract(**{**vars(self), **stated})

    def to_metadata(self) -> dict[str, str]:
        """Entries for the metadata of an ONNX file (`metadata_props`), those that are None left out."""
        entries = {"contract_version": str(VERSION)}
        for key, name in FIELDS.items():
            value = getattr(self, name)
            if value is not None:
                entries[key] = _text(key, value)
        if self.observe is not None:
            entries["observation_names"] = _text("observation_names", [x.name for x in self.observe])
            entries["observations"] = json.dumps([asdict(x) for x in self.observe])
        return entries

    @classmethod
    def from_metadata(cls, entries: Mapping[str, str], where: str = "metadata") -> Contract:
        """The contract in the metadata of an ONNX file; entries of others are left alone."""
        version = entries.get("contract_version", str(VERSION))
        if version != str(VERSION):
            raise DalembertError(f"{where}: contract_version is {version!r}, expected {VERSION}")
        named: dict[str, Any] = {}
        for key, text in entries.items():
            if key in FIELDS and len(text) > LONGEST_TEXT:
                raise DalembertError(f"{where}: {key} has {len(text)} characters, expected at most {LONGEST_TEXT}")
            if key in FIELDS:
                named[FIELDS[key]] = _value(where, key, text)
        if "observations" in entries:
            named["observe"] = _observations(where, entries["observations"])
        elif "observation_names" in entries:
            histories = entries.get("observation_history_lengths", "")
            named["observe"] = _listed(where, entries["observation_names"], histories)
        try:
            return cls.of(named)
        except DalembertError as error:
            raise DalembertError(f"{where}: {error}") from None


def _text(key: str, value: Any) -> str:
    if isinstance(value, str) or is_number(value):
        return str(value)
    for each in value:
        if isinstance(each, str) and "," in each:
            raise DalembertError(f"contract: {key}: the name {each!r} has a comma, which lists in metadata cannot have")
    return ",".join(x if isinstance(x, str) else repr(float(x)) for x in value)


def _value(where: str, key: str, text: str) -> Any:
    """A field from the text of its entry."""
    if FIELDS[key] in ("action", "stack"):
        return text.strip()
    parts = [part.strip() for part in text.strip().strip("[]()").split(",")]
    if FIELDS[key] == "joints":
        return tuple(part.strip("'\"") for part in parts)
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        raise DalembertError(f"{where}: {key} is {text[:40]!r}, expected numbers with commas between") from None
    return tuple(numbers) if FIELDS[key] in PER_JOINT else numbers[0]


def _observations(where: str, text: str) -> list[Any]:
    try:
        listed = json.loads(text) if len(text) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise DalembertError(f"{where}: observations is {text[:40]!r}, expected a list in JSON")
    tuples = [
        {k: tuple(v) if isinstance(v, list) else v for k, v in x.items()} if isinstance(x, dict) else x for x in listed
    ]
    return tuples


def _listed(where: str, names: str, histories: str) -> list[Observed]:
    listed = [name.strip() for name in names.split(",")]
    counts = [part.strip() for part in histories.split(",")] if histories.strip() else ["1"] * len(listed)
    try:
        lengths = [max(int(float(x)), 1) for x in counts]
        return [Observed(name, history=n) for name, n in zip(listed, lengths, strict=True)]
    except (ValueError, OverflowError) as error:
        if isinstance(error, DalembertError):
            raise
        raise DalembertError(
            f"{where}: observation_history_lengths is {histories[:40]!r}, expected one whole number for each of the "
            f"{len(listed)} observation_names"
        ) from None


def _names(x: Any) -> tuple[str, ...]:
    names = (x,) if isinstance(x, str) else tuple(x)
    for name in names:
        if not isinstance(name, str) or not name:
            raise DalembertError(f"contract: joints has {name!r}, expected names of joints")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DalembertError(f"contract: joints has {twice!r} twice")
    if not names:
        raise DalembertError("contract: joints is empty, expected the names of the joints in the order of the action")
    return names


def _numbers(where: str, x: Any, alone: bool = False) -> Any:
    """A tuple of finite numbers; alone: a single number stays one."""
    if is_number(x) and np.isfinite(x):
        return float(x) if alone else (float(x),)
    listed: Sequence[Any] = () if isinstance(x, (str, Mapping)) or np.ndim(x) != 1 else x
    if not len(listed) or not all(is_number(each) and np.isfinite(each) for each in listed):
        raise DalembertError(f"{where} is {str(x)[:60]}, expected a finite number, or one for each")
    return tuple(map(float, listed))
