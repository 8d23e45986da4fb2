from __future__ import annotations

import pytest

from dalembert import load


@pytest.fixture(scope="session")
def quadruped():
    return load("quadruped")


@pytest.fixture(scope="session")
def arm():
    return load("ur5")
