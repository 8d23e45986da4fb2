"""MuJoCo, tutorial notebook: a tippe top, a chaotic pendulum and a tumbling box, with a film (mujoco 4.0.0).

The original: 209 statements, of which about half are for these three. This: 12. Recorded are MuJoCo's places at the
end, solved to rounding. With --plot PATH (.webp, .gif, .mp4, .png) the top is filmed while it turns over.
"""

import numpy as np
from port import TOP, loaded, picture, seconds

from dalembert import Contact
from dalembert.pictures import Camera

PENDULUM = """<mujoco model="pendulum"><option timestep=".001"><flag contact="disable"/></option><default>
<joint type="hinge" axis="0 -1 0"/><geom type="capsule" size=".02"/></default><worldbody><body pos="0 0 .6"><joint/>
<geom fromto="-.2 0 0 .2 0 0"/><geom fromto="0 0 0 0 0 -.15"/>
<body pos="-.2 0 0"><joint/><geom fromto="0 0 0 0 0 -.2"/></body>
<body pos=".2 0 0"><joint/><geom fromto="0 0 0 0 0 -.2"/></body>
<body pos="0 0 -.15"><joint/><geom fromto="0 0 0 0 0 -.2"/></body></body></worldbody></mujoco>"""
BOX = """<mujoco model="box"><worldbody><geom size="5 5 .1" type="plane"/><body pos="0 0 .7"><freejoint/>
<geom type="box" size=".15 .1 .05"/><geom pos=".15 .1 .05" size=".08"/></body></worldbody></mujoco>"""
ENDS = {
    "top": [0.00928576989144, -0.00541748723834, 0.01963283523987, 0.46875423837471, 0.00684317869769,
            -0.01734902824076, -0.88313172637504],
    "pendulum": [6.95254176973139, 0.65889790637886, 1.15799247598236, -6.05663266253019],
    "box": [0.18918320272502, -0.04741155406287, 0.10774156228184, 0.58222690339041, 0.71212649093425, 0.30381497403652,
            0.24816155106960],
}  # fmt: skip
MICROSECONDS = {"top": 13.8, "pendulum": 1.8, "box": 3.4}  # of mj_step in a loop of Python


soft = Contact(model="mujoco")  # step and integrator are the file's
upright = np.array([0.0, 0.0, 0.02, 1.0, 0.0, 0.0, 0.0])
tossed = np.array([0.0, 0.0, 0.7, 1.0, 0.0, 0.0, 0.0])
CASES = (
    (TOP, upright, [0.0, 1.0, 200.0, 0.0, 0.0, 0.0], {"steps": 1000, "step": 2e-3, "contact": soft}),
    (PENDULUM, np.zeros(4), [10.0, 0.0, 0.0, 0.0], {"steps": 1000, "step": 1e-3}),
    (BOX, tossed, [3.0, 2.0, 1.0, 0.5, 0.2, 0.0], {"steps": 400, "step": 2e-3, "contact": soft}),
)
for text, q, v, options in CASES:
    robot = loaded(text)
    end = robot.rollout(q, v, **options)
    np.testing.assert_allclose(end.q, ENDS[robot.name], atol=1e-12)
    elapsed = (
        1e6 * seconds(lambda robot=robot, q=q, v=v, options=options: robot.rollout(q, v, **options)) / options["steps"]
    )
    print(f"{robot.name} {end.q[:3]}; {elapsed:.1f} us a step, MuJoCo {MICROSECONDS[robot.name]} us")


def film(path):
    robot, (_, q, v, options) = loaded(TOP), CASES[0]
    run = robot.rollout(q, v, every=10, **options | {"steps": 3000})
    camera = Camera(azimuth=90, elevation=20, distance=0.2, follow="top")
    robot.video((2e-2 * np.arange(1, 301), run.q), path, fps=25, speed=0.5, size=(320, 240), camera=camera)


picture(film)
