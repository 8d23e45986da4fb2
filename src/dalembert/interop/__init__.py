"""Arrays of other libraries: CuPy, PyTorch and JAX arrays go in, the same kind comes out, computed where they lie.

`kinds` knows the libraries, `operators` makes their differentiable operations, `device` runs kernels on GPUs. Nothing
here is loaded before such an array is given.
"""

from .kinds import is_foreign, on_host

__all__ = ["is_foreign", "on_host"]
