"""A bicycle that steers itself: its speeds of weave and capsize, from a mechanism of four bodies and two wheels."""

import numpy as np

from dalembert.mechanism import mechanism

robot = mechanism("bicycle").build()  # upright, at 5 m/s
q, v = robot.start

print("speed [m/s]   growth of the least stable motion [1/s]")
steers_itself = []
for speed in (2.0, 4.0, 4.5, 5.0, 5.5, 6.5, 8.0):
    values = robot.eigenvalues(q, v * speed / 5.0)
    moving = values[np.abs(values) > 1e-3]  # the others: where it is, and where it goes
    least_stable = moving[np.argmax(moving.real)]
    what = "oscillates" if abs(least_stable.imag) > 1e-6 else "leans over slowly"
    if least_stable.real < 0.0:
        steers_itself.append(speed)
    print(f"{speed:8.1f} {least_stable.real:12.3f}   {what if least_stable.real > 0 else 'steers itself'}")

assert steers_itself == [4.5, 5.0, 5.5]  # between weave at 4.292 m/s and capsize at 6.024 m/s
