"""Contracts: written into metadata, read back, completed by others', and refused by name where they make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.control import Contract, Observed

FULL = Contract(
    joints=("hip", "knee"),
    period=0.02,
    pd_period=0.005,
    action="position",
    scale=0.25,
    offset=(0.1, -0.2),
    clip=10.0,
    delay=0.02,
    default=(0.3, 1.0 / 3.0),
    kp=(20.0, 30.0),
    kd=0.5,
    effort=(23.5, 45.0),
    observe=[Observed("base_ang_vel", scale=(0.25, 0.5, 1.0), history=3), "actions", {"name": "gait", "size": 2}],
    stack="terms",
)


def test_metadata_reads_back():
    entries = FULL.to_metadata()
    assert all(isinstance(x, str) for pair in entries.items() for x in pair)
    assert Contract.from_metadata(entries) == FULL
    assert Contract.from_metadata(Contract().to_metadata()) == Contract()
    assert Contract.of(vars(FULL)) == FULL
    assert FULL.scale == (0.25, 0.25) and FULL.observe[2] == Observed("gait", 2)


def test_metadata_as_others_write_it():
    entries = {
        "run_path": "somewhere/else",
        "joint_names": "hip,knee",
        "joint_stiffness": "20.000,30.000",
        "joint_damping": "1.000, 2.000",
        "default_joint_pos": "[0.1, 0.2]",
        "action_scale": "0.5",
        "observation_names": "command,joint_pos, actions",
        "observation_history_lengths": "1,5,1",
    }
    read = Contract.from_metadata(entries)
    assert read.joints == ("hip", "knee") and read.kp == (20.0, 30.0) and read.kd == (1.0, 2.0)
    assert read.default == (0.1, 0.2) and read.scale == (0.5, 0.5) and read.period is None
    assert [(x.name, x.history) for x in read.observe] == [("command", 1), ("joint_pos", 5), ("actions", 1)]


def test_what_is_stated_later_stands_in_its_place():
    read = Contract.of({"joint_names": ["hip", "knee"], "kp": 20.0, "rate": 50.0})
    both = read.with_others(Contract.of({"kp": (1.0, 2.0), "pd_period": 1e-3}))
    assert (both.joints, both.kp, both.period, both.pd_period) == (("hip", "knee"), (1.0, 2.0), 0.02, 1e-3)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"joints": ("a", "a")}, "'a' twice"),
        ({"joints": ()}, "joints is empty"),
        ({"joints": ("a", "b"), "kp": (1.0, 2.0, 3.0)}, "kp has 3 numbers for 2 joints"),
        ({"kp": np.nan}, "kp is nan"),
        ({"kd": -1.0}, "kd is -1"),
        ({"period": 0.0}, "period is 0.0"),
        ({"period": np.inf}, "period is inf"),
        ({"rate": 0.0}, "rate is 0.0"),
        ({"delay": -1e-3}, "delay is -0.001"),
        ({"action": "posture"}, "unknown action 'posture'.*position"),
        ({"stack": "rows"}, "unknown stack"),
        ({"gain": 1.0}, "unknown field 'gain'"),
        ({"observe": [{"scale": 1.0}]}, "no name"),
        ({"observe": [{"name": "gait", "sise": 1}]}, "unknown field 'sise'"),
        ({"observe": [{"name": "gait", "history": 0}]}, "history is 0"),
        ({"observe": [{"name": "gait", "scale": "two"}]}, "scale is two"),
        ({"observe": [3]}, "is int"),
    ],
)
def test_what_makes_no_sense_is_named(wrong, named):
    with pytest.raises(DalembertError, match=named):
        Contract.of(wrong)


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"contract_version": "2"}, "contract_version is '2', expected 1"),
        ({"joint_stiffness": "20,stiff"}, "joint_stiffness is '20,stiff'"),
        ({"joint_stiffness": "1," * 1_000_000}, "characters"),
        ({"observations": "[{"}, "expected a list in JSON"),
        ({"observations": "[" * 100_000}, "expected a list in JSON"),
        ({"observation_names": "a,b", "observation_history_lengths": "1"}, "observation_history_lengths"),
        ({"observation_names": "a", "observation_history_lengths": "1e400"}, "observation_history_lengths"),
    ],
)
def test_damaged_metadata_is_named(entries, named):
    with pytest.raises(DalembertError, match=named):
        Contract.from_metadata(entries, "x.onnx")


def test_names_with_commas_cannot_be_written():
    with pytest.raises(DalembertError, match="comma"):
        Contract(joints=("a,b",)).to_metadata()
