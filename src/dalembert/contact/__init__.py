"""Contact laws: which shapes may touch, what they are made of, and the forces between them."""

from .candidates import Candidate, Touch, candidates
from .contact import Contact

__all__ = ["Candidate", "Contact", "Touch", "candidates"]
