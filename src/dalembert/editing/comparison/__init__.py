"""Two robots side by side: which bodies, joints, parameters and dynamics differ, and by how much."""

from .compare import compare
from .report import Comparison, Difference

__all__ = ["Comparison", "Difference", "compare"]
