"""The tutorial as a new user runs it: its Python blocks and its commands, with the programs of a folder.

Called by `make package`: python tests/docs/tutorial.py VENV/bin
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from test_pages import script  # beside this file

PAGE = Path(__file__).parent.parent.parent / "docs" / "tutorial.md"
COMMANDS = (
    ("dalembert", "--version"),
    ("dalembert", "info", "ur5"),
    ("dalembert", "audit", "ur5", "--payload", "5"),
    ("dalembert", "report", "ur5", "--out", "ur5.html"),
)


def main(programs: Path) -> int:
    programs = programs.resolve()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tutorial.py").write_text(script(PAGE.read_text("utf-8")), "utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {
            "MPLBACKEND": "agg",
            "DALEMBERT_CACHE": str(Path(folder) / "cache"),
            "PYTHONIOENCODING": "utf-8",
        }
        for command in (("python", "tutorial.py"), *COMMANDS):
            done = subprocess.run(
                [programs / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True
            )
            if done.returncode:
                print(" ".join(command), done.stdout, done.stderr, sep="\n", file=sys.stderr)
                return 1
        size = (Path(folder) / "ur5.html").stat().st_size
    took = time.perf_counter() - begin
    print(f"the tutorial ran in {took:.0f} s with an empty cache; its report has {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
