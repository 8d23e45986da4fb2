"""Forces that belong to a robot beside those of its joints, such as the springs and motors of a mechanism."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class AddedForces(NamedTuple):
    """A generalised force (…, nv) and its slopes dq, dv (…, nv, nv) along velocities δq and in v."""

    force: np.ndarray
    dq: np.ndarray
    dv: np.ndarray
