"""Events: what a user asks to be located, and what is known of each after the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.notebook import html
from dalembert.typing import Array

if TYPE_CHECKING:
    from dalembert.pictures import Film
    from dalembert.robot import Robot

    from .audit import EnergyAudit
    from .contacts import Contacts


@dataclass(frozen=True)
class Event:
    """A condition on the motion: function(t, q, v) → a number, traced; the event is where it changes sign.

    direction: 1 only from negative to positive, −1 only the other way, 0 both; terminal: the run ends there. Reaching
    zero counts, once, as does a jump over zero at an impact; starting at zero does not.
    """

    name: str
    function: Callable[[Any, Array, Array], Any]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DalembertError(
                f"event {self.name!r}: function is of type {type(self.function).__name__}, expected (t, q, v) → number"
            )
        if self.direction not in (-1, 0, 1):
            raise DalembertError(f"event {self.name!r}: direction is {self.direction!r}, expected -1, 0 or 1")

    def number(self, t: Any, q: Array, v: Array) -> Any:
        """The number of a traced state, checked."""
        try:
            value = np.asarray(self.function(t, q, v), object)
        except DalembertError as error:
            raise DalembertError(f"event {self.name!r}: {error}") from None
        if value.size != 1:
            raise DalembertError(f"event {self.name!r}: function returned shape {value.shape}, expected one number")
        return value.reshape(())[()]


class Happening(NamedTuple):
    """An event that took place: its name, t [s], q (nq,), v (nv,) just before it.

    kind: "event" of the user's; "gap" of an element; of stops "impact", "rests" and "leaves"; of friction "sticks" and
    "slips".
    """

    name: str
    t: float
    q: Array
    v: Array
    kind: str = "event"


@dataclass(frozen=True, eq=False)
class EnergyLedger:
    """Energies [J] over the times of a run, arrays (n,).

    kinetic, potential (gravity), elastic (springs and what elements store); work: what each source has put in since
    the beginning, by name; heat: what each friction, damper, limit and element has taken out. Integrated with the
    scheme of the run.
    """

    kinetic: Array
    potential: Array
    elastic: Array
    work: Mapping[str, Array]
    heat: Mapping[str, Array]

    @property
    def total(self) -> Array:
        """Kinetic + potential + elastic (n,)."""
        return self.kinetic + self.potential + self.elastic

    @property
    def residual(self) -> Array:
        """The gain of the total beyond work − heat (n,): the error of the integration."""
        gained = self.total - self.total[0]
        return gained - sum(self.work.values(), 0.0) + sum(self.heat.values(), 0.0)

    @property
    def scale(self) -> float:
        """The largest amount of energy that moved [J]: what a residual is to be compared with."""
        moved = [np.ptp(x) for x in (self.kinetic, self.potential, self.elastic, *self.work.values())]
        moved += [np.ptp(x) for x in self.heat.values()]
        return float(max([*moved, np.max(np.abs(self.kinetic), initial=0.0)]))

    @property
    def stored(self) -> float:
        """The largest energy that was stored in one of the three forms [J]: rounding errors are relative to it."""
        return float(max(np.max(np.abs(x), initial=0.0) for x in (self.kinetic, self.potential, self.elastic)))

    def __repr__(self) -> str:
        drift = np.max(np.abs(self.residual), initial=0.0)
        return (
            f"<Ledger: {len(self.kinetic)} times, {len(self.work)} sources, {len(self.heat)} sinks, "
            f"residual at most {drift:.3g} J>"
        )


PICTURED = ("size", "camera", "ground", "shadows", "forces", "trails", "role")  # options of pictures


@dataclass(frozen=True, eq=False)
class Run:
    """A motion over n times.

    robot: its name; coordinates, freedoms: names of the columns of q and of v and tau.
    t (n,) [s]; q (n, nq); v (n, nv); tau (n, nv): commanded generalised forces [N·m or N]; states (n, nz): of elements;
    energy: the ledger; multipliers (n, nr): forces of closed loops, closure by closure, then pushes of hard stops
    [N, N·m]; events: what happened, in order; log: what the user should know; steps: how many were taken; settings: of
    the integration; coordinate_units, freedom_units: "rad", "m" or "" (quaternions) of q, and of v per s; readings: of
    the sensors of a mechanism, by name, (n,) or (n, 3); they are not saved; unfinished: why the run ended before its
    duration although no event ended it, such as "interrupted at t = 0.1 s of 2 s", or "".
    """

    robot: str
    coordinates: tuple[str, ...]
    freedoms: tuple[str, ...]
    t: Array
    q: Array
    v: Array
    tau: Array
    states: Array
    energy: EnergyLedger
    multipliers: Array
    events: tuple[Happening, ...]
    log: tuple[str, ...]
    steps: int
    settings: dict[str, Any]
    coordinate_units: tuple[str, ...] = ()
    freedom_units: tuple[str, ...] = ()
    readings: dict[str, Array] = field(default_factory=dict)
    contacts: Contacts | None = None  # what touched, if the run had a contact
    unfinished: str = ""
    viewer: Callable[..., Any] | None = field(default=None, repr=False)  # shows the run, if the robot is at hand
    pictures: Callable[..., Any] | None = field(default=None, repr=False)  # draws the run, likewise
    subject: Robot | None = field(default=None, repr=False)  # the robot, if it is at hand
    accelerations: Callable[[], Array] | None = field(default=None, repr=False)  # computes `a`
    sensed: Callable[[Any], dict[str, Array]] | None = field(default=None, repr=False)  # computes `sensors`

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} … {self.t[-1]:g} s" if len(self.t) else "empty"
        unfinished = f", {self.unfinished.split(' at t =')[0]}" if self.unfinished else ""
        return f"<Run of {self.robot!r}: {len(self.t)} times, {span}, {self.settings['integrator']}{unfinished}>"

    def _repr_html_(self) -> str:
        rows = []
        for k, name in enumerate(self.freedoms if len(self.t) else ()):
            v, tau = np.abs(self.v[:, k]).max(), np.abs(self.tau[:, k])
            rows.append((name, v, tau.max(), np.sqrt(np.mean(tau**2))))
        columns = ("freedom", "largest speed", "largest torque or force", "RMS of it")
        events = (f"t = {event.t:g} s: {event.name}" for event in self.events)
        return html(repr(self), columns, rows, [*events, *self.log])

    def __len__(self) -> int:
        return len(self.t)

    @cached_property
    def a(self) -> Array:
        """Accelerations (n, nv) at the times of the run, under all that acts; computed when they are asked for.

        With rigid contact, and where joints stick, the mean over the step that follows. A loaded run has none.
        """
        if self.accelerations is None:
            raise DalembertError(f"a: this run of {self.robot!r} was loaded, and files of runs hold no accelerations")
        return self.accelerations()

    @cached_property
    def sensors(self) -> dict[str, Array]:
        """Readings (n,) or (n, k) of the sensors of the robot's file, by name; computed when they are asked for.

        Kinds, axes and signs are MuJoCo's, without noise. {}: the file has none. A loaded run has none.
        """
        return {} if self.sensed is None else self.sensed(self)

    def audit(self) -> EnergyAudit:
        """How well the energy adds up, in words: what the residual means, and which step or integrator would do."""
        from .audit import audit

        return audit(self)

    def plot(self, what: str | tuple[str, ...] | None = None) -> Any:
        """A matplotlib figure with a panel for each of "q", "v", "tau", "energy", with names and units.

        None: all of them, "tau" only if something drives the robot.
        """
        from .plot import plot

        return plot(self, what)

    def view(self, **options: Any) -> Any:
        """The viewer in the browser with the motion to play; options as of `Robot.view`."""
        if self.viewer is None:
            raise DalembertError(
                f"view: this run of {self.robot!r} was loaded without its robot: write "
                "dalembert.view.Viewer(robot, run=run)"
            )
        return self.viewer(run=self, **options)

    def render(self, t: float, path: str | os.PathLike[str] | None = None, **options: Any) -> Array:
        """A picture (height, width, 3) of the run at a time [s], with contact forces; also written to `path`.

        Options as of `Robot.render`, with forces=True and trails=() as of `video`.
        """
        from dalembert.pictures.files import write_picture

        if not np.isfinite(t) or not self.t[0] <= t <= self.t[-1]:
            raise DalembertError(f"render: t is {t!r} s, expected a time of the run, {self.t[0]:g} to {self.t[-1]:g} s")
        picture: Array = self._pictures("render", options).at(float(t))
        if path is not None:
            write_picture(path, picture)
        return picture

    def video(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        fps: float | None = None,
        speed: float = 1.0,
        threads: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> Film:
        """A film of the run in a .mp4, .gif, .webp or .png file; a notebook shows the result. See `Robot.video`.

        Options: size, camera, ground, shadows, forces, trails, role.
        """
        from dalembert.pictures.film import film

        return film(self._pictures("video", options), path, fps, speed, threads, progress)

    def _pictures(self, what: str, options: dict[str, Any]) -> Any:
        if self.pictures is None:
            raise DalembertError(
                f"{what}: this run of {self.robot!r} was loaded without its robot: write robot.video(run, …)"
            )
        if wrong := sorted(options.keys() - set(PICTURED)):
            raise unknown("option", wrong[0], PICTURED, what)
        return self.pictures(self, **options)

    def save(self, path: str | os.PathLike[str], *, robot: Robot | None = None) -> None:
        """Write the run to a file; the ending of the name says how. An existing file is replaced as a whole.

        .npz .csv .parquet .h5 .mcap: tables, which `load_run` reads back; .mcap also has joint states, transforms,
        shapes, contacts and wrenches in schemas that Foxglove draws. .rrd: a recording for Rerun. .usd .usda: the robot
        and its motion as time samples. robot: of a run that was loaded, for what is drawn; without it an .mcap file has
        the table and the joint states alone.
        """
        from .save import save

        save(self, path, robot)
