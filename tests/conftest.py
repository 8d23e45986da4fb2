"""Tests use a compile cache of their own, empty at the start, so that no earlier run or version can help or harm.

Where Python may not write bytecode, as in many containers, processes that tests start would each compile the package's
source anew: their bytecode lies beside that cache, and the working tree stays as it is.

Array libraries that not every machine has: `torch`, `jax`.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from typing import Any

import pytest

from dalembert.compiler.execute.recent import forget

OWNED = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a worker of pytest-xdist inherits the cache of the process that started it
        config.stash[OWNED] = tempfile.mkdtemp(prefix="dalembert-tests-")
        os.environ["DALEMBERT_CACHE"] = os.path.join(config.stash[OWNED], "cache")
    if sys.dont_write_bytecode and not config.getoption("numprocesses", None):  # here tests run
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(os.path.dirname(os.environ["DALEMBERT_CACHE"]), "bytecode")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """Thousands of tests and all libraries stay to the end: the garbage collector need not go through them again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Robots and programs that a file has kept go with its last test.

    Their graphs would take up gigabytes at the end, and a tenth of the time to collect garbage. What is left stays.
    """
    if nextitem is not None and nextitem.path == item.path:
        return
    for kept in vars(sys.modules[item.function.__module__]).values() if isinstance(item, pytest.Function) else ():
        if hasattr(kept, "cache_clear") and kept.__module__ == item.function.__module__:
            kept.cache_clear()
    forget()
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line: which libraries were missing, for how many tests, and what runs them."""
    missing: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if found := re.search(r"could not import '([\w.]+)'", reason):
            missing[found[1].partition(".")[0]] += 1
    if missing:
        counts = ", ".join(f"{name} ({count})" for name, count in missing.most_common())
        terminalreporter.write_line(
            f"left out, since these libraries are not installed: {counts} tests; `make test-torch` installs PyTorch, "
            "`make test-long` tools"
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    if OWNED in config.stash:
        shutil.rmtree(config.stash[OWNED], ignore_errors=True)


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def jax():
    """With 64-bit numbers."""
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", True)
    yield library
    library.config.update("jax_enable_x64", False)
