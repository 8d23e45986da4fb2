"""The archive of an FMU: what is asked for, checked; its files; written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing
from dalembert.progress import Progress
from dalembert.quantities.live import GROUPS
from dalembert.robot import Robot
from dalembert.sim.elements import Element
from dalembert.sim.rollout.live import CONTACT_FRICTION, PAYLOAD
from dalembert.sim.rollout.plan import RolloutPlan, planned
from dalembert.sim.settings import Settings
from dalembert.sim.system.sampled import Sampled

from .binary import build
from .description import Description, xml_text
from .functions import Functions, Sensor
from .source import Source
from .variables import Places, Variable, variables

VERSIONS = ("2.0", "3.0")
KINDS = ("co-simulation", "model-exchange", "both")
DATE = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal exports are equal bytes
MOST_VALUES = 1_000_000
MOST_GROWTH = 64  # of the room for contacts


class Exported(list[str]):
    """Paths of the files that were written. log: remarks, such as why there is no binary."""

    log: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FmuSettings:
    """The options of an export; see `robot.export`."""

    step: float = 1e-3
    version: str = "2.0"
    kind: str = "co-simulation"
    integrator: Any = None
    elements: Sequence[Element] = ()
    friction: str | None = None
    contact: Contact | None = None
    controls: bool = False
    torque: Any = None
    q: Any = None
    v: Any = None
    live: str | Iterable[str] = ()
    sensors: Mapping[str, Sensor] | Sequence[str] = ()
    binary: bool = True
    compiler: str | None = None

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise unknown("version", str(self.version), VERSIONS, "export: FMU")
        if self.kind not in KINDS:
            raise unknown("kind", str(self.kind), KINDS, "export: FMU")
        if self.torque is not None and not (callable(self.torque) or isinstance(self.torque, Sampled)):
            raise DalembertError(
                f"export: FMU: torque is {type(self.torque).__name__}, expected a law or Sampled; without it torques "
                "are inputs"
            )
        for name in ("sensors", "live", "elements"):
            if not isinstance(getattr(self, name), Iterable):
                raise DalembertError(f"export: FMU: {name} is {getattr(self, name)!r}, expected a list")
        if self.controls and self.torque is not None:
            raise DalembertError("export: FMU: controls=True and torque= both drive the robot: give one of them")

    @property
    def has_steps(self) -> bool:
        """Whether it is for co-simulation."""
        return self.kind != "model-exchange"

    @property
    def has_rates(self) -> bool:
        """Whether it is for model exchange."""
        return self.kind != "co-simulation"

    @property
    def listed_sensors(self) -> dict[str, Sensor]:
        """Sensors by name; frames have their own."""
        if isinstance(self.sensors, str):
            return {self.sensors: self.sensors}
        return dict(self.sensors) if isinstance(self.sensors, Mapping) else {name: name for name in self.sensors}


def export(robot: Robot, path: str | os.PathLike[str], settings: FmuSettings) -> Exported:
    """Write an FMU of a robot's simulation; returns its path, with remarks in `.log`."""
    target = _target(robot, path)
    start = _start(robot, settings)
    plan = _planned(robot, settings, start)
    functions = Functions(robot, plan.motions.stepping, _sensors(robot, settings))
    if settings.has_rates:
        _check_smooth(robot, settings, functions)
    places = Places.of(functions, settings.has_rates)
    if places.end > MOST_VALUES:
        raise DalembertError(f"export: FMU: it would have {places.end} values, expected at most {MOST_VALUES}")
    with Progress(f"exporting {robot.name!r} as an FMU"):
        listed = variables(functions, places, start, settings.has_rates)
        _check_names(listed)
        numbers = np.zeros(places.end)
        for x in listed:
            numbers[x.place] = 0.0 if x.start is None else x.start
        identifier = _identifier(robot.name)
        kinds = settings.has_steps, settings.has_rates
        draft = Source(functions, places, numbers, "", settings.step, kinds).files(settings.version)
        names = "\n".join(f"{x.name} {x.place} {x.causality} {x.unit} {x.start}" for x in listed)
        token = _token(names, *draft.values())
        files = Source(functions, places, numbers, token, settings.step, kinds).files(settings.version)
        described = Description(robot.name, identifier, token, settings.step, *kinds, listed, places)
        archive = {"modelDescription.xml": described.text(settings.version)}
        archive |= {f"sources/{name}": text.encode("utf-8") for name, text in files.items()}
        if settings.version == "3.0":
            archive["sources/buildDescription.xml"] = described.build()
        log: tuple[str, ...] = ("no binary: binary=False",)
        if settings.binary:
            library = build(files, identifier, settings.version, settings.compiler)
            log = (f"no binary: {library.why}; importers compile the sources",) if library.why else ()
            archive |= {library.place: library.content} if library.place else {}
        _write(target, archive)
    written = Exported([str(target)])
    written.log = log
    return written


def _target(robot: Robot, path: str | os.PathLike[str]) -> Path:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
    if "\0" in text or not text:
        raise DalembertError(f"export: FMU: {text!r} is no path")
    target = Path(text)
    if target.is_dir():
        return target / f"{_identifier(robot.name)}.fmu"
    if target.suffix != ".fmu":
        raise DalembertError(
            f"export: FMU: {text!r} is no folder and has no ending .fmu: give a path such as 'robot.fmu'"
        )
    if not target.parent.is_dir():
        raise DalembertError(f"export: FMU: there is no folder {str(target.parent)!r}: make it first")
    return target


def _identifier(name: str) -> str:
    """A robot's name as a name of a file and of C: letters, digits and _."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", name)[:64] or "robot"
    return word if word[0].isalpha() else f"robot_{word}"


def _start(robot: Robot, settings: FmuSettings) -> dict[str, np.ndarray]:
    """q and v at the start, and the robot's own numbers of live groups."""
    start = {"q": robot.neutral() if settings.q is None else settings.q}
    start["v"] = np.zeros(robot.nv) if settings.v is None else settings.v
    for name, size in (("q", robot.nq), ("v", robot.nv)):
        x = real_array(f"export: FMU: {name}", start[name], f"expected ({size},)").astype(float)
        if x.shape != (size,) or not np.isfinite(x).all():
            raise DalembertError(f"export: FMU: {name} has shape {x.shape}, expected finite numbers ({size},)")
        start[name] = x
    live = (settings.live,) if isinstance(settings.live, str) else tuple(settings.live)
    for name in live:
        if name in GROUPS:
            start[name] = GROUPS[name].values(robot.model)
        elif name == PAYLOAD:
            start[name] = np.zeros(1)
        elif name == CONTACT_FRICTION:
            start[name] = np.array([_friction_of(settings.contact)])
        else:
            raise unknown("live parameters", str(name), [*GROUPS, PAYLOAD, CONTACT_FRICTION], "export: FMU")
    return start


def _friction_of(contact: Contact | None) -> float:
    if contact is None or not isinstance(contact.friction, (int, float)):
        raise DalembertError(
            f"export: FMU: live {CONTACT_FRICTION} starts from one number: pass contact=Contact(friction=…)"
        )
    return float(contact.friction)


def _planned(robot: Robot, settings: FmuSettings, start: Mapping[str, np.ndarray]) -> RolloutPlan:
    """The step, as `rollout` takes it; with room for the contacts of the first motion."""
    torque = settings.torque
    controls = np.zeros(len(robot.model.actuators)) if settings.controls else None
    if controls is not None and not len(controls):
        raise DalembertError(f"export: FMU: robot {robot.name!r} has no actuators for controls to drive")
    if torque is None and controls is None:
        torque = np.zeros(robot.nv)
    live = {name: x for name, x in start.items() if name not in ("q", "v")}
    chosen = Settings(
        torque=torque,
        controls=controls,
        step=settings.step,
        steps=1,
        integrator=settings.integrator,
        parameters=live,
        elements=tuple(settings.elements),
        friction=settings.friction,
        contact=settings.contact,
    )
    growth = 1
    while True:
        plan = planned(robot.model, start["q"], start["v"], chosen, True, carries=False, growth=growth)
        if plan.motions.stepping.sampling is not None and plan.motions.stepping.sampling.planned:
            raise DalembertError(
                "export: FMU: the controller plans between steps, in Python, which an FMU does not have"
            )
        system = plan.motions.stepping.system
        if system.contact is None or not system.contact.scene_room or growth > MOST_GROWTH:
            return plan
        _, e = plan.motions(*plan.arguments)
        if not np.any(np.asarray(system.contact_memory(e[..., -1, :]).crowded) > 0.0):
            return plan
        growth = plan.more_room


def _check_smooth(robot: Robot, settings: FmuSettings, functions: Functions) -> None:
    """Refuse for model exchange what is not an ordinary differential equation, by name."""
    where = f"export: FMU of robot {robot.name!r}: model exchange"
    system, instead = functions.system, "use kind='co-simulation'"
    if settings.contact is not None:
        raise DalembertError(f"{where}: contact has steps of its own: {instead}")
    if functions.stepping.sampling is not None:
        raise DalembertError(f"{where}: the controller runs at a rate: {instead}")
    if robot.model.closures:
        raise DalembertError(f"{where}: its closed loops are constraints, which drift: {instead}")
    for constraint, element in system.constraints:
        if constraint.admissible.switches:
            label = "a constraint" if element is None else system.elements[element].label()
            cure = "friction='smooth', or " if "friction" in label else ""
            raise DalembertError(f"{where}: {label} begins and ceases to act, which is not smooth: {cure}{instead}")
    if system.soft is not None or system.layout.nm:
        raise DalembertError(f"{where}: it has constraints that come and go: {instead}")


def _sensors(robot: Robot, settings: FmuSettings) -> dict[str, Sensor]:
    listed = settings.listed_sensors
    for name, sensor in listed.items():
        if isinstance(sensor, str):
            robot.frame(sensor)
        elif not callable(sensor):
            raise DalembertError(
                f"export: FMU: sensor {name!r} is {type(sensor).__name__}, expected the name of a frame or a function"
            )
        if name in ("energy", "contact"):
            raise DalembertError(f"export: FMU: the name {name!r} of a sensor is taken")
    return listed


def _check_names(listed: Sequence[Variable]) -> None:
    """Variables have different names, as they are written."""
    seen: set[str] = set()
    for x in listed:
        name = xml_text(x.name)
        if name in seen:
            raise DalembertError(
                f"export: FMU: two variables would be named {name!r}: rename the joint, body or sensor"
            )
        seen.add(name)


def _token(*texts: str) -> str:
    """A name for this content, in the form of a GUID."""
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()
    parts = digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]
    return "{" + "-".join(parts) + "}"


def _write(target: Path, archive: Mapping[str, bytes]) -> None:
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in archive.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(entry, content)
