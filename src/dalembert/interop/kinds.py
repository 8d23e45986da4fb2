"""What is asked of a library of arrays: which device, which type, the numbers without copying, new arrays."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

ROOTS = ("torch", "cupy", "jax", "jaxlib")
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_foreign(x: Any) -> bool:
    """Whether x is an array of another library than NumPy."""
    return type(x) is not np.ndarray and hasattr(x, "__dlpack__") and _root(x) is not None


def _root(x: Any) -> str | None:
    """The library that the type of x, or a type it derives from, belongs to."""
    for kind in type(x).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in ROOTS:
            return "jax" if root == "jaxlib" else root
    return None


def library(what: str, arrays: Sequence[Any]) -> Library:
    """The one library and device that the foreign arrays among `arrays` share."""
    foreign = [x for x in arrays if is_foreign(x)]
    roots = {_root(x) for x in foreign}
    if len(roots) != 1:
        raise DalembertError(
            f"{what}: arrays of {' and '.join(sorted(map(str, roots)))}, expected those of one library"
        )
    made = LIBRARIES[roots.pop() or ""]()
    places = {made.device(x) for x in foreign}
    if len(places) != 1:
        raise DalembertError(
            f"{what}: arrays on {' and '.join(map(str, places))}, expected one device: move them first"
        )
    made.place = places.pop()
    return made


class Library(ABC):
    """PyTorch, CuPy or JAX; `place` is the GPU by number, or None for the processor's own memory."""

    name = ""
    place: int | None = None

    def __init__(self) -> None:
        self.module = sys.modules[self.name]

    @abstractmethod
    def device(self, x: Any) -> int | None:
        """Where x lies: the number of the GPU, or None."""

    def dtype(self, x: Any) -> np.dtype:
        """The type of the numbers of x."""
        return np.dtype(x.dtype)

    @abstractmethod
    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        """x as an array of this library, of that type, on the device; not copied where it is one already."""

    def numpy(self, x: Any) -> np.ndarray:
        """The numbers of an array in the processor's memory, not copied."""
        return np.asarray(x)

    @abstractmethod
    def from_numpy(self, x: np.ndarray) -> Any:
        """An array of this library over the same numbers."""

    # ---- on a GPU

    @abstractmethod
    def memory(self, x: Any) -> tuple[int, tuple[int, ...]]:
        """Address of x, and the distances between its elements along each axis, in elements."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """New memory on the device, as something that `memory` and `finish` take."""

    def finish(self, x: Any) -> Any:
        """What `empty` gave, as an array of this library."""
        return x

    def batch_first(self, x: Any, axes: int) -> Any:
        """x with its last `axes` axes in front, not copied where the library has such views."""
        return self.module.moveaxis(x, tuple(range(-axes, 0)), tuple(range(axes)))

    def stream(self) -> int | None:
        """Address of the stream that the caller's work is queued on; None: CuPy's current one."""
        return None

    def dense(self, x: Any, batch: tuple[int, ...]) -> Any:
        """x (…, size) broadcast to (*batch, size) and copied to dense rows."""
        return self.module.ascontiguousarray(self.module.broadcast_to(x, (*batch, x.shape[-1])))


class Torch(Library):
    name = "torch"

    def device(self, x: Any) -> int | None:
        if x.device.type not in ("cpu", "cuda"):
            raise DalembertError(f"a tensor on device '{x.device}', expected one on 'cpu' or 'cuda'")
        return x.device.index if x.device.type == "cuda" else None

    def dtype(self, x: Any) -> np.dtype:
        name = str(x.dtype).removeprefix("torch.")
        return np.dtype(name if name != "bfloat16" else "float16")

    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        torch = self.module
        device = torch.device("cpu") if self.place is None else torch.device("cuda", self.place)
        wanted = torch.float32 if dtype == FLOATS[1] else torch.float64
        if not isinstance(x, torch.Tensor):
            x = torch.from_numpy(np.array(x, dtype))
        return x.to(device=device, dtype=wanted)

    def numpy(self, x: Any) -> np.ndarray:
        return x.detach().numpy()

    def from_numpy(self, x: np.ndarray) -> Any:
        return self.module.from_numpy(x)

    def dense(self, x: Any, batch: tuple[int, ...]) -> Any:
        return x.expand(*batch, x.shape[-1]).contiguous()

    def memory(self, x: Any) -> tuple[int, tuple[int, ...]]:
        return x.data_ptr(), x.stride()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        wanted = self.module.float32 if dtype == FLOATS[1] else self.module.float64
        return self.module.empty(shape, dtype=wanted, device=self.module.device("cuda", self.place))

    def stream(self) -> int | None:
        return self.module.cuda.current_stream(self.place).cuda_stream


class Cupy(Library):
    name = "cupy"

    def device(self, x: Any) -> int | None:
        return x.device.id

    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        return self.module.asarray(x, dtype)

    def memory(self, x: Any) -> tuple[int, tuple[int, ...]]:
        return x.data.ptr, tuple(s // x.itemsize for s in x.strides)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.module.empty(shape, dtype)

    def from_numpy(self, x: np.ndarray) -> Any:
        return self.module.asarray(x)


class Jax(Library):
    name = "jax"

    def device(self, x: Any) -> int | None:
        if self.is_traced(x):
            return None
        devices = x.devices()
        if len(devices) != 1:
            raise DalembertError(f"a JAX array spread over {len(devices)} devices, expected one: gather it first")
        (where,) = devices
        return where.id if where.platform in ("gpu", "cuda") else None

    def is_traced(self, x: Any) -> bool:
        """Whether x is a stand-in inside jit, vmap or grad."""
        return isinstance(x, self.module.core.Tracer)

    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        return self.module.numpy.asarray(x, dtype)

    def from_numpy(self, x: np.ndarray) -> Any:
        return self.module.numpy.asarray(x)

    def memory(self, x: Any) -> tuple[int, tuple[int, ...]]:
        x = x if hasattr(x, "data") and hasattr(x.data, "ptr") else self._cupy().from_dlpack(x)
        return x.data.ptr, tuple(s // x.itemsize for s in x.strides)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self._cupy().empty(shape, dtype)

    def finish(self, x: Any) -> Any:
        return self.module.dlpack.from_dlpack(x)

    def batch_first(self, x: Any, axes: int) -> Any:
        return self.module.numpy.moveaxis(x, tuple(range(-axes, 0)), tuple(range(axes)))

    def dense(self, x: Any, batch: tuple[int, ...]) -> Any:
        return self.module.numpy.broadcast_to(x, (*batch, x.shape[-1])) + 0

    @staticmethod
    def _cupy() -> Any:
        from dalembert.backends.cuda.kernel import library as cupy

        return cupy()


LIBRARIES: dict[str, type[Library]] = {kind.name: kind for kind in (Torch, Cupy, Jax)}
