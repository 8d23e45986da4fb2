"""Force elements: what acts on a robot beside gravity and its own joints. Each adds forces, may have states of its own,
and has its accounts in the energy ledger."""

from .base import Action, Element, Situation

__all__ = ["Action", "Element", "Situation"]
