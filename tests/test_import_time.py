"""`import dalembert` loads nothing heavy, and using one part does not load what it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "sympy",
    "matplotlib",
    "mujoco",
    "pinocchio",
    "scipy",
    "llvmlite",
    "lxml",
    "casadi",
    "adam",
    "torch",
    "jax",
    "cupy",
)


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after running `code`."""
    show = "import sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_is_light():
    loaded = loaded_after("import dalembert")
    assert "dalembert" in loaded
    assert not loaded & set(HEAVY)


def test_the_check_sees_heavy_modules():
    assert "lxml" in loaded_after("import lxml.etree")


def test_help_of_the_command_line_is_light():
    assert not loaded_after("from dalembert.cli import main; main(['--help'])") & set(HEAVY)


@pytest.fixture(scope="module")
def loaded_by_dynamics() -> set[str]:
    return loaded_after("import dalembert; r = dalembert.load('2r'); r.inverse_dynamics([0, 0], [0, 0], [0, 0])")


@pytest.mark.parametrize("module", ["cupy", "jax", "matplotlib", "mujoco", "pinocchio", "scipy", "sympy", "torch"])
def test_dynamics_need_no_extras(module, loaded_by_dynamics):
    assert "llvmlite" in loaded_by_dynamics
    assert module not in loaded_by_dynamics


def test_import_loads_names_alone():
    """The rooms come when a name of theirs is used first."""
    code = "import dalembert; import sys; print(*(name for name in sys.modules if name.startswith('dalembert')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert set(done.stdout.split()) == {"dalembert", "dalembert.version"}, done.stderr


def test_dynamics_need_no_other_rooms(rooms_of_dynamics):
    rooms = {"audit", "collision", "contact", "control", "dynamics.collision", "editing", "optimal", "sim", "view"}
    assert {"dynamics.algorithms", "compiler.backends", "formats"} <= rooms_of_dynamics
    assert not rooms_of_dynamics & rooms


@pytest.fixture(scope="module")
def rooms_of_dynamics() -> set[str]:
    code = "import dalembert, sys; r = dalembert.load('2r'); r.inverse_dynamics([0, 0], [0, 0], [0, 0])"
    show = "print(*{n.removeprefix('dalembert.') for n in sys.modules if n.startswith('dalembert.')})"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_no_module_hides_a_public_name():
    """Modules become attributes of the package when they are imported, whatever had their name."""
    import dalembert

    modules = {path.stem for path in Path(dalembert.__file__).parent.iterdir()}
    assert not modules & set(dalembert.__all__) - set(dalembert._ROOMS)
