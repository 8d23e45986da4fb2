"""Other inertia of a body, shared out among the links of which it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.spatial import Inertia
from dalembert.spatial.pseudo_inertia import from_pseudo_inertia, pseudo_inertia

if TYPE_CHECKING:
    from .model import Body, Part


def with_parameters(body: Body, pi: np.ndarray) -> Body:
    """The body with other inertial parameters (10,).

    Its main link takes the change, and links fixed to it stay as they are. Where that would make an impossible link of
    a possible body, all of its links are deformed alike.
    """
    change = pi - body.inertia.parameters()
    if not np.any(change):
        return body
    main, *others = body.parts
    inertia = Inertia.from_parameters(pi)
    changed = Inertia.from_parameters(main.inertia.parameters() + change)
    parts = (replace(main, inertia=changed), *others)
    if others and changed.problems() and not inertia.problems():
        parts = _deformed(body, pi) or parts
    return replace(body, inertia=inertia, parts=parts)


def _deformed(body: Body, pi: np.ndarray) -> tuple[Part, ...] | None:
    """Links that are possible and add up to pi; None if the body was a single point, a rod or impossible.

    With P = L Lᵀ before and P' = L' L'ᵀ after, A = L' L⁻¹ moves every piece of mass: A Pᵢ Aᵀ of all links sum to P'.
    """
    try:
        before, after = (np.linalg.cholesky(pseudo_inertia(x)) for x in (body.inertia.parameters(), pi))
    except np.linalg.LinAlgError:
        return None
    A = after @ np.linalg.inv(before)
    parts = []
    for part in body.parts:
        P = A @ pseudo_inertia(part.inertia.transform(part.placement).parameters()) @ A.T
        moved = Inertia.from_parameters(from_pseudo_inertia(P)).transform(part.placement.inverse())
        parts.append(replace(part, inertia=moved))
    return tuple(parts)
