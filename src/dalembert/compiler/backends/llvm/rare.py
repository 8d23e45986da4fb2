"""Rare branches of kernels: objects of their own, compiled when a kernel first takes them.

Most of the code of a step with contact is for states that few motions reach. A kernel has a stub in place of such a
branch: it asks for the address of the code by a digest of its text, and keeps it. Until then the text is kept,
compressed, with the kernel. The code is the same whenever it is compiled, so results do not depend on that. A control
loop that cannot wait sets DALEMBERT_BRANCHES=ahead: then nothing is compiled after the first call.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import zlib
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any
from weakref import WeakValueDictionary

from dalembert.compiler.backends import cache
from dalembert.compiler.graph import uncollected
from dalembert.progress import Progress

from . import target
from .ir import Builder, Module

ASK = "dalembert_rare_branch"  # address of a branch by its digest, for kernels
ENTRY = "branch"  # the function of a branch in its object
SMALLEST = 200_000  # characters of IR: less is compiled within 50 ms and stays in its kernel
LATER = 0.05  # [s] after which an interruption is raised again, when the kernel may have returned


class Branch:
    """A branch of kernels. text: its IR, compressed, dropped when the code is loaded; name: of a kernel."""

    def __init__(self, digest: str, text: bytes, name: str) -> None:
        self.digest, self.name = digest, name
        self._text, self._lock = text, threading.Lock()
        self._engine: Any = None

    def address(self) -> int:
        """The address of its code, from the disk or compiled now."""
        with self._lock:
            if self._engine is None:
                key = cache.key("branch", self.digest, target.description())
                entry = cache.read(key)
                if entry is None:
                    with Progress(f"compiling a rare branch of {self.name}"), uncollected():
                        entry = cache.CacheEntry(target.compile_object(zlib.decompress(self._text).decode()), {})
                    cache.write(key, entry)
                self._engine = target.load_object(entry.code)
                self._text = b""
            return int(self._engine.get_function_address(ENTRY))


_branches: WeakValueDictionary[str, Branch] = WeakValueDictionary()


def complete() -> None:
    """Compile the branches of all kernels that are loaded."""
    for branch in list(_branches.values()):
        branch.address()


def registered(texts: Mapping[str, bytes], name: str) -> list[Branch]:
    """The branches of a kernel by their digests, known to it for as long as they are kept."""
    branches = [_branches.setdefault(digest, Branch(digest, text, name)) for digest, text in texts.items()]
    if os.environ.get("DALEMBERT_BRANCHES") == "ahead":
        for branch in branches:
            branch.address()
    return branches


def compressed(module: Module) -> dict[str, bytes]:
    """The texts of the rare branches of a module, by their digests."""
    return {digest: zlib.compress(text.encode(), 1) for digest, text in module.rare.items()}


def _asked(place: int | None) -> int:
    """The address of a branch, whose digest lies there; 0: it could not be compiled, and its results are NaN."""
    branch = _branches[ctypes.string_at(place or 0, 64).decode()]
    try:
        return branch.address()
    except KeyboardInterrupt:  # no exception passes through a kernel: it comes when that has returned
        import _thread

        threading.Timer(LATER, _thread.interrupt_main).start()
        return branch.address()
    except Exception as error:
        with suppress(Warning):
            warnings.warn(
                f"a rare branch of {branch.name} could not be compiled, its results are NaN: {error!r}",
                RuntimeWarning,
                stacklevel=2,
            )
        return 0


_callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_asked)
target.add_symbol(ASK, ctypes.cast(_callback, ctypes.c_void_p).value or 0)


def write_stub(module: Module, name: str, text: str, results: list[int], element: str, width: int) -> None:
    """void @name(ptr memory, ptr items): the branch with this text. results: slots that are NaN if it has no code.

    An interruption may end the callback before its first instruction: it is asked twice.
    """
    digest = sha256(text.encode()).hexdigest()
    module.rare[digest] = text
    module.parts[f"{name}.digest"] = f'@{name}.digest = internal constant [64 x i8] c"{digest}"'
    module.parts[f"{name}.code"] = f"@{name}.code = internal global ptr null"
    b = Builder(module, element, width)
    known = b.op(f"load atomic ptr, ptr @{name}.code monotonic, align 8")
    b.do(f"br i1 {b.op(f'icmp eq ptr {known}, null')}, label %ask, label %run")
    incoming = [f"[ {known}, %entry ]"]
    for block, following in (("ask", "again"), ("again", "missing")):
        b.label(block)
        code = b.call(ASK, "ptr", ("ptr", f"@{name}.digest"), declare=True)
        b.do(f"store atomic ptr {code}, ptr @{name}.code monotonic, align 8")
        b.do(f"br i1 {b.op(f'icmp eq ptr {code}, null')}, label %{following}, label %run")
        incoming.append(f"[ {code}, %{block} ]")
    b.label("missing")
    for slot in results:
        b.store(b.const(float("nan")), "%memory", slot)
    b.do("ret void")
    b.label("run")
    code = b.op(f"phi ptr {', '.join(incoming)}")
    b.do(f"call void {code}(ptr %memory, ptr %items)")
    b.do("ret void")
    module.define(b, f"define internal void @{name}(ptr %memory, ptr %items)")
