"""The robot of a mechanism: a `Robot` that brings its forces, its sensors and its start along."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.added import AddedForces
from dalembert.robot import Robot
from dalembert.sim.elements import Element, IndependentJoints
from dalembert.sim.failure import part_completed
from dalembert.sim.settings import Settings
from dalembert.typing import Array

from .assembly import free_motions
from .elements import AxisForce
from .forces import Efforts, added_forces, compiled_efforts, compiled_forces, efforts
from .sensors import check_beside_contact, readings
from .sweep import Sweep, sweep
from .wheels import compiled_slopes, eigenvalues

if TYPE_CHECKING:
    from dalembert.formats import Finding
    from dalembert.sim.rollout.result import Rollout
    from dalembert.sim.run.run import Run

    from .definition import Mechanism

INDEPENDENT = 1e-6  # singular values above this share of the largest: joints that move independently


class MechanismRobot(Robot):
    """A robot whose runs have the elements of its mechanism, and record its sensors.

    mechanism: what it was built from; coordinates: "tree" or "free"; elements: springs, motors, loads …; start: (q, v)
    in which it was put together. Edits and `without` give a plain `Robot`, without elements.
    """

    def __init__(
        self,
        model: Model,
        import_log: Iterable[Finding],
        mechanism: Mechanism,
        coordinates: str,
        elements: Sequence[Element],
        start: tuple[Array, Array],
    ) -> None:
        super().__init__(model, import_log)
        self.mechanism, self.coordinates, self.elements = mechanism, coordinates, tuple(elements)
        self.start = start
        self._efforts: dict[tuple[str, ...], Any] = {}  # compiled, by actuators

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.import_log, self.mechanism, self.coordinates, self.elements, self.start)

    def simulate(self, q: Any, v: Any, *arguments: Any, **options: Any) -> Run:
        """Like `Robot.simulate`, with the mechanism's elements before those given; `run.readings` has its sensors."""
        options = self._with_own(options)
        if options["contact"] is not None:
            check_beside_contact(self.mechanism)

        def sensed(run: Run) -> Run:
            if not self.mechanism.sensors:
                return run
            values = readings(self.mechanism, self.model, options["elements"], run, options.get("friction") or "dry")
            return replace(run, readings=values)

        with part_completed(sensed):
            return sensed(super().simulate(q, v, *arguments, **options))

    def save(self, path: str | os.PathLike[str], *, approximate: bool = False, **options: Any) -> tuple[Finding, ...]:
        """Like `Robot.save`, and to .mech.toml; other formats hold no forces, which approximate=True leaves out."""
        if os.fspath(path).lower().endswith(".mech.toml"):
            self.mechanism.save(path)
            return ()
        if self.forces and not approximate:
            raise DalembertError(
                f"save: {os.fspath(path)} cannot hold {', '.join(self.forces)} of mechanism {self.name!r}: save it as "
                ".mech.toml, or with approximate=True without them"
            )
        return super().save(path, approximate=approximate, **options)

    @property
    def forces(self) -> tuple[str, ...]:
        """Names of the elements that act: springs, motors, loads, joints held by springs."""
        return tuple(element.label() for element in self.elements if not isinstance(element, IndependentJoints))

    def _added_forces(self, q: Any, v: Any) -> AddedForces | None:
        """Forces of the elements: they are part of `linearize`, `modes`, `equilibrium` and `equilibrium_torque`."""
        if not self.forces:
            return None
        return added_forces(self._element_forces, q, v)

    @cached_property
    def _element_forces(self) -> Any:
        return compiled_forces(self)

    def element_forces(self, q: Any, v: Any = None) -> Array:
        """Generalised force (…, nv) of all elements at q (…, nq), v (…, nv; default at rest) [N·m or N].

        As at the time 0 of a run that begins in `start`. What `linearize`, `modes` and `equilibrium` take is this.
        """
        v = np.zeros(self.nv) if v is None else np.asarray(v)
        added = self._added_forces(q, v)
        batch = np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1])
        return np.zeros((*batch, self.nv)) if added is None else added.force

    def efforts(self, q: Any, v: Any, a: Any, actuators: str | Sequence[str]) -> Efforts:
        """Inverse dynamics for chosen actuators: what each of them does for the acceleration a (…, nv).

        actuators: names of motors, linear actuators, cylinders [N·m, N], or of joints of one coordinate. All other
        elements act as they do, those named only as told here. With more actuators than freedoms the smallest efforts;
        with too few, or an acceleration that opens a loop, an error.
        """
        names = (actuators,) if isinstance(actuators, str) else tuple(actuators)
        if names not in self._efforts:
            self._efforts[names] = compiled_efforts(self, names)
        return efforts(self, self._efforts[names], q, v, a, names)

    def eigenvalues(self, q: Any, v: Any) -> Array:
        """λ (m,) [1/s] of small deviations from a steady motion through q (nq,), v (nv,), least stable first.

        Elements act as in `linearize`, and joints and wheels hold what they hold: deviations that they allow are looked
        at, with zeros for each position along which nothing changes. A motion that is not steady is an error.
        """
        return eigenvalues(self, self._motion_slopes, q, v)

    @cached_property
    def _motion_slopes(self) -> Any:
        return compiled_slopes(self)

    def driven(self) -> Robot:
        """The bare robot with as many motors as it has freedoms, all other joints passive (an effort limit of 0).

        Motors are at joints that have motors or controllers, then at those that were given a start or a rate, then at
        others, as far as they move independently of each other where it was put together.
        """
        model = self.model
        basis = free_motions(model, self.start[0])
        chosen: list[str] = []
        for name in self._drivable():
            rows = [model.joint(each).v.start for each in (*chosen, name)]
            if np.linalg.matrix_rank(basis[rows], INDEPENDENT) == len(rows):
                chosen.append(name)
        bodies = tuple(
            replace(body, joint=body.joint.with_values(effort_limit=np.zeros(1)))
            if body.joint.nv == 1 and body.joint.name not in chosen
            else body
            for body in model.bodies
        )
        return Robot(replace(model, bodies=bodies), self.import_log)

    def _drivable(self) -> list[str]:
        """Joints of one coordinate, those first that something drives, then those of which something was stated."""
        efforts = [element for element in self.elements if isinstance(element, AxisForce) and element.gives]
        ends = {(element.frame, element.other) for element in efforts}
        joints = [body.joint.name for body in self.model.bodies if body.joint.nv == 1]

        def order(name: str) -> int:
            part = self.mechanism.joints[name]
            stated = part.start is not None or part.rate is not None
            return 0 if (part.a.name, part.b.name) in ends else 1 if stated else 2

        return sorted(joints, key=order)

    def sweep(self, joint: str, values: Any, start: Any = None) -> Sweep:
        """Drive a joint through `values` (n,) on one branch: positions, slopes, coupler curves; see `Sweep`."""
        return sweep(self, joint, values, start)

    def rollout(self, q: Any, v: Any, *arguments: Any, **options: Any) -> Rollout:
        """Like `Robot.rollout`, with the mechanism's elements before those given here."""
        return super().rollout(q, v, *arguments, **self._with_own(options))

    def stepper(self, *arguments: Any, **options: Any) -> Any:
        """Like `Robot.stepper`, with the mechanism's elements before those given here."""
        return super().stepper(*arguments, **self._with_own(options))

    def _with_own(self, options: dict[str, Any]) -> dict[str, Any]:
        """Keywords and settings of a call, with the elements and the contact of the mechanism."""
        settings = options.get("settings")
        given = (settings.stated() if isinstance(settings, Settings) else {}) | options
        own = {"elements": (*self.elements, *given.get("elements", ())), "contact": self.mechanism.touching}
        kept = {name: given[name] for name in ("contact", "friction") if name in given}
        return options | own | kept
