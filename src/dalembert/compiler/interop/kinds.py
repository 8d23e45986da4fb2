"""The interface of an array library: device, type, the numbers without copying, new arrays."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

ROOTS = ("torch", "cupy", "jax", "jaxlib")
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


_known: dict[type, str | None] = {}  # a type → the library it belongs to
LAYOUTS: dict[type, Callable[[Any], Any]] = {}  # a type of arrays → function of its layout, a key for look-up


def is_foreign(x: Any) -> bool:
    """Whether x is an array of another library than NumPy."""
    return _library_of(type(x)) is not None


def is_float32(x: Any) -> bool:
    """Whether x is an array of float32, of any library."""
    dtype = getattr(x, "dtype", None)
    return dtype == FLOATS[1] if isinstance(dtype, np.dtype) else str(dtype) == "torch.float32"


def _library_of(kind: type) -> str | None:
    """The library that a type of arrays, or a type it derives from, belongs to."""
    try:
        return _known[kind]
    except KeyError:
        roots = [each.__module__.partition(".")[0] for each in kind.__mro__] if hasattr(kind, "__dlpack__") else []
        name = next((root for root in roots if root in ROOTS), None)
        _known[kind] = "jax" if name == "jaxlib" else name
        return _known[kind]


def library(what: str, arrays: Sequence[Any]) -> Library:
    """The one library and device that the foreign arrays among `arrays` share."""
    foreign = [(x, root) for x in arrays if (root := _library_of(type(x))) is not None]
    kind = LIBRARIES[foreign[0][1]]()
    if any(root != kind.name for _, root in foreign):
        mixed = " and ".join(sorted({root for _, root in foreign}))
        raise DalembertError(f"{what}: arrays of {mixed}, expected those of one library")
    places = {kind.device(x) for x, _ in foreign if not kind.is_traced(x)} or {None}
    if len(places) != 1:
        mixed = " and ".join("the host" if place is None else f"GPU {place}" for place in places)
        raise DalembertError(f"{what}: arrays on {mixed}, expected one device: move them first")
    kind.place = places.pop()
    return kind


def on_host(what: str, *arrays: Any) -> list[Any]:
    """The arrays with those of other libraries as NumPy's, for code that works with NumPy alone."""
    plain = []
    for x in arrays:
        if is_foreign(x):
            kind = library(what, [x])
            if kind.place is not None:
                raise DalembertError(f"{what}: an array on GPU {kind.place}, expected one of the host: move it first")
            if kind.is_watched([x]):
                raise DalembertError(
                    f"{what}: an array that {kind.name} wants to differentiate or transform, which NumPy's results do "
                    "not take part in: detach it, or use what gives its own kind back, such as `rollout`"
                )
            x = kind.numpy(x)
        plain.append(x)
    return plain


class Library(ABC):
    """PyTorch, CuPy or JAX; `place` is the GPU by number, or None for host memory."""

    name = ""
    place: int | None = None

    def __init__(self) -> None:
        self.module = sys.modules[self.name]

    @property
    def namespace(self) -> Any:
        """The module that has its functions of arrays."""
        return self.module

    @abstractmethod
    def device(self, x: Any) -> int | None:
        """The device of x: the number of the GPU, or None."""

    def is_traced(self, x: Any) -> bool:
        """Whether x is a stand-in inside jit, vmap or grad, which is on no device yet."""
        return False

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

    def counted(self, count: int, apart: float, like: Any) -> Any:
        """(1, 2, …, count) · apart, of the type and on the device of `like`."""
        return self.module.arange(1, count + 1, dtype=like.dtype) * apart

    # ---- on a GPU

    @abstractmethod
    def address(self, x: Any) -> int:
        """The address of the first number of x."""

    @abstractmethod
    def strides(self, x: Any) -> tuple[int, ...]:
        """The distances between its numbers along each axis, counted in numbers."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """New memory on the device, as something that `address` and `finish` take."""

    def is_watched(self, arrays: Sequence[Any]) -> bool:
        """Whether the library is differentiating or transforming operations on them."""
        return False

    def finish(self, x: Any) -> Any:
        """Memory from `empty`, which a queued kernel will fill, as an array of this library."""
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

    def __init__(self) -> None:
        super().__init__()
        LAYOUTS[self.module.Tensor] = lambda x: (x.shape, x.stride(), x.dtype, x.device)

    def device(self, x: Any) -> int | None:
        if x.device.type not in ("cpu", "cuda"):
            raise DalembertError(f"a tensor on device '{x.device}', expected one on 'cpu' or 'cuda'")
        return x.device.index if x.device.type == "cuda" else None

    def dtype(self, x: Any) -> np.dtype:
        torch = self.module
        if x.dtype == torch.float32:
            return FLOATS[1]
        if x.dtype == torch.float64:
            return FLOATS[0]
        return np.dtype(np.float16 if x.dtype.is_floating_point else np.int64)

    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        torch = self.module
        wanted = torch.float32 if dtype == FLOATS[1] else torch.float64
        if isinstance(x, torch.Tensor):
            return x if x.dtype == wanted else x.to(wanted)
        device = torch.device("cpu") if self.place is None else torch.device("cuda", self.place)
        return torch.from_numpy(np.array(x, dtype)).to(device)

    def numpy(self, x: Any) -> np.ndarray:
        return x.detach().numpy()

    def from_numpy(self, x: np.ndarray) -> Any:
        return self.module.from_numpy(x)

    def counted(self, count: int, apart: float, like: Any) -> Any:
        return self.module.arange(1, count + 1, dtype=like.dtype, device=like.device) * apart

    def dense(self, x: Any, batch: tuple[int, ...]) -> Any:
        return x.expand(*batch, x.shape[-1]).contiguous()

    def address(self, x: Any) -> int:
        return x.data_ptr()

    def strides(self, x: Any) -> tuple[int, ...]:
        return x.stride()

    def is_watched(self, arrays: Sequence[Any]) -> bool:
        """Whether autograd or a transformation of torch.func needs to see the operation, which costs 50 µs."""
        torch = self.module
        transformed = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
        return (torch.is_grad_enabled() and any(x.requires_grad for x in arrays)) or transformed()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        wanted = self.module.float32 if dtype == FLOATS[1] else self.module.float64
        return self.module.empty(shape, dtype=wanted, device=self.module.device("cuda", self.place))

    def stream(self) -> int | None:
        return self.module.cuda.current_stream(self.place).cuda_stream


class Cupy(Library):
    name = "cupy"

    def __init__(self) -> None:
        super().__init__()
        LAYOUTS[self.module.ndarray] = lambda x: (x.shape, x.strides, x.dtype, x.data.device_id)

    def device(self, x: Any) -> int | None:
        return x.device.id

    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        return x if isinstance(x, self.module.ndarray) and x.dtype == dtype else self.module.asarray(x, dtype)

    def address(self, x: Any) -> int:
        return x.data.ptr

    def strides(self, x: Any) -> tuple[int, ...]:
        return tuple(s // x.itemsize for s in x.strides)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.module.ndarray(shape, dtype)

    def from_numpy(self, x: np.ndarray) -> Any:
        return self.module.asarray(x)


class Jax(Library):
    name = "jax"

    @property
    def namespace(self) -> Any:
        return self.module.numpy

    def device(self, x: Any) -> int | None:
        devices = x.devices()
        if len(devices) != 1:
            raise DalembertError(f"a JAX array spread over {len(devices)} devices, expected one: gather it first")
        (where,) = devices
        return where.id if where.platform in ("gpu", "cuda") else None

    def is_watched(self, arrays: Sequence[Any]) -> bool:
        return any(map(self.is_traced, arrays))

    def is_traced(self, x: Any) -> bool:
        return isinstance(x, self.module.core.Tracer)

    def asarray(self, x: Any, dtype: np.dtype) -> Any:
        return self.namespace.asarray(x, dtype)

    def from_numpy(self, x: np.ndarray) -> Any:
        return self.namespace.asarray(x)

    def counted(self, count: int, apart: float, like: Any) -> Any:
        device = None if self.is_traced(like) else like.device
        return self.namespace.arange(1, count + 1, dtype=like.dtype, device=device) * apart

    def address(self, x: Any) -> int:
        """JAX arrays are waited for, since JAX does not expose the stream of its queued work."""
        if isinstance(x, self.module.Array):
            x.block_until_ready()
            return x.unsafe_buffer_pointer()
        return x.data.ptr

    def strides(self, x: Any) -> tuple[int, ...]:
        return tuple(prod(x.shape[k + 1 :]) for k in range(x.ndim))  # dense rows

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self._cupy().empty(shape, dtype)

    def finish(self, x: Any) -> Any:
        self._cupy().cuda.get_current_stream().synchronize()
        return self.module.dlpack.from_dlpack(x)

    def batch_first(self, x: Any, axes: int) -> Any:
        return self.namespace.moveaxis(x, tuple(range(-axes, 0)), tuple(range(axes)))

    def dense(self, x: Any, batch: tuple[int, ...]) -> Any:
        return self.namespace.broadcast_to(x, (*batch, x.shape[-1])) + 0

    @staticmethod
    def _cupy() -> Any:
        import cupy  # whether it is installed has been checked when the device was chosen

        return cupy


LIBRARIES: dict[str, type[Library]] = {kind.name: kind for kind in (Torch, Cupy, Jax)}
