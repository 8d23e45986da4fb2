"""What files say about contact is kept: surfaces of shapes, layers and exclusions, with a line in the import log."""

import pytest

import dalembert
from dalembert.model import Surface

MJCF = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <body name="a" pos="0 0 1"><freejoint/>
    <geom name="ball" size=".1" friction=".7 .01 .002" solref=".01 2" solimp=".8 .9 .01 .5 2" margin=".003" gap=".001"
      condim="4" priority="2" solmix="3" contype="2" conaffinity="5"/></body>
  <body name="b" pos="0 0 2"><freejoint/><geom size=".1"/></body>
  <body name="c" pos="0 0 3"><freejoint/><geom size=".1"/></body>
</worldbody><contact><exclude body1="b" body2="c"/></contact></mujoco>"""

URDF = """<robot name="r"><link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>
<gazebo reference="base"><mu1>0.8</mu1><mu2>0.6</mu2><kp>1e5</kp><kd>10</kd></gazebo></robot>"""

SDF = """<sdf version="1.9"><model name="m"><link name="base"><collision name="c"><geometry><sphere><radius>0.1</radius>
</sphere></geometry><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction><bounce>
<restitution_coefficient>0.3</restitution_coefficient></bounce><contact><ode><kp>2e5</kp><kd>7</kd></ode></contact>
</surface></collision></link></model></sdf>"""


def surfaces(robot):
    return {g.name: g.surface for body in robot.model.bodies for part in body.parts for g in part.geometry if g.surface}


def loaded(text, tmp_path, ending):
    path = tmp_path / f"robot{ending}"
    path.write_text(text)
    return dalembert.load(path)


def test_mjcf_keeps_contact_parameters_layers_and_exclusions(tmp_path):
    pytest.importorskip("mujoco")
    robot = loaded(MJCF, tmp_path, ".xml")
    ball, floor = surfaces(robot)["ball"], surfaces(robot)["floor"]
    assert (ball.friction, ball.torsion, ball.rolling, ball.layers) == (0.7, 0.01, 0.002, (2, 5))
    m = ball.mujoco
    assert (m.solref, m.solimp, m.margin, m.gap) == ((0.01, 2.0), (0.8, 0.9, 0.01, 0.5, 2.0), 0.003, 0.001)
    assert (m.condim, m.priority, m.solmix) == (4, 2, 3.0)
    assert floor.friction is None and floor.mujoco.friction == (1.0, 0.005, 0.0001)  # none is stated
    assert robot.model.exclusions == (("b", "c"),)
    assert robot.collision_pairs() == (("world", "a"), ("world", "b"), ("world", "c"), ("a", "b"), ("a", "c"))
    log = [str(finding) for finding in robot.import_log]
    assert any("kept as collision shapes with their friction" in line for line in log)
    assert any("<exclude>; kept" in line for line in log)


def test_mjcf_is_written_as_it_was_read(tmp_path):
    pytest.importorskip("mujoco")
    robot = loaded(MJCF, tmp_path, ".xml")
    robot.save(tmp_path / "again.xml")
    again = dalembert.load(tmp_path / "again.xml")
    assert surfaces(again)["ball_"] == surfaces(robot)["ball"]
    assert again.model.exclusions == robot.model.exclusions


def test_urdf_and_sdf(tmp_path):
    urdf = loaded(URDF, tmp_path, ".urdf")
    assert surfaces(urdf)[""] == Surface(friction=0.8, stiffness=1e5, damping=10.0)
    assert any("<gazebo> that states friction, stiffness, damping; kept" in str(f) for f in urdf.import_log)
    sdf = loaded(SDF, tmp_path, ".sdf")
    expected = Surface(friction=0.5, restitution=0.3, stiffness=2e5, damping=7.0)
    assert surfaces(sdf)["c"] == expected
    assert any("<surface> that states" in str(f) and "kept" in str(f) for f in sdf.import_log)
    sdf.save(tmp_path / "again.sdf")
    assert surfaces(dalembert.load(tmp_path / "again.sdf"))["c"] == expected
    notes = urdf.save(tmp_path / "again.urdf")
    assert any("friction and stiffness" in str(note) for note in notes)


def test_layers():
    assert Surface().meets(Surface(layers=(2, 2)))
    assert Surface(layers=(1, 1)).meets(Surface(layers=(1, 0)))
    assert not Surface(layers=(1, 1)).meets(Surface(layers=(2, 2)))
