"""Arrays of other libraries: what NumPy, CuPy, PyTorch and JAX call the same things.

How a compiled function computes with such arrays, and where they lie, is in `execute`.
"""

from .kinds import is_foreign, on_host

__all__ = ["is_foreign", "on_host"]
