"""Tolerances that several rooms share, each with its reason. Those of one file are defined there."""

import numpy as np

EPS = float(np.finfo(float).eps)  # distance of 1 to the next number
ROUNDED = 4.0 * EPS  # relative error of a few operations
COMPOSED = 64.0 * EPS  # relative error of products of poses and of sums over bodies
RANK = 1e-9  # singular values below this share of the largest are 0: √eps would count loops that are nearly singular
CLOSED = 1e-11  # [m, rad] what a closed loop may miss: Newton's method reaches it, and a step more leaves only rounding
TINY = 1e-30  # added to squares below a root, so that its slope is finite at 0; float32 has this number as well
