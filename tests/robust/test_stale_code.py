"""Code that a user edits takes effect: in the same process, in another one, and whatever holds the code."""

from __future__ import annotations

import math
import os
from collections import namedtuple
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot, elements
from dalembert.model import Body
from dalembert.model.joints import Revolute
from robust import processes

SHORT_FALL = 0.01  # over 10 ms

Action, Element, GravityField = elements.Action, elements.Element, elements.GravityField

FORCES = (2.0, -2.0, 6.0)
EXPECTED = (1.0, -1.0, 3.0)  # x(1 s) = F t²/2m of 1 kg


def puck():
    builder = ModelBuilder("puck", gravity=(0, 0, 0))
    builder.add_body("puck", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1.0)
    return builder.build()


PUCK = puck()
REST = (np.zeros(1), np.zeros(1))


def by_simulate(element) -> float:
    return PUCK.simulate(*REST, 1.0, elements=[element]).q[-1, 0]


def by_rk4(element) -> float:
    return PUCK.simulate(*REST, 1.0, elements=[element], integrator="rk4", step=0.25).q[-1, 0]


def by_called_law(element) -> float:
    def law(t, q, v):  # cannot be traced
        return np.array([0.0 * math.floor(float(t))])

    return PUCK.simulate(*REST, 1.0, torque=law, elements=[element], integrator="rk4", step=0.25).q[-1, 0]


def by_rollout(element) -> float:
    return PUCK.rollout(*REST, elements=[element], integrator="rk4", step=0.25, steps=4).q[0]


def by_stepper(element) -> float:
    step = PUCK.stepper(0.25, integrator="rk4", elements=[element])
    q, v = REST
    for _ in range(4):
        q, v = step(q, v)
    return q[0]


WAYS = [by_simulate, by_rk4, by_called_law, by_rollout, by_stepper]
SOURCE = """
@dataclass(frozen=True)
class Push(Element):
    def act(self, s):
        return Action(tau={{s.model.joint("x").index: [{force}]}})
"""


def pushing(source: str, **names):
    """An instance of the class `Push` that the source defines."""
    scope = {"Element": Element, "Action": Action, "dataclass": dataclass, "__name__": "user", **names}
    exec(source, scope)
    return scope["Push"]()


@pytest.mark.parametrize("way", WAYS)
def test_an_edited_element(way):
    """Each edit defines the class anew under the same name, as when a cell of a notebook runs again."""
    assert [way(pushing(SOURCE.format(force=f))) for f in FORCES] == pytest.approx(EXPECTED)


@pytest.mark.parametrize("way", WAYS)
def test_a_method_that_is_replaced(way):
    class Push(Element):
        pass

    def act(force):
        return lambda self, s: Action(tau={s.model.joint("x").index: [force]})

    found = []
    for force in FORCES:
        Push.act = act(force)
        found.append(way(Push()))
    assert found == pytest.approx(EXPECTED)


class Held:
    """Where the force can be held, and how it is changed there."""

    def __init__(self, force: float) -> None:
        self.force = force


def action(s, force):
    return Action(tau={s.model.joint("x").index: [force]})


def helper() -> float:
    return FORCE


FORCE = 2.0
BOX = {"force": 2.0}
NAMESPACE = SimpleNamespace(force=2.0)
HOLDER = Held(2.0)


class ByGlobal(Element):
    def act(self, s):
        return action(s, FORCE)


class ByHelper(Element):
    def act(self, s):
        return action(s, helper())


class ByDict(Element):
    def act(self, s):
        return action(s, BOX["force"])


class ByNamespace(Element):
    def act(self, s):
        return action(s, NAMESPACE.force)


class ByInstance(Element):
    def act(self, s):
        return action(s, HOLDER.force)


class ByClass(Element):
    forces = [2.0]

    def act(self, s):
        return action(s, self.forces[0])


class ByBase(ByClass):
    pass


class ByGetattr(Element):
    force = 2.0

    def act(self, s):
        return action(s, getattr(self, "for" + "ce"))


class ByImport(Element):
    def act(self, s):
        from robust import test_stale_code

        return action(s, test_stale_code.FORCE)


def set_force(force: float) -> None:
    global FORCE
    FORCE = BOX["force"] = NAMESPACE.force = HOLDER.force = ByClass.forces[0] = ByGetattr.force = force
    from robust import test_stale_code

    test_stale_code.FORCE = force


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind", [ByGlobal, ByHelper, ByDict, ByNamespace, ByInstance, ByClass, ByBase, ByGetattr, ByImport]
)
def test_what_an_element_refers_to(kind, way):
    element, found = kind(), []
    for force in FORCES:
        set_force(force)
        found.append(way(element))
    set_force(2.0)
    assert found == pytest.approx(EXPECTED)


def by_closure(force):
    class Push(Element):
        def act(self, s):
            return action(s, force)

    return Push()


def by_default(force):
    class Push(Element):
        def act(self, s, amount=force):
            return action(s, amount)

    return Push()


def by_keyword_default(force):
    class Push(Element):
        def act(self, s, *, amount=force):
            return action(s, amount)

    return Push()


def by_attribute(force):
    class Push(Element):
        def __init__(self) -> None:
            self.amount = force

        def __repr__(self) -> str:
            return "Push()"  # says nothing

        def act(self, s):
            return action(s, self.amount)

    return Push()


def by_field(force):
    @dataclass(frozen=True)
    class Push(Element):
        amount: float = force

        def __repr__(self) -> str:
            return "Push()"

        def act(self, s):
            return action(s, self.amount)

    return Push()


def by_base(force):
    class Mixin:
        def amount(self):
            return force

    class Push(Mixin, Element):
        def act(self, s):
            return action(s, self.amount())

    return Push()


class Amount(NamedTuple):
    """A record of a user's."""

    newton: float

    def doubled(self) -> float:
        return 2.0 * self.newton


def by_named_tuple(force):
    @dataclass(frozen=True)
    class Push(Element):
        amount: Amount

        def act(self, s):
            return action(s, 0.5 * self.amount.doubled())

    return Push(Amount(force))


def by_our_element(force):
    return GravityField(lambda p: np.array([force, 0.0, 0.0]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "make",
    [by_closure, by_default, by_keyword_default, by_attribute, by_field, by_base, by_named_tuple, by_our_element],
)
def test_what_an_element_holds(make, way):
    assert [way(make(force)) for force in FORCES] == pytest.approx(EXPECTED)


JOINT = """
class Bent(Revolute):
    def pose(self, q):
        return super().pose({factor} * q)

    def subspace(self, q):
        return {factor} * super().subspace(q)
"""


def bent(factor: float):
    """A pendulum on a joint of the user's own that turns `factor` times as far."""
    scope = {"Revolute": Revolute, "__name__": "user"}
    exec(JOINT.format(factor=factor), scope)
    builder = ModelBuilder("bent", gravity=(0, 0, -10))
    builder.add_body("rod", parent="world", joint="revolute", joint_name="hip", axis=(0, 1, 0), mass=1.0, com=(1, 0, 0))
    model = builder.model()
    bodies = []
    for body in model.bodies:
        assert isinstance(body, Body)
        joint = body.joint
        if joint.kind == "revolute":
            values = {name: getattr(joint, name) for name in (f.name for f in fields(joint))}
            body = replace(body, joint=scope["Bent"](**values))
        bodies.append(body)
    return Robot(replace(model, bodies=tuple(bodies)))


def test_an_edited_joint():
    """τ = dU/dq = −f · m g l cos(f q), and the same in a simulation and a rollout."""
    for factor in (1.0, 0.5, 2.0):
        robot = bent(factor)
        assert abs(robot.gravity(np.zeros(1))[0]) == pytest.approx(10.0 * factor)
        slow = robot.rollout(*REST, step=1e-3, steps=10).v[0]
        assert abs(slow) == pytest.approx(abs(robot.simulate(*REST, 0.01).v[-1, 0]), rel=SHORT_FALL)
        assert abs(robot.simulate(*REST, 0.01).v[-1, 0]) == pytest.approx(0.1 / factor, rel=SHORT_FALL)


PROCESS = """
from dataclasses import dataclass
import numpy as np
from dalembert import ModelBuilder
from dalembert import elements
Action, Element = elements.Action, elements.Element
b = ModelBuilder("puck", gravity=(0, 0, 0))
b.add_body("puck", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1.0)
r = b.build()
@dataclass(frozen=True)
class Push(Element):
    def act(self, s):
        return Action(tau={{s.model.joint("x").index: [{force}]}})
x = np.zeros(1)
step, q, v = r.stepper(0.25, integrator="rk4", elements=[Push()]), x, x
for _ in range(4):
    q, v = step(q, v)
print(r.simulate(x, x, 1.0, elements=[Push()], integrator="rk4", step=0.25).q[-1, 0],
      r.rollout(x, x, elements=[Push()], integrator="rk4", step=0.25, steps=4).q[0], q[0])
"""


def test_across_processes(tmp_path):
    """Through the code that is kept on disk."""
    found = [[float(x) for x in processes.run(PROCESS.format(force=f), tmp_path)[0].split()] for f in FORCES]
    assert np.array(found) == pytest.approx(np.array([EXPECTED] * 3).T)


def test_a_stepper_is_traced_once(monkeypatch):
    """What is on disk needs no trace; another damping is another step."""
    from dalembert.compiler.execute.recent import forget
    from dalembert.compiler.graph import trace
    from dalembert.quantities import guards

    traces = []
    monkeypatch.setattr(guards, "trace", lambda *given, **more: traces.append(1) or trace(*given, **more))

    def moved(damping: float) -> float:
        forget()  # as in another process
        return PUCK.stepper(0.25, elements=[elements.Damper("x", damping)])(np.zeros(1), np.ones(1))[0][0]

    first = moved(0.5)
    count = len(traces)
    assert count > 0 and moved(0.5) == first and len(traces) == count
    assert moved(0.75) < first and len(traces) > count


def test_functions_of_one_name_differ():
    """Functions of the package that hold other values, or stand elsewhere under one name, are told apart."""
    from dalembert.compiler.execute import content

    scope = {"__name__": elements.__name__}
    exec("def made(x):\n    return (lambda: x), (lambda: 2.0 * x), (lambda: 1.0), (lambda: 2.0)", scope)
    known = [content(function) for x in (1.0, 3.0) for function in scope["made"](x)]
    assert None not in known and len(set(known)) == 6
    assert known[:4] == [content(function) for function in scope["made"](1.0)]


def test_what_is_recognised_again():
    """Running the same code twice does not prepare it twice, unless not everything it refers to can be seen."""
    from dalembert.compiler.execute import code, content

    same = [pushing(SOURCE.format(force=2.0)) for _ in range(2)]
    assert code(same[0]) == code(same[1]) != code(pushing(SOURCE.format(force=3.0)))
    assert code(by_closure(2.0)) == code(by_closure(2.0)) is not None
    assert code(ByGetattr()) is None and code(ByImport()) is None and code(ByNamespace()) is None
    assert content(same[0]) is None and content(elements.Damper("x", 1.0)) is not None
    assert content(elements.Damper("x", 1.0)) != content(elements.Damper("x", 2.0)) != content(PUCK.model)


def test_records_of_users_are_seen_through():
    """A named tuple in an element does not make it traced again each time; a method of it that is edited does."""
    from dalembert.compiler.execute import code

    assert code(by_named_tuple(2.0)) == code(by_named_tuple(2.0)) is not None
    assert code(by_named_tuple(2.0)) != code(by_named_tuple(3.0))
    plain, wider = namedtuple("Pair", "a b"), namedtuple("Pair", "a b c", defaults=(0.0,))
    assert code(plain(1.0, 2.0)) == code(plain(1.0, 2.0)) is not None
    assert code(plain(1.0, 2.0)) != code(wider(1.0, 2.0))
    edited = type("Amount", (Amount,), {"doubled": lambda self: 3.0 * self.newton})
    assert code(edited(2.0)) != code(type("Amount", (Amount,), {"doubled": lambda self: 2.0 * self.newton})(2.0))


def moved_by(law) -> float:
    return PUCK.rollout(*REST, law, integrator="rk4", step=0.25, steps=4).q[0]


def test_an_unchanged_law_is_not_run_again(monkeypatch):
    from dalembert.compiler.graph import trace
    from dalembert.sim.system import laws

    traces = []
    monkeypatch.setattr(laws, "trace", lambda *arguments: traces.append(arguments) or trace(*arguments))

    def pushed_with(force):
        def law(t, q, v):
            return np.array([force + 0.0 * q[0]])

        return law

    assert [moved_by(pushed_with(f)) for f in FORCES] == pytest.approx(EXPECTED)
    count = len(traces)
    assert [moved_by(pushed_with(f)) for f in FORCES] == pytest.approx(EXPECTED)
    assert len(traces) == count > 0


def test_laws_that_look_elsewhere_are_always_run_again(tmp_path, monkeypatch):
    """What a law reads from its surroundings counts each time: variables of the process, files."""

    def of_environment(t, q, v):
        return np.array([float(os.environ["PUSH"]) + 0.0 * q[0]])

    def of_file(t, q, v):
        return np.load(tmp_path / "push.npy") + 0.0 * q

    def of_text(t, q, v):
        return np.array([float(Path(name).read_text()) + 0.0 * q[0]])

    name = str(tmp_path / "push.txt")
    for law in (of_environment, of_file, of_text):
        moved = []
        for force in FORCES:
            monkeypatch.setenv("PUSH", str(force))
            np.save(tmp_path / "push.npy", np.array([force]))
            Path(name).write_text(str(force))
            moved.append(moved_by(law))
        assert moved == pytest.approx(EXPECTED)


def test_two_laws_with_equal_code_that_are_called_back_stay_apart():
    """Each writes to its own list, though nothing in their code tells them from each other."""

    def noting(seen):
        def law(t, q, v):
            seen.append(float(t))
            return np.zeros(1)

        return law

    lists = [], []
    for seen in lists:
        PUCK.simulate(*REST, 0.1, noting(seen), integrator="rk4", step=0.05)
    assert len(lists[0]) == len(lists[1]) > 0


def test_laws_of_the_package_that_follow_a_motion_are_seen_through():
    """One that was made alike is recognised, one with another goal or an edited motion is not."""
    from dalembert import control, load, motion
    from dalembert.compiler.execute import code

    robot = load("2r")

    def law(goal):
        return control.computed_torque(robot, motion.quintic(np.zeros(2), np.full(2, goal), 1.0))

    assert code(law(0.1)) == code(law(0.1)) is not None
    assert code(law(0.1)) != code(law(0.2))
    q, ends = np.zeros(2), [law(goal) for goal in (0.1, 0.2, 0.1)]
    first, second, third = (robot.rollout(q, q, each, step=0.01, steps=100).q for each in ends)
    assert not np.allclose(first, second) and (first == third).all()
