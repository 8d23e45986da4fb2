"""`dalembert compile` and `cache`: machine code ahead of time, and the folder that keeps it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer

from dalembert.compiler.backends import cache
from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.progress import Progress
from dalembert.quantities import CATALOGUE
from dalembert.robot import Robot

from .common import Json, RobotFiles, Source, counted, print_json

QUANTITIES = {
    "dynamics": ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity"),
    "derivatives": ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"),
    "kinematics": ("poses", "center_of_mass", "centroidal_momentum"),
}

STEP = 1e-3  # s


def compile_programs(
    robot: Source,
    files: RobotFiles,
    purposes: Annotated[
        str,
        typer.Option(
            "--for",
            help="dynamics, derivatives, kinematics, simulation, rollouts, contact, or names of quantities, "
            "separated by commas.",
        ),
    ] = "dynamics",
    batch: Annotated[bool, typer.Option("--batch", help="Quantities for batches too.")] = False,
    float32: Annotated[bool, typer.Option("--float32", help="Quantities in single precision too.")] = False,
    frame: Annotated[str | None, typer.Option(help="Frame of pose, jacobian and the like.")] = None,
    as_json: Json = False,
) -> int:
    """Compile what a program will need, so that its first calls take the code from the cache.

    Contact is that of `Contact()` with the default step of 1 ms; other settings are other programs.

    Example: `dalembert compile ur5 --for dynamics,derivatives --batch`
    """
    from dalembert.compiler.execute import host  # loads LLVM

    loaded = files.open(robot)
    work: dict[str, Callable[[Robot], object]] = {}
    for purpose in dict.fromkeys(word.strip() for word in purposes.split(",")):
        if purpose in MOTIONS:
            work[purpose] = MOTIONS[purpose]
            continue
        for name in QUANTITIES.get(purpose, (purpose,)):
            if name not in CATALOGUE:
                raise unknown("purpose or quantity", name, [*QUANTITIES, *MOTIONS, *CATALOGUE], "--for")
            work[name] = _compiled(name, batch, float32, frame)
    seconds = {}
    with Progress("compiling", len(work), "programs") as task:
        for done, (name, compile_it) in enumerate(work.items()):
            task.show(done, name)
            begin = time.perf_counter()
            compile_it(loaded)
            host.complete()
            seconds[name] = time.perf_counter() - begin
    held = cache.usage()
    if as_json:
        print_json({"seconds": seconds, "folder": held.folder, "megabytes": held.megabytes})
        return 0
    for name, taken in seconds.items():
        print(f"{name}: {taken:.2f} s")
    kept = f"kept in {held.folder} ({held.megabytes:.1f} MB)"
    print(kept if held.folder else "The cache is off: nothing of it is kept.")
    return 0


def _compiled(name: str, batch: bool, float32: bool, frame: str | None) -> Callable[[Robot], object]:
    def compile_it(robot: Robot) -> None:
        for dtype in (np.float64, np.float32) if float32 else (np.float64,):
            for rows in (False, True) if batch else (False,):
                robot.compile(name, batch=rows, dtype=dtype, frame=frame)

    return compile_it


def _simulation(robot: Robot) -> None:
    robot.simulate(*robot.home(), duration=1e-3)


def _rollouts(robot: Robot) -> None:
    q, v = robot.home()
    robot.rollout(np.tile(q, (2, 1)), np.tile(v, (2, 1)), step=STEP, steps=1)
    robot.stepper(step=STEP)(q, v)


def _contact(robot: Robot) -> None:
    """Compile runs, batches and single steps with rigid contact."""
    contact = Contact()
    q, v = robot.home()
    robot.simulate(q, v, 2 * STEP, contact=contact, step=STEP)
    robot.rollout(np.tile(q, (2, 1)), np.tile(v, (2, 1)), step=STEP, steps=1, contact=contact)
    step = robot.stepper(step=STEP, contact=contact)
    step(q, v)
    step(q, v, None, step.start(q, v))


MOTIONS: dict[str, Callable[[Robot], object]] = {
    "simulation": _simulation,
    "rollouts": _rollouts,
    "contact": _contact,
}


def show_cache(
    check: Annotated[bool, typer.Option("--check", help="Read all entries; remove what is damaged.")] = False,
    limit: Annotated[
        float | None, typer.Option(min=0.0, help="Keep at most that many MB: what was not used for longest goes.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries.")] = False,
    as_json: Json = False,
) -> int:
    """Show, check, bound or clear the folder of compiled code. Exit code 1 if an entry was damaged.

    Example: `dalembert cache --check`; `dalembert cache --limit 200`
    """
    if clear and limit is not None:
        raise DalembertError("cache: --clear and --limit exclude each other")
    broken = cache.drop_damaged() if check else []
    keep = 0.0 if clear else limit
    removed = len(broken) + (0 if keep is None else cache.shrink(keep))
    held = cache.usage()
    if as_json:
        print_json(vars(held) | {"damaged": broken, "removed": removed})
    elif held.folder is None:
        print("The cache is off, or its folder cannot be used: every process compiles anew.")
    else:
        print(
            f"{held.folder}: {counted(held.entries, 'program')}, {held.megabytes:.1f} MB of at most {held.limit:g} MB"
        )
        if check:
            print(f"{counted(len(broken), 'damaged program')} removed" if broken else "all programs are whole")
        if removed > len(broken):
            print(f"{counted(removed - len(broken), 'program')} removed")
    return 1 if broken else 0
