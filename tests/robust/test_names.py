"""Names that do not exist: the error gives the nearest valid one and lists some."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Wrench, load
from robust.messages import raises

ARM = load("ur5")
Q = np.zeros(6)


def test_structure():
    joint = ARM.joints[2].name
    with raises(f"unknown joint '{joint}x': did you mean '{joint}'?", "joints: ", ARM.joints[0].name):
        ARM.joint(joint + "x")
    with raises("unknown body 'forearm_lnk': did you mean 'forearm_link'?"):
        ARM.body("forearm_lnk")
    with raises("unknown frame 'tol0': did you mean 'tool0'?", "frames: base_link"):
        ARM.frame("tol0")
    with raises("'forearm_link' is a link or frame, expected a joint", "'elbow_joint'"):
        ARM.joint("forearm_link")
    with raises("unknown joint ''"):
        ARM.joint("")


@pytest.mark.parametrize("call", ["first", "later"])
def test_frames_of_quantities(call):
    r = load("ur5")
    if call == "later":
        r.pose(Q, "tool0"), r.velocity(Q, Q, "tool0")
    with raises("unknown frame 'tool': did you mean 'tool0'?"):
        r.pose(Q, "tool")
    with raises("unknown frame 'wrld'"):
        r.velocity(Q, Q, "tool0", axes="wrld")
    with raises("unknown frame 'bodyy'"):
        r.jacobian(Q, "tool0", axes="bodyy", point=(0, 0, 0.1))
    for frame in (None, 3, ["tool0"], {"tool0"}):
        with raises("expected the name of a frame of robot 'ur5'"):
            r.pose(Q, frame)
        with raises("expected the name of a frame of robot 'ur5'"):
            r.velocity(Q, Q, "tool0", axes=frame)
    for point, said in (((1, 2), "has shape (2,)"), (None, "is of type NoneType"), ("x", "is of type str")):
        with raises(f"velocity: point {said}", "expected (…, 3)"):
            r.velocity(Q, Q, "tool0", point=point)
    with raises("velocity: point[1] is nan"):
        r.velocity(Q, Q, "tool0", point=(0, np.nan, 0))


def test_wrenches():
    with raises("unknown frame 'tol0': did you mean 'tool0'?"):
        ARM.bias(Q, Q, external=[Wrench(force=(0, 0, 1), frame="tol0")])
    with raises("unknown frame 'wolrd'"):
        ARM.bias(Q, Q, external=[Wrench(force=(0, 0, 1), frame="tool0", axes="wolrd")])
    with raises("axes='body' of a Wrench: write 'frame'"):
        ARM.bias(Q, Q, external=[Wrench(force=(0, 0, 1), frame="tool0", axes="body")])
    with raises("'shoulder_pan_joint' is a joint, expected a frame", "'shoulder_link'"):
        ARM.jacobian(Q, "shoulder_pan_joint")
    with raises("unknown frame 'TOOL0': did you mean 'tool0'?"):
        ARM.jacobian(Q, "TOOL0")


def test_effects():
    with raises("unknown effect 'frction': did you mean 'friction'?", "armature"):
        ARM.without("frction")
    assert ARM.without() == ARM


@pytest.mark.parametrize("method", ["compile", "operations", "source"])
def test_quantities(method):
    ask = getattr(ARM, method)
    with raises("robot 'ur5': unknown quantity 'inverse_dynamic': did you mean 'inverse_dynamics'?"):
        ask("inverse_dynamic")
    with raises("unknown quantity ['gravity']: did you mean 'gravity'?"):
        ask(["gravity"])
    with raises("jacobian: which frame? pass frame=…, one of: base_link"):
        ask("jacobian")
    with raises("unknown frame 'tool': did you mean 'tool0'?"):
        ask("jacobian", frame="tool")


def test_compiling():
    with raises("compile: dtype is", "expected float64 or float32"):
        ARM.compile("gravity", dtype=np.int32)
    with raises("compile: dtype is foo", "expected float64 or float32"):
        ARM.compile("gravity", dtype="foo")
    with raises("source: unknown language 'C++'", "languages: c"):
        ARM.source("gravity", "C++")
    with raises("export: files are written in 'c' only", "source('gravity', 'cuda')"):
        ARM.export("gravity", "cuda", "nowhere")
    with raises("unknown language 'fortran'"):
        ARM.export("gravity", "fortran", "/nowhere")
    with pytest.raises(OSError):
        ARM.export("gravity", "c", "/dev/null/here")


def test_robots():
    with raises("load: unknown robot 'ur55': did you mean 'ur5'?"):
        load("ur55")
    with raises("random: rng is 0, expected a generator, such as np.random.default_rng(0)"):
        ARM.random(0)
