"""MuJoCo, rollout notebook: 100 tippe tops of different sizes, each with its own spin, at once (mujoco 4.0.0).

The original: 66 statements with a model for each size, 12.5 us a step of a top on one thread. This: 12, 1.0 us: sizes
are live parameters, and nothing is compiled for new ones. Masses are alike, as in the original's models, of which only
the ball's radius (and what MuJoCo derives from it for its broad phase) was changed. With --plot PATH five are drawn.
"""

import numpy as np
from port import TOP, loaded, picture, seconds

from dalembert import Contact

AFTER = {  # places and quaternions of three tops
    0: [0.0055499005, -0.0024484562, 0.0176328199, 0.9207508531, 0.0057369929, 0.0043884474, -0.3900842153],
    50: [0.0053753251, -0.0014501912, 0.0196530130, 0.9609174598, -0.0069651017, 0.0009711767, -0.2767456948],
    99: [0.0048942704, -0.0009379749, 0.0216328177, 0.7868210988, -0.0011411803, -0.0050041217, -0.6171597970],
}
N = 100
top, soft = loaded(TOP), Contact(model="mujoco")
radius, spin = np.linspace(0.018, 0.022, N), np.linspace(150.0, 250.0, N)
q, v = np.zeros((N, 7)), np.zeros((N, 6))
q[:, 2], q[:, 3], v[:, 1], v[:, 2] = radius, 1.0, 1.0, spin
size = np.tile(top.live_values("shape_size"), (N, 1))
size[:, 0] = radius  # of the ball; radius and length of the stem stay
options = {"step": 2e-3, "steps": 500, "contact": soft, "parameters": {"shape_size": size}, "threads": 1}
end = top.rollout(q, v, **options)

for k, place in AFTER.items():
    np.testing.assert_allclose(end.q[k], place, atol=1e-9)
elapsed = seconds(lambda: top.rollout(q, v, **options), 5) / (N * options["steps"])
print(f"top 0 after 1 s {end.q[0, :3]}; {1e6 * elapsed:.1f} us a step of one top, mujoco.rollout 12.5 us")


def draw(path):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    run = top.rollout(q, v, every=10, **options | {"steps": 3000})
    up = 1.0 - 2.0 * (run.q[..., 4] ** 2 + run.q[..., 5] ** 2)
    for k in (0, 25, 50, 75, 99):
        axes.plot(run.t, np.degrees(np.arccos(up[k])), label=f"{1e3 * radius[k]:.1f} mm, {spin[k]:.0f} rad/s")
    axes.set(xlabel="t [s]", ylabel="tilt of the stem [°]")
    axes.legend()
    figure.savefig(path)


picture(draw)
