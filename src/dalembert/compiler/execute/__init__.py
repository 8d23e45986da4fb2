"""From a traced program to numbers: the only room that runs compiled code.

A `Program` is a traced function or loop with its identity; it runs on a backend of the `registry`: on the processor
(`host`), on a graphics processor (`device`), in the interpreter, or on one that a user registered. A `Call` is a
program as users call it: any array, any batch, checked. Dividing a batch among threads (`batch`, `threads`), arrays of
other libraries (`foreign`) and the key of the disk cache (`identity`) live here and nowhere else.

In the order of reading: `program`, `identity`, `sources` (the package's own code), `registry`; `host` → `batch`,
`threads`; `device`; `call` → `arguments`, `memory`, `summary`; `methods` (fast calls with choices); `foreign` →
`jax_operator`, `torch_operator`; `interruption` (long loops in pieces), `recent` (what is kept for the next call like
it), `watch` (whether objects are as they were), `visible` (digests of users' code that files keep), `proof` (what is
kept on disk beside code), `alone` (users' functions known by their own trace), `stages` and `receding` (compiled
loops of optimal control), `procedures` (loops over arrays in plain Python), `system` (the machine).
"""

from .arguments import (
    FLOATS,
    batch_shape,
    described,
    is_maskable,
    is_single,
    is_traced,
    real_array,
    state_place,
    states,
)
from .call import Call
from .identity import code, content
from .interruption import Interrupted
from .memory import empty
from .methods import lead, method
from .program import Program, Repetition
from .recent import Recent, RecentSame
from .registry import backend_names, register_backend, running_on
from .summary import one_line

__all__ = [
    "FLOATS",
    "Call",
    "Interrupted",
    "Program",
    "Recent",
    "RecentSame",
    "Repetition",
    "backend_names",
    "batch_shape",
    "code",
    "content",
    "described",
    "empty",
    "is_maskable",
    "is_single",
    "is_traced",
    "lead",
    "method",
    "one_line",
    "real_array",
    "register_backend",
    "running_on",
    "state_place",
    "states",
]
