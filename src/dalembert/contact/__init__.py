"""Contact laws: which shapes may touch, what they are made of, and the forces between them."""

from .candidates import Patch, candidates
from .contact import Contact
from .laws import ContactLaw
from .materials import MATERIALS, Material

__all__ = ["MATERIALS", "Contact", "ContactLaw", "Material", "Patch", "candidates"]
