"""`dalembert learn`: a task that trains, with progress and a live curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.errors import DalembertError
from dalembert.progress import Progress

from .common import Json, console, print_json, table

LEVELS = "▁▂▃▄▅▆▇█"
WIDTH = 60  # characters of the curve


def run(
    task: Annotated[str, typer.Argument(help="Name of a task; 'list' shows them.")],
    minutes: Annotated[float, typer.Option(help="How long to train, at most [min].")] = 10.0,
    envs: Annotated[int | None, typer.Option(help="Environments; default those of the task.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads of the environments; default all processors.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the policy, its ONNX file and its curve.")] = Path("learned"),
    enough: Annotated[bool, typer.Option(help="Stop when the task counts as learned.")] = True,
    as_json: Json = False,
) -> int:
    """Train a policy for a task with the reference trainer, and write it with its curve.

    Exits with 1 if the task was not learned in the time.

    Example: `dalembert learn cartpole --minutes 2 --out cartpole`
    """
    from dalembert.learn.tasks import TASKS
    from dalembert.learn.tasks import task as task_of

    if task == "list":
        return _listed(list(TASKS.values()), as_json)
    chosen = task_of(task)
    if not minutes > 0.0:
        raise DalembertError(f"--minutes is {minutes:g}, expected above 0")
    if out.exists() and not out.is_dir():
        raise DalembertError(f"--out {out} is a file, expected a folder")
    from dataclasses import replace

    from dalembert.learn.ppo import train

    env, settings = chosen.environment(), chosen.settings()
    settings = settings if envs is None else replace(settings, envs=envs)
    with Progress(f"learning {task}", minutes, "min") as progress:

        def report(numbers: dict[str, float], _: Any) -> bool:
            note = f"{numbers['steps'] / 1e6:.2f} M steps, return {numbers['return']:.3g}"
            progress.show(min(numbers["minutes"], minutes), note)
            return enough and chosen.reached(numbers, env.period)

        policy, curve = train(env, settings, minutes=minutes, seed=seed, threads=threads, report=report)
    learned = chosen.reached(curve[-1], env.period)
    written = _written(out, env, policy, curve, {"task": task, "minutes": minutes, "envs": settings.envs, "seed": seed})
    if as_json:
        print_json({"learned": learned, "written": written, **curve[-1]})
        return 0 if learned else 1
    screen = console()
    screen.print(f"return {_curve([row['return'] for row in curve])}", markup=False)
    last = {name: x for name, x in curve[-1].items() if name not in ("rate", "divergence")}
    screen.print(table(f"{task}: the last update", list(last), [list(last.values())], 3))
    verdict = "learned" if learned else "not learned yet: give it more --minutes"
    screen.print(f"{verdict}; written to {', '.join(written)}", markup=False)
    return 0 if learned else 1


def _written(out: Path, env: Any, policy: Any, curve: list[dict[str, float]], settings: dict[str, Any]) -> list[str]:
    """Write the policy, its ONNX file where ONNX is installed, and the curve; the names of the files."""
    out.mkdir(parents=True, exist_ok=True)
    policy.save(str(out / "policy.pt"))
    lines = [json.dumps(settings), *(json.dumps(row) for row in curve)]
    (out / "curve.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    names = ["policy.pt", "curve.jsonl"]
    try:
        import onnx  # noqa: F401
    except ImportError:
        return [str(out / name) for name in names]
    from dalembert.learn.contract import save_policy

    save_policy(policy, env, out / "policy.onnx")
    return [str(out / name) for name in [*names, "policy.onnx"]]


def _curve(values: list[float]) -> str:
    """A row of bars for a curve."""
    known = [x for x in values if x == x]
    if not known:
        return "-"
    step = max(1, -(-len(known) // WIDTH))
    means = [sum(known[k : k + step]) / len(known[k : k + step]) for k in range(0, len(known), step)]
    low, span = min(means), max(means) - min(means) or 1.0
    bars = "".join(LEVELS[min(7, int(8 * (x - low) / span))] for x in means)
    return f"{bars}  {known[0]:.3g} … {known[-1]:.3g}"


def _listed(tasks: list[Any], as_json: bool) -> int:
    if as_json:
        print_json([{"name": task.name, "about": task.about} for task in tasks])
        return 0
    console().print(table("tasks", ["name", "what is asked"], [[task.name, task.about] for task in tasks]))
    return 0
