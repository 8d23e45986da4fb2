"""Arrays of NumPy, PyTorch and JAX: given out without a copy, taken from any of them; of PyTorch also on a card."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dalembert.compiler.execute.device import cupy
from dalembert.errors import DalembertError

LIBRARIES = ("numpy", "torch", "jax")


class Arrays:
    """The kind of arrays that environments give out. dtype: of observations, default float64 of NumPy, else float32."""

    def __init__(self, library: Any, device: Any = None, dtype: Any = None) -> None:
        if library not in LIBRARIES:
            raise DalembertError(f"vector: arrays is {library!r}, expected one of {', '.join(map(repr, LIBRARIES))}")
        place = "cpu" if device is None else str(device).split(":")[0]
        self.on_card = place == "cuda"
        if place not in ("cpu", "cuda") or (self.on_card and library != "torch"):
            raise DalembertError(
                f"vector: device is {str(device)!r} with arrays={library!r}: expected 'cpu', or 'cuda' with "
                "arrays='torch'"
            )
        self.library, self._module, self.device = library, _module(library), device
        self.memory: Any = cupy() if self.on_card else np  # the module whose arrays hold the environments
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
        if self.on_card:
            return self._module.from_dlpack(x)
        if self.library == "torch":
            return self._module.from_numpy(x)
        return self._module.numpy.from_dlpack(x) if self.library == "jax" else x

    def facts(self, x: Any) -> Any:
        """Arrays by name, nested, as the library has them on a card; on the processor they stay those of NumPy."""
        if isinstance(x, dict):
            return {name: self.facts(each) for name, each in x.items()}
        return self.given(x) if self.on_card and isinstance(x, self.memory.ndarray) else x

    def zeros(self, *shape: int) -> Any:
        """New memory of environments: on a card, their numbers lie side by side."""
        return self.memory.zeros(shape, order="F" if self.on_card else "C")

    def active(self) -> AbstractContextManager[Any]:
        """Within it, work on a card is queued where PyTorch queues its own."""
        if not self.on_card:
            return nullcontext()
        from .card import on_stream

        return on_stream(self._module, self.device)

    def taken(self, x: Any) -> Any:
        """An array of any library as one of the memory."""
        if self.on_card:
            return self.memory.asarray(x.detach() if hasattr(x, "detach") else x)
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
