"""Random robots, one state each, on which every law is tried.

On a fixed and on a free base, with and without joint effects, and with joints that follow others. Two trees of each
in `make test`, two more in `make test-long`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from dalembert.model import Model
from trees import ALL_KINDS, random_model, random_state, with_stribeck


class Case(NamedTuple):
    model: Model
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    rng: np.random.Generator


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))]


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed{seed}")
def seed(request):
    return request.param


@pytest.fixture(params=["fixed", "free"])
def base(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["bare", "bare_coupled"])
def bare(request, seed, base) -> Case:
    """A tree with one joint of every type, without rotors, friction, damping and springs."""
    return _case(seed, base, effects=False, coupled=request.param)


@pytest.fixture(params=["bare", "effects", "coupled"])
def case(request, seed, base) -> Case:
    """A tree with one joint of every type; coupled: with joint effects, and joints that follow others."""
    return _case(seed, base, effects=request.param != "bare", coupled=request.param == "coupled")


@pytest.fixture(params=[False, True], ids=["effects", "coupled"])
def floating(request, seed) -> Case:
    """A tree with one joint of every type, on a free base."""
    return _case(seed, "free", effects=True, coupled=request.param)


@pytest.fixture(params=[0, 1], ids=["even_kinds", "odd_kinds"])
def half(request):
    """Which half of the joint types a small tree has."""
    return request.param


@pytest.fixture(params=["bare", "effects", "coupled"])
def small(request, half, base) -> Case:
    """A tree with every other joint type: for laws of what is compiled."""
    rng = np.random.default_rng([half, base == "free", request.param != "bare"])
    kinds = ALL_KINDS[half::2]
    effects, coupled = request.param != "bare", request.param == "coupled"
    model = with_stribeck(
        random_model(rng, n_bodies=len(kinds), kinds=kinds, base=base, effects=effects, coupled=coupled)
    )
    return Case(model, *random_state(rng, model), rng)


def _case(seed: int, base: str, effects: bool, coupled: bool) -> Case:
    rng = np.random.default_rng([seed, base == "free", effects])
    model = with_stribeck(random_model(rng, n_bodies=10, base=base, effects=effects, coupled=coupled))
    return Case(model, *random_state(rng, model), rng)
