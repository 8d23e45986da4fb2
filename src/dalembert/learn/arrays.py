"""Arrays of NumPy, PyTorch and JAX on the processor: given out without a copy, taken from any of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError

LIBRARIES = ("numpy", "torch", "jax")


class Arrays:
    """The kind of arrays that environments give out. dtype: of observations, default float64 of NumPy, else float32."""

    def __init__(self, library: Any, device: Any = None, dtype: Any = None) -> None:
        if library not in LIBRARIES:
            raise DalembertError(f"vector: arrays is {library!r}, expected one of {', '.join(map(repr, LIBRARIES))}")
        if device is not None and str(device).split(":")[0] != "cpu":
            raise DalembertError(
                f"vector: device is {str(device)!r}: environments run on the processor: leave device out, and move "
                "observations to a graphics processor yourself"
            )
        self.library, self._module = library, _module(library)
        default = np.float64 if library == "numpy" else np.float32
        try:
            self.dtype = np.dtype(default if dtype is None else dtype)
        except TypeError:
            self.dtype = np.dtype(object)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise DalembertError(f"vector: dtype is {dtype!r}, expected 'float32' or 'float64'")
        self.reward_dtype = np.dtype(np.float64) if library == "numpy" else self.dtype

    def given(self, x: np.ndarray, dtype: Any = None) -> Any:
        """A fresh NumPy array as one of the library, in the same memory."""
        x = x if dtype is None else x.astype(dtype, copy=False)
        if self.library == "torch":
            return self._module.from_numpy(x)
        return self._module.numpy.from_dlpack(x) if self.library == "jax" else x

    @staticmethod
    def taken(x: Any) -> np.ndarray:
        """An array of any library as one of NumPy."""
        if hasattr(x, "detach"):
            x = x.detach().cpu().numpy()
        return np.asarray(x)


def _module(library: str) -> Any:
    try:
        if library == "torch":
            import torch

            return torch
        if library == "jax":
            import jax

            return jax
    except ImportError:
        raise DalembertError(f"vector: arrays={library!r}: {library} is not installed: pip install {library}") from None
    return np
