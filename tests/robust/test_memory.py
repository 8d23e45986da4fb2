"""Memory: a batch needs its inputs, its outputs and little more; compiling stays small on the largest robot."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalembert.cli.benchmark.cases import example_folder
from robust import processes

SPARE = 50e6  # bytes beside inputs and outputs
COMPILING = 1e9  # bytes of a whole process that compiles

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc")

PEAK = """
import numpy as np
from pathlib import Path

def memory(field):
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return 1024 * int(line.split()[1])
"""
# 100 MB of configurations of the UR5; what is there from the beginning is written to, so that its pages count
BATCH = (
    PEAK
    + """
from dalembert import load
r = load("ur5")
n = 2_000_000
q = {make}
assert q.nbytes > 90e6 and len(q) > 1e6
out = {out}
if out is not None:
    out[...] = np.nan
r.gravity(q[:5000], threads=2)
before = memory("VmRSS")
assert before > 90e6
try:
    result = r.gravity(q, out=out, threads=2)
except ValueError as error:
    result = np.empty(0)
    assert "{error}" and "{error}" in str(error), error
else:
    for k in (0, len(q) // 3, len(q) - 1):
        assert np.array_equal(result[k], r.gravity(q[k]))
print(memory("VmHWM") - before - (result.nbytes if out is None else 0))
"""
)
ROWS = "np.full((n, 6), 0.5)"
CASES = {
    "dense": (ROWS, "None"),
    "given out": (ROWS, "np.empty((n, 6))"),
    "float32": ("np.full((2 * n, 6), 0.5, np.float32)", "None"),
    "float16": ("np.full((4 * n, 6), 0.5, np.float16)", "None"),
    "integers": ("np.ones((n, 6), np.int64)", "None"),
    "big-endian": ("np.full((n, 6), 0.5, '>f8')", "None"),
    "reversed": (ROWS + "[::-1]", "None"),
    "columns apart": ("np.full((n, 12), 0.5)[:, ::2]", "None"),
    "column order": ("np.full((6, n), 0.5).T", "None"),
    "blocks": ("np.full((2000, 1000, 6), 0.5).transpose(1, 0, 2)", "None"),
    "columns of out apart": (ROWS, "np.empty((n, 12))[:, ::2]"),
    "memory map": ("np.memmap('{file}', np.float64, 'w+', shape=(n, 6))\nq[...] = 0.5", "None"),
    "subclass as out": (ROWS, "np.empty((n, 6)).view(np.recarray)"),
}


LIKE_OTHERS = ("big-endian", "integers", "reversed", "column order", "columns of out apart", "subclass as out")


@pytest.mark.parametrize(
    ("make", "out"),
    [pytest.param(*case, id=name, marks=[pytest.mark.long] * (name in LIKE_OTHERS)) for name, case in CASES.items()],
)
def test_batch(make, out, tmp_path):
    code = BATCH.replace("{make}", make).replace("{out}", out).replace("{error}", "")
    code = code.replace("len(q) > 1e6", "True") if "2000" in make else code
    growth, _ = processes.run(code.replace("{file}", str(tmp_path / "map")))
    assert int(growth) < SPARE


def test_batch_broadcast():
    """Views count with the states they have, not with those they stand for."""
    code = (
        PEAK
        + """
from dalembert import Wrench, load
r = load("ur5")
q, v = np.full((2000, 1, 6), 0.5), np.full((2000, 6), 0.25)
wide = np.broadcast_to(q, (2000, 2000, 6))
out = np.full((2000, 2000, 6), np.nan)
r.bias(q[:3], v[:3])
before = memory("VmRSS")
r.bias(q, v, out=out)
r.bias(wide, v, out=out)
assert np.array_equal(out[7, 9], r.bias(q[7, 0], v[9]))
push = Wrench(force=np.broadcast_to([0, 0, 1.0], (2000, 2000, 3)), frame="tool0")
r.bias(q, v, external=[push] * 2, out=out)
print(memory("VmHWM") - before)
"""
    )
    assert int(processes.run(code)[0]) < SPARE


@pytest.mark.parametrize("spoil", ["q[-7, 3] = np.nan", "q[...] = np.nan"])
def test_batch_with_an_error(spoil):
    """Looking for the bad state takes no memory either."""
    make = ROWS + "\n" + spoil
    code = BATCH.replace("{make}", make).replace("{out}", "None").replace("{error}", "is nan")
    code = code.replace("r.gravity(q[:5000], threads=2)", "r.gravity(q[:5000], threads=2, check=False)")
    growth, _ = processes.run(code)
    assert int(growth) - 8 * 6 * 2_000_000 < SPARE  # the result had been made when the error was found


@pytest.mark.parametrize(
    "names",
    [
        pytest.param("inverse_dynamics mass_matrix forward_dynamics", id="the usual functions"),
        pytest.param("", id="every function", marks=pytest.mark.long),
    ],
)
def test_compiling_functions_of_talos(names):
    talos = example_folder() and example_folder() / "talos_data/robots/talos_full_v2.urdf"
    if talos is None or not talos.exists():
        pytest.skip("example-robot-data is not installed")
    code = f"""
from dalembert import load
from dalembert.quantities import CATALOGUE
r = load({str(talos)!r}, base="free", mimic="free")
assert r.nv >= 38
of_shapes = {{"distance", "witnesses", "distance_jacobian"}}  # of all its meshes at once: refused
names = {names.split()} or [
    name for name, quantity in CATALOGUE.items() if name not in of_shapes and not quantity.refuses(r.model)
]
r.compile(*names, batch=True, frame=r.frames[-1].name, accelerations=())
print(memory("VmHWM"))
"""
    assert int(processes.run(PEAK + code, cache="off")[0]) < COMPILING
