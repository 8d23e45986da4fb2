"""Random calls of a robot, each with what must come of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dalembert import DalembertError
from robust.disguises import DISGUISES, SHAPELESS, SINGLE, SPOILED, Holder, Liar, Tagged
from robust.machines import FRAMES, POOLS, STATES, pool, robot, table

QUANTITIES = {
    "inverse_dynamics": ("q", "v", "a"),
    "mass_matrix": ("q",),
    "potential_energy": ("q",),
    "jacobian": ("q",),
    "bias": ("q", "v"),
}
BATCHES = [(), (), (1,), (3,), (8,), (21,), (2, 3), (1, 3), (2, 1), (0,), (2, 0), (2, 1, 3)]
WRONG_THREADS = [0, -1, 1.5, "2", True, [1], float("nan")]
WRONG_KEYWORDS = ["ouput", "dtype", "order", "threads_", "self", "q"]


@dataclass
class Random:
    """Random choices, drawn in bulk: one by one they would cost more than the calls under test."""

    rng: np.random.Generator
    stock: list[float] = field(default_factory=list)

    def below(self, n: int) -> int:
        if not self.stock:
            self.stock = self.rng.random(4096).tolist()
        return int(self.stock.pop() * n)

    def choice(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def one_in(self, n: int) -> bool:
        return self.below(n) == 0


@dataclass
class Trial:
    """A call: what is called, with what, and the result it must give; None where it must raise."""

    name: str
    call: Any
    arguments: list[Any]
    keywords: dict[str, Any]
    expected: np.ndarray | None
    disguises: list[str]
    arrays: list[np.ndarray]  # behind the arguments

    def __str__(self) -> str:
        shown = {key: f"{type(x).__name__} {getattr(x, 'shape', x)}" for key, x in self.keywords.items()}
        return f"{self.name} of {[a.shape for a in self.arrays]} as {self.disguises}, {shown}"

    def run(self) -> None:
        held = [x for x in (*self.arguments, *self.keywords.values()) if isinstance(x, (np.ndarray, list, Holder))]
        before = [sys.getrefcount(x) for x in held]
        try:
            result = self.call(*self.arguments, **self.keywords)
        except (DalembertError, TypeError) as error:
            assert self.expected is None, f"{self}: {error}"
            assert self.name in str(error) or "threads" in str(error), f"{self}: {error}"
        else:
            assert self.expected is not None, f"{self}: nothing was raised, the result is {result}"
            self._compare(result)
            del result
        assert [sys.getrefcount(x) for x in held] == before, f"{self}: references were lost or kept"

    def _compare(self, result: Any) -> None:
        out = self.keywords.get("out")
        if out is not None:
            assert result is out
        elif self.expected.ndim == 0:
            assert type(result) is (float if self.expected.dtype == np.float64 else np.float32), str(self)
        else:
            assert type(result) is np.ndarray and result.flags.c_contiguous and result.flags.writeable, str(self)
            assert not any(np.may_share_memory(result, a) for a in self.arrays)
        assert not np.ma.is_masked(result), str(self)
        plain = np.asarray(result)
        assert plain.dtype == self.expected.dtype and np.array_equal(plain, self.expected), str(self)


def trials(seed: int, count: int):
    """Random calls."""
    r = Random(np.random.default_rng(seed))
    return (_trial(r) for _ in range(count))


def _trial(r: Random) -> Trial:
    machine, name, kind = r.choice(("arm", "tree")), r.choice(list(QUANTITIES)), r.choice(POOLS)
    names = QUANTITIES[name]
    method = getattr(robot(machine), name)
    call = partial(_framed, method, FRAMES[machine]) if name == "jacobian" else method
    calm = r.one_in(2)  # half of the calls are what people do: equal plain arrays
    batch = r.choice(BATCHES)
    shapes = [batch if calm or r.one_in(2) else r.choice(BATCHES) for _ in names]
    choice = [r.rng.integers(0, STATES, shape) for shape in shapes]
    arrays = [pool(machine, n, kind)[i] for n, i in zip(names, choice, strict=True)]
    calm_kind = r.choice(("plain", "float32"))
    disguises = [calm_kind if calm else r.choice(list(DISGUISES[kind])) for _ in names]
    disguises = [d if a.size or d not in SHAPELESS else "copy" for d, a in zip(disguises, arrays, strict=True)]
    arguments = [DISGUISES[kind][d](a, r.rng) for d, a in zip(disguises, arrays, strict=True)]
    dtype = np.float32 if SINGLE.issuperset(disguises) else np.float64
    try:
        full = np.broadcast_shapes(*shapes)
        expected = np.asarray(table(machine, name, kind, dtype)[tuple(choice)])
    except (ValueError, IndexError):
        full, expected = (), None
    trial = Trial(name, call, arguments, {}, expected, disguises, [a for a in arrays if a.size])
    if expected is not None and not calm and r.one_in(2):
        _spoil(r, trial, arrays, full)
    if trial.expected is not None and r.one_in(3):
        _add_keywords(r, trial, full)
    return trial


def _framed(method: Any, frame: str, *arguments: Any, **keywords: Any) -> Any:
    """The frame comes after q; what is too much comes after the frame."""
    return method(*arguments[:1], frame, *arguments[1:], **keywords)


def _spoil(r: Random, trial: Trial, arrays: list[np.ndarray], batch: tuple[int, ...]) -> None:
    """Make one argument, or their number, wrong."""
    which = r.below(len(arrays))
    if r.one_in(8):
        trial.arguments = trial.arguments[:-1] if r.one_in(2) else [*trial.arguments, trial.arguments[0]]
        trial.disguises.append("count")
    elif 0 not in batch and arrays[which].size:
        trial.disguises[which] = spoiled = r.choice(list(SPOILED))
        trial.arguments[which] = SPOILED[spoiled](arrays[which], r.rng)
    else:
        return
    trial.expected = None


def _add_keywords(r: Random, trial: Trial, batch: tuple[int, ...]) -> None:
    way = r.below(8)
    if way == 0:
        trial.keywords["threads"] = r.choice([None, 1, 2, 3, 10**9, np.int64(2)])
    elif way == 1:
        trial.keywords["threads"], trial.expected = r.choice(WRONG_THREADS), None
    elif way == 2:
        trial.keywords[r.choice(WRONG_KEYWORDS)], trial.expected = None, None
    elif way == 3:
        trial.keywords["check"] = r.choice([True, False])
    elif way == 4:
        _add_bad_out(r, trial)
    else:
        _add_out(r, trial)


def _add_out(r: Random, trial: Trial) -> None:
    """An output of any layout, often one that overlaps the arguments."""
    expected = trial.expected
    assert expected is not None
    room = np.full(3 * expected.size + 64, np.nan, expected.dtype)
    out = room[7 : 7 + expected.size].reshape(expected.shape)
    overlapping = [a for a in trial.arguments if type(a) is np.ndarray and a.dtype == out.dtype and a.flags.writeable]
    way = r.below(7)
    if way == 0:
        out = room[: 3 * expected.size : 3].reshape(expected.shape)
    elif way == 1:
        out = np.full(expected.shape, np.nan, expected.dtype, order="F")
    elif way == 2:
        out = out.view(r.choice((Tagged, Liar, np.recarray)))
    elif way == 3:
        out = np.ma.masked_array(out, np.ones(out.shape, bool))
    elif overlapping and expected.size:
        out = _over(r, trial, r.choice(overlapping), out)
    trial.keywords["out"] = out


def _over(r: Random, trial: Trial, over: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Put an argument into the same memory as `out`, some elements or bytes further on."""
    shift = r.choice((0, 0, 1, 5, over.shape[-1]))
    room = np.full(over.size + out.size + shift, np.nan, out.dtype)
    moved = room[: over.size].reshape(over.shape)
    out = room[shift : shift + out.size].reshape(out.shape)
    if r.one_in(2):
        moved, out = room[shift : shift + over.size].reshape(over.shape), room[: out.size].reshape(out.shape)
    moved[...] = over
    trial.arguments = [moved if a is over else a for a in trial.arguments]
    return out


def _add_bad_out(r: Random, trial: Trial) -> None:
    expected = trial.expected
    assert expected is not None
    read_only = np.zeros(expected.shape, expected.dtype)
    read_only.flags.writeable = False
    wrong = [
        np.zeros((*expected.shape, 1), expected.dtype),
        np.zeros((7, *expected.shape), expected.dtype),
        np.zeros(expected.shape, expected.dtype.newbyteorder()),
        np.zeros(expected.shape, np.float32 if expected.dtype == np.float64 else np.float64),
        np.zeros(expected.shape, complex),
        np.zeros(expected.shape, object),
        read_only,
        expected.tolist(),
        "out",
        (expected,),
        0.0,
    ]
    trial.keywords["out"], trial.expected = r.choice(wrong), None
