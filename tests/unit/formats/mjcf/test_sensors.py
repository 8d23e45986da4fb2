"""Sensors of MJCF files: what is kept, and why others are not."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")

from dalembert.formats.mjcf.reader import read_mjcf

FILE = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1" mass="1"/><site name="s"/>
<body name="b" pos="1 0 0">
<geom size=".1" mass="1"/><site name="welded" type="ellipsoid" size=".1 .2 .3"/></body></body>
<body name="c" pos="0 0 3"><joint name="ball" type="ball"/><geom size=".1" mass="1"/></body></worldbody>
<actuator><motor name="m" joint="j"/><motor name="m2" joint="j"/></actuator>
<sensor>{}</sensor></mujoco>"""


def kept(text):
    model, log = read_mjcf(FILE.format(text))
    return model.sensors, [f"{x.what}: {x.action}" for x in log if "sensor" in x.what]


def test_names_are_those_of_the_file_or_of_the_kind():
    sensors, log = kept('<gyro name="g" site="s"/><gyro site="welded"/><gyro name="gyro1" site="s"/><clock/>')
    assert [sensor.name for sensor in sensors] == ["g", "gyro1", "gyro1_", "clock3"] and not log
    assert [sensor.frame for sensor in sensors] == ["a", "b", "a", ""]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('<gyro site="nowhere"/>', "there is no site 'nowhere'"),
        ("<gyro/>", "there is no site None"),
        ('<magnetometer site="s"/>', "not read"),
        ('<rangefinder site="s"/>', "not read"),
        ('<force site="welded"/>', "without a joint"),
        ('<jointpos joint="ball"/>', "another type"),
        ('<ballquat joint="j"/>', "another type"),
        ('<actuatorfrc actuator="m"/>', "other actuators"),
        ('<framepos objtype="camera" objname="x"/>', "'camera'"),
        ('<gyro site="s" cutoff="much"/>', "not a number"),
        ('<gyro site="s" cutoff="-1"/>', "cutoff is -1"),
    ],
)
def test_what_is_left_out_is_logged(text, why):
    sensors, log = kept(text)
    assert not sensors and len(log) == 1 and why in log[0]


def test_none_at_all():
    assert kept("") == ((), [])
