"""MJCF files → Model, through MuJoCo's own compiler: defaults, classes, includes, frames, angles and inertia from
geometry mean what they mean in MuJoCo. What the model cannot hold is in the ledger; every error has file and line.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model, ModelBuilder

from ..diagnosis import diagnose
from ..ledger import Finding, Ledger
from ..robot import check_options
from .actuators import add_actuators, add_keyframes
from .closures import active, add_closures, couple
from .compile import CompiledMjcf, compiled
from .extras import add_surroundings, report_extras
from .geometry import add_exclusions, add_geometry
from .sensors import add_sensors
from .softness import add_softness
from .source import read_source
from .tree import add_bodies, add_sites, name_all


def read_mjcf(
    source: str | bytes | os.PathLike[str],
    *,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
) -> tuple[Model, tuple[Finding, ...]]:
    """Read an MJCF file, or MJCF text (a string that starts with "<"), into a model and its import log.

    base: "fixed" or "free" for the only body in <worldbody>; None: as in the file.
    strict: any finding that concerns physics raises.
    mimic: "couple" lets joints that <equality> ties linearly share their leader's coordinate; "free" makes them
    independent and logs it. Needs `mujoco` (pip install 'dalembert[mjcf]').
    """
    check_options("read_mjcf", base, mimic)
    ledger = Ledger()
    text = read_source(source, ledger)
    mjcf = compiled(text, ledger)
    if mjcf.m.nbody == 1 and mjcf.m.ngeom + mjcf.m.nsite == 0:
        raise text.document.error(
            text.document.root, "<worldbody> has nothing in it; if this is a part, load the file that includes it"
        )
    report_extras(mjcf, ledger)
    return _build(mjcf, base, mimic, ledger), ledger.close(strict=strict)


def _build(mjcf: CompiledMjcf, base: str | None, mimic: str, ledger: Ledger) -> Model:
    document = mjcf.source.document
    default = Path(document.label).stem if document.label[0] != "<" else "robot"
    gravity = np.zeros(3) if mjcf.disabled("GRAVITY") else np.array(mjcf.m.opt.gravity)
    try:
        builder = ModelBuilder((document.root.get("model") or "").strip() or default, gravity)
        names = name_all(mjcf, ledger)
        equalities = active(mjcf, ledger)
        mimics, equations = couple(mjcf, equalities, names, mimic, ledger)
        add_bodies(mjcf, builder, names, mimics, base, ledger)
        add_sites(mjcf, builder, names, ledger)
        add_geometry(mjcf, builder, names, ledger)
        add_exclusions(mjcf, builder, names)
        add_closures(mjcf, builder, equalities, equations, names, ledger)
        add_actuators(mjcf, builder, names, ledger)
        add_keyframes(mjcf, builder, names, ledger)
        add_surroundings(mjcf, builder, names)
        add_sensors(mjcf, builder, names, ledger)
        add_softness(mjcf, builder, equalities, names, ledger)
        model = builder.model()
    except DalembertError as error:
        if str(error).startswith(tuple({place.label for place, _ in mjcf.source.places})):
            raise
        raise document.error(document.root, str(error)) from None
    places = {name: mjcf.where("body", i) for i, name in enumerate(names.bodies)}
    places |= {name: mjcf.where("joint", j) for j, name in enumerate(names.joints[: mjcf.m.njnt])}
    diagnose(ledger, model, lambda name: places.get(name, document.where(document.root)))
    return model
