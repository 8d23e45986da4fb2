"""Every quantity of the catalogue is a method of `Robot`, and looks like one."""

from __future__ import annotations

import inspect
import pydoc

import pytest

from dalembert import Robot
from dalembert.quantities import CATALOGUE

INNER = {"inverse_kinematics_descent", "loop_inverse_dynamics"}  # steps of methods written in Python


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in INNER])
def test_every_quantity_is_a_method(name):
    method = getattr(Robot, name)
    assert method is CATALOGUE[name].method and inspect.isfunction(method) and method.__name__ == name
    signature = inspect.signature(method)
    robot, *others = signature.parameters.values()
    assert robot.name == "robot" and others[-1].kind is inspect.Parameter.VAR_KEYWORD
    assert signature.return_annotation is not inspect.Signature.empty
    assert method.__doc__ and method.__doc__.strip().endswith((".", ":"))
    assert f"{name}(" in pydoc.plain(pydoc.render_doc(method))


def test_help_lists_them():
    text = pydoc.plain(pydoc.render_doc(Robot))
    for name in CATALOGUE.keys() - INNER:
        assert f"{name}(robot: 'Robot', q" in text, name
