"""The one rule by which a model explains the torques of a log, joint by joint."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.audit.verdicts import overall, verdicts

ROWS = 4000


def judged(before: float | None, after: float, noise: float = 1e-3) -> str:
    """The status of a joint of torque 1 of which models leave so much, beside one that passes."""
    t = np.linspace(0.0, 10.0, ROWS)
    wave, slow = np.sqrt(2.0) * np.sin(2.0 * np.pi * t), np.sqrt(2.0) * np.cos(np.pi * t)
    measured = wave + noise * np.random.default_rng(0).normal(size=ROWS)
    sound = 100.0 * wave
    torques = (np.column_stack([sound, x]) for x in (measured, wave + after * slow, wave + (before or 0.0) * slow))
    listed = verdicts(["strong", "weak"], *(list(torques)[: 2 if before is None else 3]))
    assert listed[0].status == "passed" and overall(listed) == listed[1].status
    return listed[1].status


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (0.5, 0.04, "passed"),
        (None, 0.04, "passed"),
        (0.01, 0.04, "in doubt"),  # the file's own model is nearer
        (0.5, 0.1, "in doubt"),
        (0.05, 0.1, "failed"),
        (2.0, 1.5, "failed"),
    ],
)
def test_a_joint_passes_by_its_own_torque(before, after, status):
    assert judged(before, after) == status


def test_no_model_is_better_than_the_noise():
    assert judged(0.0, 0.02, noise=0.1) == "passed"
    assert judged(0.0, 0.02, noise=1.0) == "in doubt"  # too little torque to judge by
