"""Writes docs/fault_table.md: which faults of single channels in a log are named, robot by robot (some ten minutes).

Run it as `python tests/support/fault_table.py`, with `tests` and `src` on the path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dalembert.progress import Progress
from faulty_logs import FAULTS, HIDDEN, MISSED, NAMED, NOTICED, ROBOTS, arm, verdict_on

PAGE = Path(__file__).parents[2] / "docs" / "fault_table.md"
HEAD = """# Faults of a log, and what identification says

Each fault is put into one channel of a generated log, joint by joint, and the log is fitted with default options. The
logs last 12 s at 100 Hz, with noise of 1 %, masses up to 25 % off
the file's, and friction of a tenth of each torque. The table counts joints:

- **named**: an error or a doubt names the joint and says what the fault is;
- **in doubt**: the joint is named, or does not pass, in other words: exit code 1;
- **not observable**: a robot that can exist explains this log and a second one with the same fault, joint by joint.
  These are last joints that carry nothing but their own friction, which may have any size;
- **not named**: the fault passes. There is none.

The table is that of `tests/support/fault_table.py`; `make test-long` checks each cell.
"""


def cell(found: Sequence[str | None]) -> str:
    """The verdicts on one fault at each joint of a robot, counted."""
    counts = Counter(verdict for verdict in found if verdict is not None)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in (NAMED, NOTICED, HIDDEN, MISSED) if counts[verdict])


def rows() -> dict[str, list[str]]:
    """The cells of the page: fault → one for each robot."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")][2:]
    cells = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return {fault: listed for fault, *listed in cells}


def write() -> None:
    """The page, computed."""
    lines = [HEAD, f"| fault | {' | '.join(ROBOTS)} |", "|---" * (len(ROBOTS) + 1) + "|"]
    robots = [arm(name) for name in ROBOTS]
    with Progress("faults", len(FAULTS)) as task:
        for number, fault in enumerate(FAULTS, 1):
            found = [cell([verdict_on(robot, fault, k) for k in range(robot.nv)]) for robot in robots]
            lines.append(f"| {fault} | {' | '.join(found)} |")
            task.show(number)
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    write()
