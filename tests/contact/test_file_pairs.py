"""Contact(pairs="file"): the pairs that an MJCF file lets touch, with their friction and condim, as in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, load
from dalembert.contact import candidates
from dalembert.contact.touching import touching
from loose_bodies import box
from mujoco_contact.twin import mj
from tolerances import CONTACT_SOLVER, assert_close

STEP = 2e-3
LEG = '<body name="{0}" pos="0 {1} 0"><joint name="{0}" axis="0 1 0"/><geom name="{0}" size=".05" {2}/>{3}</body>'
SOLE = '<geom name="sole{0}" type="sphere" size=".02" pos="{1} 0 -.2" contype="0" conaffinity="0"/>'
SOLES = "".join(SOLE.format(k, x) for k, x in enumerate((-0.1, 0.0, 0.1)))
ROBOT = f"""<mujoco model="sole">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction=".9"/>
    <geom name="step" type="box" size=".1 .1 .1" pos="2 0 0" contype="2" conaffinity="2"/>
    <body name="trunk" pos="0 0 .22"><freejoint/>
      <geom name="trunk" type="box" size=".1 .1 .1" friction=".7 .02 .01" condim="6" priority="1"/>
      <geom name="shield" size=".03" contype="2" conaffinity="1"/>
      {LEG.format("left", 0.2, 'condim="1"', SOLES)}
      {LEG.format("right", -0.2, 'contype="4" conaffinity="1"', LEG.format("shin", -0.2, 'condim="4"', ""))}
    </body>
  </worldbody>
  <contact>
    <pair geom1="sole0" geom2="floor" friction="2 2 .1 .1 .1" condim="3"/>
    <pair geom1="sole1" geom2="floor" friction="2 2 .1 .2 .2" condim="4"/>
    <pair geom1="floor" geom2="sole2" friction="1.5 1.5 .1 .2 .2" condim="6"/>
    <pair geom1="left" geom2="trunk" condim="1"/>
    <exclude body1="trunk" body2="shin"/>
  </contact>
</mujoco>"""
SLOPING = """<mujoco>
  <option gravity="5 0 -7"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" type="box" size=".1 .1 .1"/></body>
  </worldbody>
  <contact>{}</contact>
</mujoco>"""


def by_mujoco(text: str) -> dict[frozenset[str], tuple[float, ...]]:
    """Friction, torsion and rolling of each pair that MuJoCo looks at, were all shapes to touch each other."""
    m = mj.MjModel.from_xml_string(text.replace("<worldbody>", '<default><geom margin="10"/></default><worldbody>', 1))
    m.pair_margin[:] = 10.0
    d = mj.MjData(m)
    mj.mj_kinematics(m, d)
    mj.mj_comPos(m, d)
    mj.mj_collision(m, d)
    pairs = {}
    for contact in d.contact:
        names = frozenset(m.geom(int(geom)).name for geom in contact.geom)
        slide, _, spin, roll, _ = contact.friction
        pairs[names] = (slide * (contact.dim > 1), spin * (contact.dim > 3), roll * (contact.dim > 4))
    return pairs


def by_us(text: str, **options) -> dict[frozenset[str], tuple[float, ...]]:
    pairs, laws = touching(load(text).model, Contact(pairs="file", **options))
    found = {}
    for pair in pairs:
        law = laws.law(*pair.sides, pair.stated)
        names = frozenset((pair.a.name, "floor" if pair.b is None else pair.b.name))
        found[names] = (law.friction, law.torsion, law.rolling)
    return found


def test_they_are_those_of_mujoco():
    ours, theirs = by_us(ROBOT), by_mujoco(ROBOT)
    assert ours.keys() == theirs.keys()
    for names, numbers in theirs.items():
        assert ours[names] == pytest.approx(numbers, abs=CONTACT_SOLVER), names


def test_a_ground_takes_the_place_of_the_files_planes():
    assert by_us(ROBOT, ground=-0.1) == by_us(ROBOT)
    assert not any("floor" in names for names in by_us(ROBOT, ground=None))
    assert by_us(ROBOT, friction=0.3)[frozenset(("sole0", "floor"))] == (0.3, 0.0, 0.0)


def test_a_box_holds_by_the_friction_of_its_pair_alone():
    """On a slope of tan⁻¹ 5/7, with a friction of 2; 0.6 lets it go."""
    stated = SLOPING.format('<pair geom1="ball" geom2="floor" friction="2 2 .1 .1 .1"/>')
    robot, contact = load(stated), Contact(pairs="file")
    run = robot.simulate(robot.home().q, np.zeros(6), 0.2, step=STEP, contact=contact)
    assert np.abs(run.v[-1]).max() < CONTACT_SOLVER
    assert_close(run.contacts.force[-1].sum(axis=0), robot.total_mass * np.array([-5.0, 0.0, 7.0]), CONTACT_SOLVER)
    slides = robot.rollout(robot.home().q, np.zeros(6), step=STEP, steps=50, contact=Contact())
    assert slides.v[3] == pytest.approx((5.0 - 0.6 * 7.0) * 0.1, abs=CONTACT_SOLVER)


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        (SLOPING.format("").replace('type="box"', 'type="box" contype="2" conaffinity="2"'), {}, "lets nothing touch"),
        (SLOPING.format("").replace("<option", '<option><flag contact="disable"/></option><option'), {}, "switches"),
        (SLOPING.format('<pair geom1="ball" geom2="floor" friction="2 1 .1 .1 .1"/>'), {}, "in two directions"),
    ],
)
def test_what_it_refuses(text, options, match):
    with pytest.raises(DalembertError, match=match):
        candidates(load(text).model, Contact(pairs="file", **options))


def test_other_formats_have_no_pairs():
    with pytest.raises(DalembertError, match=r"are those of an MJCF file, .*: write pairs='ground', 'all' or"):
        box().rollout([0, 0, 0.1, 1, 0, 0, 0], np.zeros(6), step=STEP, steps=1, contact=Contact(pairs="file"))
