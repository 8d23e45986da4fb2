"""Traced functions of an FMU: a step, how states start, outputs, rates, and slopes of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, jvp, substitute, trace
from dalembert.dynamics.algorithms import integrate, normalize
from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.sim.rollout.live import put
from dalembert.sim.rollout.stepping import Stepping
from dalembert.sim.system.drive import Command
from dalembert.sim.system.system import System

ENERGIES = ("kinetic", "potential", "elastic")
SENSED = {"position": "m", "rotation": "rad/s", "velocity": "m/s"}  # of a frame: x y z in the world, and its rates

Sensor = str | Callable[..., Any]  # a frame, or a function (t, q, v) → numbers


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of an FMU of a robot whose steps are those of `stepping`.

    sensors: further outputs by name. Inputs are "t", "q", "e", "u" and live groups, as far as they have numbers.
    """

    robot: Robot
    stepping: Stepping
    sensors: Mapping[str, Sensor] = field(default_factory=dict)

    @property
    def system(self) -> System:
        """The equations of motion."""
        return self.stepping.system

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of the inputs of outputs and rates."""
        return {"t": 1, **self.stepping.arguments}

    @cached_property
    def step(self) -> Function:
        """One step: "q", "e", "number", "timing", "u" and live groups to "q_next", "e_next", "number_next"."""
        return self.stepping.step

    @cached_property
    def start(self) -> Function:
        """States of elements and controllers at the beginning, "rest", all of e but the velocity, of "q" and "e"."""
        nv, model = self.robot.nv, self.robot.model

        def begin(q: np.ndarray, e: np.ndarray) -> dict[str, Any]:
            if not self.stepping.kept:
                return {"rest": np.zeros(0)}
            rest = self.stepping.starting(q, e[:nv])
            return {"rest": np.array([q[0].lift(x) if not hasattr(x, "__traced__") else x for x in rest], object)}

        return trace(begin, {"q": model.nq, "e": self.stepping.arguments["e"]}, "start")

    @cached_property
    def outputs(self) -> Function:
        """Energies, sensors by name, and where contacts are rigid how many of them had no room."""

        def compute(*inputs: np.ndarray) -> dict[str, Any]:
            return self._outputs(dict(zip(self.sizes, inputs, strict=True)))

        return trace(compute, self.sizes, "outputs")

    def _outputs(self, named: Mapping[str, np.ndarray]) -> dict[str, Any]:
        system, q, e, t = self._live(named), named["q"], named["e"][: self.system.ne], named["t"][0]
        results = {"energy": np.array(list(system.energies(t, q, e, self._command(named))), object)}
        v = system.layout.velocity(e)
        for name, sensor in self.sensors.items():
            try:
                results[name] = np.asarray(self._sensed(sensor, t, q, v), object).reshape(-1)
            except DalembertError as error:
                raise DalembertError(f"export: sensor {name!r}: {error}") from None
        if system.contact is not None:
            memory = system.contact_memory(e)
            results["contact"] = np.array([memory.unsettled, memory.crowded], object)
        return results

    def _sensed(self, sensor: Sensor, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        if callable(sensor):
            return sensor(t, q, v)
        twist = self.robot.velocity(q, v, sensor)
        return [*self.robot.pose(q, sensor)[:3, 3], *twist]

    def _live(self, named: Mapping[str, np.ndarray]) -> System:
        """The system with the live numbers."""
        system = self.system
        for name in self.stepping.constants:
            system = put(system, name, named[name])
        return system

    def _command(self, named: Mapping[str, np.ndarray]) -> np.ndarray:
        """Command of the system, empty where a controller drives it: energies do not depend on its answers."""
        if "u" in named:
            return Command.held(named["u"]).flat()
        return Command.held(np.zeros(self.system.input_count)).flat() if self.system.driven else np.zeros(0)

    @cached_property
    def rates(self) -> Function:
        """Rates "q" and "e" of all states."""

        def compute(*inputs: np.ndarray) -> dict[str, Any]:
            return self._rates(dict(zip(self.sizes, inputs, strict=True)))

        return trace(compute, self.sizes, "rates")

    def _rates(self, named: Mapping[str, np.ndarray]) -> dict[str, Any]:
        system, t, e, model = self._live(named), named["t"][0], named["e"], self.robot.model
        q = normalize(model, named["q"])  # an integrator that knows nothing of quaternions lets their length drift
        ahead = t.graph.input(f"ahead {t.graph.size}", 1)[0]
        v = system.layout.velocity(e)
        moved = integrate(model, q, np.array([ahead * x for x in v], object))
        at_once = substitute(jvp(moved, {ahead: 1.0}), {ahead: 0.0})
        return {"q": at_once, "e": system.rates(t, q, e, self._command(named))}

    @cached_property
    def slopes(self) -> Function:
        """Changes of all outputs, then of the rates of q and e, along a direction "dx" of q, e and u."""
        order = [name for name in ("q", "e", "u") if name in self.sizes]

        def compute(*inputs: np.ndarray) -> dict[str, Any]:
            named = dict(zip([*self.sizes, "dx"], inputs, strict=True))
            flat = [x for part in {**self._outputs(named), **self._rates(named)}.values() for x in np.ravel(part)]
            seeds = dict(zip(np.concatenate([named[name] for name in order]), named["dx"], strict=True))
            return {"dy": jvp(np.array(flat, object), seeds)}

        return trace(compute, {**self.sizes, "dx": sum(self.sizes[name] for name in order)}, "slopes")
