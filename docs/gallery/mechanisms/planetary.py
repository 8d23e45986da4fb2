"""A planetary gear.

Sun and ring turn, the carrier follows from the numbers of teeth. Gears count turns, so they hold over any number of
revolutions.
"""

import numpy as np

from dalembert import Mechanism
from drawing import BLUE, GREEN, GREY, ORANGE, animate, film

m = Mechanism("planetary", gravity=(0, 0, 0))
for wheel in ("sun", "carrier", "planet", "ring"):
    m.body(wheel, 1.0, [1e-3, 1e-3, 2e-3])
m.point("carrier", "pin", (0.042, 0))
m.joint("revolute", "ground.origin", "sun.origin", name="sun", start=0.0, rate=10.0)
m.joint("revolute", "ground.origin", "carrier.origin", name="carrier")
m.joint("revolute", "ground.origin", "ring.origin", name="ring", start=0.0, rate=0.0)
m.joint("revolute", "carrier.pin", "planet.origin", name="planet")
m.gear("sun", "planet", teeth=(24, 18), carrier="carrier")
m.gear("ring", "planet", teeth=(60, 18), carrier="carrier", internal=True)
robot = m.build()
q0, v0 = robot.start
carrier, planet, sun, ring = (robot.joint(name).q.start for name in ("carrier", "planet", "sun", "ring"))
assert np.isclose(v0[carrier] / v0[sun], 24 / 84)
t = np.linspace(0, 2 * np.pi / v0[carrier], 60, endpoint=False)
q = q0 + t[:, None] * v0


def wheel(axes, place, radius, teeth, angle, colour):
    phi = np.linspace(0, 2 * np.pi, 12 * teeth + 1)
    r = radius + 1.4 * np.tanh(3 * np.cos(teeth * (phi - angle)))
    axes.plot(place[0] + r * np.cos(phi), place[1] + r * np.sin(phi), color=colour, lw=1.5)
    tip = np.array(place) + 0.8 * radius * np.array([np.cos(angle), np.sin(angle)])
    axes.plot([place[0], tip[0]], [place[1], tip[1]], color=colour, lw=3)


def draw(axes, k):
    pin = 42 * np.array([np.cos(q[k, carrier]), np.sin(q[k, carrier])])
    wheel(axes, (0, 0), 24, 24, q[k, sun], BLUE)
    wheel(axes, pin, 18, 18, q[k, planet] + q[k, carrier], GREEN)
    wheel(axes, (0, 0), 60, 60, q[k, ring], GREY)
    axes.plot([0, pin[0]], [0, pin[1]], color=ORANGE, lw=6, alpha=0.6)
    axes.set(xlim=(-68, 68), ylim=(-68, 68), aspect="equal", xlabel="mm", ylabel="mm")


animate(film(draw, len(t), 4.2, 4.2), __file__, hold=0)
