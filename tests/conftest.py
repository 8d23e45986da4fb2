"""Tests use a compile cache of their own, empty at the start, so that no earlier run or version can help or harm.

Array libraries that not every machine has: `torch`, `jax`.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile

import pytest

OWNED = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist inherits the cache of the process that started it
        return
    config.stash[OWNED] = os.environ["DALEMBERT_CACHE"] = tempfile.mkdtemp(prefix="dalembert-tests-")


def pytest_collection_finish() -> None:
    """Thousands of tests and all libraries stay to the end: the garbage collector need not go through them again."""
    gc.collect()
    gc.freeze()


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
