"""NumPy's linear algebra on one thread.

OpenBLAS starts threads for products of a few dozen rows, also within an eigenvalue problem, and then waits for them:
many small problems in turn take up to a hundred times longer than on one thread wherever the cores are busy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

FOLDERS = ("../numpy.libs", ".dylibs")  # beside NumPy's package, where its wheels keep their libraries
NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run NumPy's linear algebra on one thread; of a BLAS other than that of NumPy's wheels nothing changes."""
    control = _control()
    if control is None:
        yield
        return
    get, put = control
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


@cache
def _control() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The functions of NumPy's own OpenBLAS that read and set the number of threads."""
    package = Path(np.__file__).parent
    for path in (path for folder in FOLDERS for path in sorted((package / folder).glob("*openblas*"))):
        try:
            library = ctypes.CDLL(str(path))  # loaded by NumPy before
        except OSError:
            continue
        for name in NAMES:
            if hasattr(library, name.format("set")) and hasattr(library, name.format("get")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None
