"""Where robots come from: what `load` takes, and what it says of what it cannot take."""

from __future__ import annotations

import pytest

from dalembert import DalembertError, load


def test_what_load_says_of_names_that_are_none(tmp_path, monkeypatch) -> None:
    with pytest.raises(DalembertError, match=r"unknown robot 'UR10E': did you mean 'ur10e'.*or give the path"):
        load("UR10E")
    with pytest.raises(DalembertError, match="is a folder, expected a robot file; files end in"):
        load(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    load("2r").save("~/arm.urdf")
    assert load("~/arm.urdf") == load("2r")
    with pytest.raises(DalembertError, match=r"is a folder, expected a robot file; in it: arm\.urdf"):
        load(str(tmp_path))
