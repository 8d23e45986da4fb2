"""Data that steps take from a model and its elements."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.errors import DalembertError
from dalembert.model import Model

from ..elements.base import Element
from ..elements.friction import with_friction
from ..elements.surroundings import surroundings
from ..integrators.catalogue import INTEGRATORS
from ..integrators.record import Integrator


def prepared(
    where: str,
    model: Model,
    elements: tuple[Element, ...],
    integrator: Integrator,
    friction: str | None,
    live: Sequence[str] = (),
) -> tuple[Model, tuple[Element, ...]]:
    """The model and the elements of steps; refuses what they cannot take.

    friction: "dry", "smooth", or None for the first of them that the integrator and live groups allow.
    """
    for element in elements:
        if not isinstance(element, Element):
            raise DalembertError(f"{where}: elements: expected force elements, got {type(element).__name__}")
        if type(element).gaps is not Element.gaps:
            raise DalembertError(f"{where}: {element.label()} needs events, which only `simulate` has")
    able = integrator.impulsive
    instead = " or ".join(repr(name) for name, known in INTEGRATORS.items() if known.impulsive)
    switching = [e.label() for e in elements if any(c.admissible.switches for c in e.constraints(model))]
    if switching and not able:
        raise DalembertError(
            f"{where}: {switching[0]} begins and ceases to act, which steps of {integrator.name!r} do not take: "
            f"use integrator={instead}, or `simulate`"
        )
    if friction == "dry" and not able:
        raise DalembertError(f"{where}: friction='dry' needs integrator={instead}, got {integrator.name!r}")
    if friction == "dry" and "friction" in live:
        raise DalembertError(f"{where}: friction='dry' takes the model's friction: live friction is smooth")
    for element in elements:
        model = element.prepared(model)
    fits = able and "friction" not in live
    elements = (*elements, *surroundings(model))
    model, elements, _ = with_friction(where, model, elements, friction or ("dry" if fits else "smooth"))
    return model, elements
