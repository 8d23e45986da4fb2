"""Contact laws: which shapes may touch, what they are made of, and the forces between them."""

from .candidates import Patch, candidates
from .contact import Contact

__all__ = ["Contact", "Patch", "candidates"]
