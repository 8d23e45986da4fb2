"""Parameters that differ from environment to environment: what is drawn, from what, and how it reaches the physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact import Contact
from dalembert.contact.candidates import candidates
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.quantities.live import FIELDS, GROUPS
from dalembert.sim.rollout.live import CONTACT_FRICTION, PAYLOAD, check_values, checked_names, put
from dalembert.sim.system.system import System
from dalembert.study.distributions.counter import uniforms
from dalembert.study.distributions.stream import Stream

from .actions import Drive
from .draws import START, Draw, as_draw

GAINS, DELAY = "gains", "delay"
OWN = (GAINS, DELAY)  # of the drive, beside what rollouts take as live parameters
TRIED = 64  # draws that are checked before anything is compiled


class Drawn(NamedTuple):
    """A line of `Environment.randomization`: the name, its nominal numbers, how it is drawn, how many numbers are."""

    name: str
    nominal: np.ndarray
    draw: str
    numbers: int


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter that is drawn. nominal (n,); repeats: so many of its numbers share a factor."""

    name: str
    draw: Draw
    nominal: np.ndarray
    repeats: int

    @property
    def size(self) -> int:
        """Its numbers."""
        return len(self.nominal)

    @property
    def factors(self) -> int:
        """Numbers that are drawn independently."""
        return self.size // self.repeats

    def values(self, u: np.ndarray) -> np.ndarray:
        """Values (n,) of uniform numbers u (factors, width); never of earlier values, so that nothing accumulates."""
        law = self.draw.law
        if law.size is None:
            x = np.concatenate([np.atleast_1d(law.values(row[None])[0]) for row in u])
        else:
            x = np.atleast_1d(law.values(u.reshape(1, -1))[0])
        x = np.repeat(np.asarray(x, object), self.repeats)
        return x if self.draw.kind == "set" else self.nominal * x if self.draw.kind == "scale" else self.nominal + x

    @property
    def width(self) -> int:
        """Uniform numbers that a draw takes."""
        return self.factors * self.draw.law.width if self.draw.law.size is None else self.draw.law.width

    def drawn(self, stream: Stream, counter: Any = 0.0) -> np.ndarray:
        """Values (n,) from a stream."""
        return self.values(stream.uniforms(f"parameter {self.name}", self.width, counter).reshape(self.factors, -1))

    def samples(self, count: int) -> np.ndarray:
        """Values (count, n), to check a law before anything is compiled."""
        u = uniforms(0, self.name, 0, count, max(self.width, 1))[:, : self.width]
        return np.array([self.values(row.reshape(self.factors, -1)) for row in u], float)


class Randomization:
    """All parameters of an environment that are drawn."""

    def __init__(self, model: Model, contact: Contact | None, drive: Drive, table: Mapping[str, Any] | None) -> None:
        if not isinstance(table, (Mapping, type(None))):
            raise DalembertError(f"Environment: randomize is {table!r}, expected a dict of distributions by name")
        table = dict(table or {})
        known = (*GROUPS, CONTACT_FRICTION, PAYLOAD, *OWN)
        for name in table:
            if name not in known:
                raise unknown("parameter", str(name), known, "Environment: randomize")
        draws = {name: as_draw(f"Environment: randomize: {name}", x) for name, x in table.items()}
        if CONTACT_FRICTION in draws and contact is not None and contact.model == "mujoco":
            raise DalembertError("Environment: randomize: contact_friction: contacts of MuJoCo's model take the file's")
        live = checked_names([name for name in table if name not in OWN], contact, "Environment: randomize")
        order = (*live, *(name for name in OWN if name in draws))
        self.live = live
        self.parameters = {n: _parameter(n, draws[n], _nominal(model, contact, drive, n)) for n in order}
        for name, each in self.parameters.items():
            self._check(model, name, each)

    @property
    def size(self) -> int:
        """Numbers of all parameters."""
        return sum(each.size for each in self.parameters.values())

    def _check(self, model: Model, name: str, each: Parameter) -> None:
        """Refuse laws that give robots that cannot be."""
        values = each.samples(TRIED)
        where = f"Environment: randomize: {name}"
        try:
            if name in self.live:
                check_values(model, {name: values})
            elif (values < 0.0).any():
                raise DalembertError(f"{name}: negative")
        except DalembertError as error:
            said = str(error).split(": ", 1)[-1].split(" in state")[0].removesuffix(", or check=False")
            raise DalembertError(
                f"{where}: {each.draw}: {said}: expected a range of values that a robot can have"
            ) from None

    def split(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """The numbers of each parameter."""
        ends = np.cumsum([0, *(each.size for each in self.parameters.values())])[1:-1]
        parts = np.split(numbers, ends) if self.parameters else []
        return dict(zip(self.parameters, parts, strict=True))

    def drawn(self, fresh: Stream, lasting: Stream) -> np.ndarray:
        """All parameters; fresh: the stream of the episode, lasting: that of the environment."""
        streams = {name: lasting if each.draw.when == START else fresh for name, each in self.parameters.items()}
        return np.concatenate([np.zeros(0), *(each.drawn(streams[n]) for n, each in self.parameters.items())])

    def applied(self, system: System, values: Mapping[str, np.ndarray]) -> System:
        """The system with the parameters of one environment; all that follows from them is computed anew."""
        for name in self.live:
            system = put(system, name, values[name])
        return system

    def table(self) -> list[Drawn]:
        """Random parameters with their nominal values and distributions."""
        return [Drawn(n, each.nominal, str(each.draw), each.factors) for n, each in self.parameters.items()]


def _nominal(model: Model, contact: Contact | None, drive: Drive, name: str) -> np.ndarray:
    """The numbers without any draw."""
    if name in GROUPS:
        return np.asarray(GROUPS[name].values(model), float)
    if name == PAYLOAD:
        return np.zeros(1)
    if name == DELAY:
        return np.array([float(drive.delay[0])])
    if name == GAINS:
        if drive.kp is None:
            raise DalembertError("Environment: randomize: gains: the action is torques, which have no gains")
        return np.ones(2 * drive.size)
    assert contact is not None
    frictions = {patch.law.friction for patch in candidates(model, contact)}
    return np.array([frictions.pop() if len(frictions) == 1 else np.nan])


def _parameter(name: str, draw: Draw, nominal: np.ndarray) -> Parameter:
    """The parameter with its factors; refuses what has no meaning."""
    where = f"Environment: randomize: {name}"
    if name == "inertia" and draw.kind != "scale":
        raise DalembertError(
            f"{where}: {draw.kind} draws ten numbers apart, which are no possible body: use learn.scale(low, high)"
        )
    if draw.kind == "scale" and name in ("placement", "shape_placement", PAYLOAD, DELAY):
        raise DalembertError(f"{where}: its nominal value is 0: use learn.uniform(…) in the place of learn.scale(…)")
    if name == GAINS and draw.kind != "scale":
        raise DalembertError(f"{where}: a law gives factors of kp and kd: use learn.scale(…)")
    if np.isnan(nominal).any() and draw.kind != "set":
        raise DalembertError(f"{where}: the contacts have different frictions: use learn.uniform(…) for one of all")
    shared = 10 if name == "inertia" else 3 if name == "gravity" and draw.kind == "scale" else 1
    parameter = Parameter(name, draw, nominal, shared)
    size = draw.law.size
    if size is not None and size != parameter.factors:
        raise DalembertError(f"{where}: the law gives {size} numbers, expected {parameter.factors}, or one for each")
    if name in FIELDS and not len(nominal):
        raise DalembertError(f"{where}: the robot has no joint that moves")
    return parameter
