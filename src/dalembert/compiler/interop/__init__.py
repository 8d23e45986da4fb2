"""Arrays of other libraries: one interface to NumPy, CuPy, PyTorch and JAX.

How a compiled function computes with such arrays, and where they lie, is in `execute`.
"""

from .kinds import is_foreign, on_host

__all__ = ["is_foreign", "on_host"]
