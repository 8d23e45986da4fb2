"""Mutated MJCF files: a model or a DalembertError, nothing else, and soon. DALEMBERT_FUZZ sets how many."""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_mjcf

SEED = 20260101
TOTAL = int(os.environ.get("DALEMBERT_FUZZ", "900"))  # files, over all mutations
SLOWEST = 2.0  # [s] for one file of some kB
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


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 8))):
        changed[rng.randrange(len(changed))] = rng.randrange(256) if rng.random() < 0.2 else rng.randrange(32, 127)
    return bytes(changed)


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def one(pattern: bytes, data: bytes, rng: random.Random, replacement: bytes) -> bytes:
    """Replace one match, chosen at random."""
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + replacement.replace(b"\\0", match.group()) + data[match.end() :]


def drop_attribute(data: bytes, rng: random.Random) -> bytes:
    return one(rb' \w+="[^"]*"', data, rng, b"")


def swap_number(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?<=[\" ])-?[0-9.]+(?:e-?\d+)?(?=[\" ])", data, rng, rng.choice(NUMBERS).encode())


def swap_name(data: bytes, rng: random.Random) -> bytes:
    return one(rb'(?<=")[A-Za-z]\w*(?=")', data, rng, rng.choice(NAMES).encode())


def swap_tag(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?<=<)[a-z]+(?=[ />])", data, rng, rng.choice(TAGS).encode())


def drop_element(data: bytes, rng: random.Random) -> bytes:
    return one(rb"<\w+ [^<>]*/>", data, rng, b"")


def double_element(data: bytes, rng: random.Random) -> bytes:
    return one(rb"<\w+ [^<>]*/>|<body.*?</body>|<default.*?</default>", data, rng, rb"\0\0")


def add_element(data: bytes, rng: random.Random) -> bytes:
    words = " ".join(f'{word}="{rng.choice(NUMBERS + NAMES)}"' for word in rng.sample(WORDS, rng.randint(0, 3)))
    return one(rb"(?<=>)\n", data, rng, f"<{rng.choice(TAGS)} {words}/>".encode())


def add_attribute(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?<=<)\w+", data, rng, rb"\0 " + f'{rng.choice(WORDS)}="{rng.choice(NUMBERS + NAMES)}"'.encode())


def test_the_files_are_sound_before_they_are_mutated():
    assert [read_mjcf(text)[0].nv for text in (ARM, ROBOT)] == [11, 7]


MUTATIONS = [
    flip_bytes, truncate, drop_attribute, swap_number, swap_name, swap_tag, drop_element, double_element, add_element,
    add_attribute,
]  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutated_files_give_a_model_or_a_clear_error(mutation, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # relative paths are looked up here
    rng = random.Random(SEED)
    outcomes = {"model": 0, "error": 0}
    before = _memory()
    for _ in range(max(1, TOTAL // len(MUTATIONS))):
        data = rng.choice((ARM, ARM, ROBOT)).encode()
        for _ in range(rng.choice((1, 1, 3))):
            data = mutation(data, rng) or b"<"
        options = {"base": rng.choice((None, None, "free", "fixed")), "mimic": rng.choice(("couple", "free"))}
        started = time.perf_counter()
        try:
            model, log = read_mjcf(data, strict=rng.random() < 0.2, **options)
        except DalembertError as error:
            assert str(error).startswith(("<bytes>", "strict=True")), error
            outcomes["error"] += 1
        else:
            for body in model.bodies:
                assert body.parent < body.index
                assert np.all(np.isfinite(body.inertia.parameters())) and np.all(np.isfinite(body.placement.matrix()))
            assert all(finding.where.startswith("<bytes>:") for finding in log)
            outcomes["model"] += 1
        assert time.perf_counter() - started < SLOWEST, data
    assert _memory() - before < MOST
    assert outcomes["error"] > 0, "the mutations must reach the errors"
    assert outcomes["model"] > 0 or mutation is truncate, "and must not break every file"
    assert not list(Path().iterdir()), "nothing is written"


def _memory() -> int:
    """Largest resident size of the process so far [bytes]."""
    try:
        import resource
    except ImportError:  # Windows does not tell
        return 0
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
