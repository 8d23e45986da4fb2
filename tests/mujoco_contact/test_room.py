"""Only contacts of MuJoCo's model load its room."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert

USES = {
    "stepper": "robot.stepper(1e-3, contact=contact)(q, v)",
    "rollout": "robot.rollout(q, v, np.zeros(robot.nv), step=1e-3, steps=2, contact=contact)",
    "simulate": "robot.simulate(q, v, 2e-3, step=1e-3, contact=contact)",
    "contact_dynamics": "robot.contact_dynamics(q, v, np.zeros(robot.nv), contact=contact)",
}


def rooms_after(contact: str, uses: list[str]) -> list[str]:
    """Modules of the room that a fresh interpreter holds after these uses of the bundled quadruped."""
    code = f"""
import sys
from pathlib import Path
import numpy as np
from dalembert import Contact, load
robot, contact = load("quadruped"), Contact({contact})
q, v = robot.neutral(), np.zeros(robot.nv)
{chr(10).join(uses)}
print(*(name for name in sys.modules if name.startswith("dalembert.mujoco")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_other_models_of_contact_do_not_load_it():
    assert rooms_after("", list(USES.values())) == []


@pytest.mark.parametrize("use", ["stepper", "contact_dynamics"])
def test_its_own_model_loads_it(use):
    """So that the names which the test above looks for are those of the room."""
    assert "dalembert.mujoco.solver" in rooms_after('model="mujoco"', [USES[use]])


def test_no_module_imports_it_when_it_is_loaded():
    """Imports in functions, and those for type checkers, come later or never."""
    package, found = Path(dalembert.__file__).parent, []
    for path in package.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [node.module] if isinstance(node, ast.ImportFrom) else [x.name for x in getattr(node, "names", [])]
            if any(str(name).startswith(("dalembert.mujoco", "mujoco.constraints")) for name in names):
                found.append(path)
    assert found == []
