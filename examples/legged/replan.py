"""A quadruped that stands, and steps as soon as its feet cannot hold it: replanning by the support polygon.

Standing by `control.whole_body` answers small pushes. When the capture point leaves the support polygon, no torque
keeps the robot on its feet; a run that watches the margin ends there, and `control.legs` goes on with steps.
"""

import numpy as np

from dalembert import Contact, Event, Sampled, control, load

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
FRICTION = 0.6


def main(pushes: tuple[float, ...] = (0.3, 0.8, 1.0), duration: float = 1.5) -> dict[float, float]:
    """The height of the trunk at the end, by the speed to the side that a push gave [m, m/s]."""
    robot = load("quadruped")
    home = robot.neutral()
    home[7:] = np.tile([0.0, 0.8, -1.6], 4)
    home[2] -= min(robot.pose(home, foot)[2, 3] for foot in FEET) - 0.02
    tasks = [control.Frame(frame="trunk", goal=robot.pose(home, "trunk"), weight=100.0), control.Posture(goal=home)]
    supports = [control.Support(frame=foot, friction=FRICTION) for foot in FEET]
    stand = Sampled(control.whole_body(robot, tasks, supports), 2e-3)
    walk = control.legs(robot, FEET, home, friction=FRICTION)

    def margin(t, q, v):
        return control.balance(robot, q, v, FEET).margin

    tips = Event("the capture point leaves the support polygon", margin, direction=-1, terminal=True)
    options = {"step": 1e-3, "contact": Contact(ground=0.0, friction=FRICTION)}
    heights = {}
    for push in pushes:
        q, v, t = home, np.zeros(robot.nv), 0.0
        v[4] = push
        if margin(t, q, v) > 0.0:
            run = robot.simulate(q, v, duration, stand, events=[tips], **options)
            q, v, t = run.q[-1], run.v[-1], float(run.t[-1])
        if t < duration:
            print(f"{push} m/s: steps from {t:.2f} s on, the feet alone hold no longer")
            run = robot.simulate(q, v, duration, walk, **options)
        heights[push] = float(run.q[-1, 2])
        print(f"{push} m/s: the trunk is {heights[push]:.2f} m high at the end, of {home[2]:.2f}")
    assert all(abs(height - home[2]) < 0.03 for height in heights.values())
    return heights


if __name__ == "__main__":
    main()
