"""Mutated MJCF files: a model or a DalembertError, nothing else, and soon."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dalembert.formats import read_mjcf
from fuzz.mutations import double, drop, drop_attribute, flip_bytes, one, rounds, swap, trial, truncate

MOST = 500 * 2**20  # [bytes] that reading may add to the process

ARM = """<mujoco model="arm">
  <compiler angle="degree" autolimits="true" balanceinertia="false"/>
  <option timestep="0.002" gravity="0 0 -9.81" density="0"><flag contact="enable"/></option>
  <default>
    <joint damping="0.5" armature="0.01"/>
    <default class="small"><geom type="capsule" size="0.02 0.1" rgba="1 0 0 1"/></default>
  </default>
  <asset>
    <texture name="grid" builtin="checker" width="100" height="100" rgb1="1 1 1" rgb2="0 0 0"/>
    <material name="grid" texture="grid" rgba="0.5 0.5 0.5 1"/>
    <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.1 0.1"/>
    <hfield name="hills" nrow="4" ncol="4" size="1 1 1 0.1"/>
  </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="1 1 0.1" material="grid"/>
    <body name="base" pos="0 0 0.5" euler="0 0 30">
      <joint name="yaw" axis="0 0 1" range="-90 90" frictionloss="0.1" ref="10" springref="5" stiffness="2"/>
      <inertial pos="0 0 0.1" mass="1.5" diaginertia="0.01 0.02 0.02"/>
      <geom type="box" size="0.1 0.1 0.1"/>
      <body name="upper" pos="0.1 0 0.2">
        <joint name="x" type="slide" axis="1 0 0" range="-1 1"/>
        <joint name="pitch" axis="0 1 0" pos="0 0 -0.1"/>
        <geom class="small" fromto="0 0 0 0 0 0.5"/>
        <site name="elbow" pos="0 0 0.5"/>
        <body name="hand" pos="0 0 0.5" quat="1 0 0.1 0">
          <joint name="wrist" type="ball" damping="0.1"/>
          <geom type="mesh" mesh="wedge" mass="0.3"/>
          <replicate count="2" euler="0 0 90"><geom size="0.03" pos="0.1 0 0"/></replicate>
        </body>
      </body>
    </body>
    <body name="box" pos="1 0 0">
      <freejoint name="loose"/><geom type="ellipsoid" size="0.1 0.2 0.3"/><site name="top"/>
    </body>
    <frame pos="0 1 0">
      <body name="finger"><joint name="grip" axis="0 0 1"/><geom type="cylinder" size="0.02 0.1"/></body>
    </frame>
  </worldbody>
  <tendon>
    <fixed name="both"><joint joint="yaw" coef="1"/><joint joint="grip" coef="-2"/></fixed>
    <spatial name="cord" stiffness="3"><site site="elbow"/><site site="top"/></spatial>
  </tendon>
  <equality>
    <joint joint1="pitch" joint2="yaw" polycoef="0 2 0 0 0"/>
    <joint joint1="x" joint2="grip" polycoef="0 1 0.5 0 0"/>
    <connect body1="hand" body2="box" anchor="0 0 0.1"/>
    <weld site1="elbow" site2="top" active="false"/>
    <tendon tendon1="both"/>
  </equality>
  <contact><exclude body1="base" body2="upper"/></contact>
  <actuator>
    <motor name="m1" joint="yaw" gear="50" ctrlrange="-1 1" ctrllimited="true"/>
    <position joint="pitch" kp="10" forcerange="-5 5"/>
    <general tendon="cord" gainprm="2"/>
  </actuator>
  <sensor><jointpos joint="yaw"/><touch site="elbow"/></sensor>
  <keyframe><key name="home" qpos="0 0 0 1 0 0 0 1 0 0 1 0 0 0 0"/></keyframe>
</mujoco>
"""
ROBOT = """<mujoco>
  <worldbody>
    <body name="torso" pos="0 0 1"><freejoint/><geom size="0.1"/>
      <body name="leg" pos="0 0 -0.2"><joint name="hip" axis="0 1 0" pos="0 0 0.1"/><geom size="0.05"/></body>
    </body>
  </worldbody>
</mujoco>
"""

NUMBERS = ["0", "-0", "-1", "1e30", "1e31", "1e-320", "nan", "inf", "1e999", "", " ", "x", "1 2", "0 0 0", "1e9", "٣"]
NAMES = ["world", "base", "yaw", "", "\t", "free", "ball", "hinge", "true", "auto", "arm.xml", "/dev/zero", ".."]
TAGS = [
    "body", "joint", "geom", "site", "inertial", "freejoint", "frame", "replicate", "composite", "flexcomp", "include",
    "default", "option", "compiler", "weld", "connect", "fixed", "spatial", "motor", "muscle", "plugin", "attach",
    "model", "mesh", "hfield", "mujoco", "skin", "size", "worldbody", "equality",
]  # fmt: skip
WORDS = ["type", "count", "file", "class", "stiffness", "polycoef", "mass", "range", "gear", "joint", "body1", "params"]


def add_element(data: bytes, rng: random.Random) -> bytes:
    words = " ".join(f'{word}="{rng.choice(NUMBERS + NAMES)}"' for word in rng.sample(WORDS, rng.randint(0, 3)))
    return one(rb"(?<=>)\n", data, rng, f"<{rng.choice(TAGS)} {words}/>".encode())


def add_attribute(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?<=<)\w+", data, rng, rb"\0 " + f'{rng.choice(WORDS)}="{rng.choice(NUMBERS + NAMES)}"'.encode())


def test_the_files_are_sound_before_they_are_mutated():
    assert [read_mjcf(text)[0].nv for text in (ARM, ROBOT)] == [11, 7]


EMPTY = rb"<\w+ [^<>]*/>"
MUTATIONS = {
    "flip_bytes": flip_bytes,
    "truncate": truncate,
    "drop_attribute": drop_attribute,
    "swap_number": swap(rb"(?<=[\" ])-?[0-9.]+(?:e-?\d+)?(?=[\" ])", NUMBERS),
    "swap_name": swap(rb'(?<=")[A-Za-z]\w*(?=")', NAMES),
    "swap_tag": swap(rb"(?<=<)[a-z]+(?=[ />])", TAGS),
    "drop_element": drop(EMPTY),
    "double_element": double(EMPTY + rb"|<body.*?</body>|<default.*?</default>"),
    "add_element": add_element,
    "add_attribute": add_attribute,
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_files_give_a_model_or_a_clear_error(mutation: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # relative paths are looked up here
    before = _memory()
    sources = [ARM.encode(), ARM.encode(), ROBOT.encode()]
    trial(MUTATIONS[mutation], sources, read_mjcf, rounds(MUTATIONS, 900), breaks_all=mutation == "truncate")
    assert _memory() - before < MOST
    assert not list(Path().iterdir()), "nothing is written"


def _memory() -> int:
    """Largest resident size of the process so far [bytes]."""
    try:
        import resource
    except ImportError:  # Windows does not tell
        return 0
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
