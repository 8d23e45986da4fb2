"""Self-contained C for a microcontroller: source, header and a test vector in a folder of your choice."""

import tempfile
from pathlib import Path

from dalembert import load

robot = load("ur5")
with tempfile.TemporaryDirectory() as folder:
    robot.export("inverse_dynamics", "c", folder)
    files = sorted(path.name for path in Path(folder).iterdir())
print("files:", ", ".join(files))
print("operations:", robot.operations("inverse_dynamics"))
assert any(name.endswith(".c") for name in files) and any(name.endswith(".h") for name in files)
assert "malloc" not in robot.source("inverse_dynamics", "c")
