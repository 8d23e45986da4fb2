"""Composite bodies: each body and all bodies behind it, as if the joints between them were locked."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model

from .mass import Mass
from .regroup import regrouped


def composites(model: Model, q: np.ndarray) -> list[Mass]:
    """Masses of the composite bodies, each in the frame of its first body, at q (nq,).

    They are regrouped: a composite lacks what its joint leaves at rest, except the whole robot, the first of them.
    """
    composite = regrouped(model)
    for body in reversed(model.bodies[1:]):  # tips to root; joint and placement one after the other turn with less work
        behind = composite[body.index].seen_from(body.joint.pose(q[body.q])).seen_from(body.placement)
        composite[body.parent] = composite[body.parent].plus(behind)
    return composite
