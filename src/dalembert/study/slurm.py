"""Studies as arrays of SLURM jobs, which fill one folder together.

Each job of the array is this module as a program: it reads the task, takes rows that nobody has written yet, and ends
when there are none. Nothing goes through a server: the folder must be one that all nodes see.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dalembert.errors import DalembertError
from dalembert.files import replacing, write_text

from . import parts
from .work import Task, packed, unpacked

TASK, SCRIPT, LOGS = "task.pickle", "array.sh", "logs"
JOBS = 16  # of an array, unless `workers` says how many
POLL = 2.0  # [s] between two looks at folder and queue
AGAIN = 3  # arrays without a new row before the study gives up
TAIL = 400  # characters of a job's log in the error


def run_array(task: Task, path: Path, count: int | None, shown: Callable[[int], None]) -> None:
    """Submit arrays until every row is there. Options of sbatch are its own variables, such as SBATCH_PARTITION."""
    with replacing(path / TASK) as temporary:
        temporary.write_bytes(packed(task))
    (path / LOGS).mkdir(exist_ok=True)
    command = f"exec {shlex.quote(sys.executable)} -m dalembert.study.slurm {shlex.quote(str(path.resolve()))}"
    write_text(path / SCRIPT, f"#!/bin/sh\n{command}\n")
    total, failed, number = len(task.draw), 0, ""
    left = _left(path, total)
    try:
        while left:
            number = _submitted(path, min(count or JOBS, max(1, left // 2)))
            before = left
            while left and _running(number):
                time.sleep(POLL)
                left = _left(path, total)
                shown(total - left)
            left = _left(path, total)
            failed = failed + 1 if left == before else 0
            if failed >= AGAIN:
                raise DalembertError(
                    f"executor 'slurm': the jobs end without a row: {_last_words(path)}: see {path / LOGS}"
                )
        shown(total)
    finally:
        if number:
            subprocess.run(["scancel", number], capture_output=True)


def check() -> None:
    """Refuse machines without SLURM."""
    for program in ("sbatch", "squeue", "scancel"):
        if shutil.which(program) is None:
            raise DalembertError(f"executor 'slurm': there is no {program} here: run it on a node that submits jobs")


def _submitted(path: Path, count: int) -> str:
    """The number of a new array of jobs."""
    done = subprocess.run(
        [
            "sbatch",
            "--parsable",
            f"--array=0-{count - 1}",
            "--job-name=dalembert-study",
            f"--output={path.resolve() / LOGS / '%A_%a.log'}",
            str(path.resolve() / SCRIPT),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise DalembertError(f"executor 'slurm': sbatch refused: {' '.join(done.stderr.split()) or done.returncode}")
    return done.stdout.strip().split(";")[0]


def _running(number: str) -> bool:
    """Whether the queue still has jobs of the array; a queue that does not answer may have some."""
    done = subprocess.run(["squeue", "--noheader", "--jobs", number], capture_output=True, text=True)
    return bool(done.stdout.strip()) or (done.returncode != 0 and "invalid job id" not in done.stderr.lower())


def _left(path: Path, total: int) -> int:
    return sum(end - begin for begin, end in parts.missing(path, total))


def _last_words(path: Path) -> str:
    """The end of the newest log of a job."""
    logs = sorted((path / LOGS).glob("*.log"), key=lambda log: log.stat().st_mtime)
    text = logs[-1].read_text("utf-8", "replace").strip() if logs else ""
    return " ".join(text[-TAIL:].split()) or "no job wrote a log"


def main(folder: str) -> int:
    """One job of an array: rows of the folder that are missing."""
    from .job import fill

    path = Path(folder)
    task = unpacked((path / TASK).read_bytes())
    try:
        fill(task, path)
    except DalembertError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
