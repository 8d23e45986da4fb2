"""Repetition with a stopping test, on numbers and on traced values alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .elementary import where


def repeat(
    step: Callable[..., Mapping[str, Any]],
    times: int,
    start: Mapping[str, Any],
    settled: str | None = None,
    fixed_point: float | None = None,
    correction: Callable[..., Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """state = step(*state), at most `times` times, as long as the number state[settled] is 0.

    start: the parts of the state by name, numbers or arrays of any shape. step takes them in this order and returns
    them by name, in their shapes; it may use any traced value in scope, and what does not depend on the state is
    computed once. settled: the part, one number or condition, that says that nothing is left to do; it is checked
    before every pass, so that there may be none. Without it there are exactly `times` passes.

    Returns the state by name after the last pass, and "passes", their number. Compiled, it is a loop, and each state of
    a batch stops on its own.

    fixed_point: the result is a solution of state = step(state) that does not depend on the start. Derivatives are then
    those of the solution, to this relative accuracy, instead of those of the passes that were made; where the
    repetition did not settle, or they cannot be computed so accurately, NaN. correction: another step with the same
    solution, as `step` takes and returns, from which these derivatives come; it is never taken itself.
    """
    if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 0:
        raise DalembertError(f"repeat: times={times!r}, expected a whole number ≥ 0")
    if "passes" in start:
        raise DalembertError("repeat: 'passes' cannot be part of the state: it is the number of passes in the result")
    if settled is not None and settled not in start:
        raise unknown("part of the state", settled, start, "repeat")
    if settled is not None and np.size(start[settled]) != 1:
        raise DalembertError(f"repeat: '{settled}' has shape {np.shape(start[settled])}, expected one number")
    if fixed_point is not None and not 0 < fixed_point < 1:
        raise DalembertError(f"repeat: fixed_point={fixed_point!r}, expected an accuracy between 0 and 1, or None")

    def checked(step: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
        def advanced(*parts: Any) -> Mapping[str, Any]:
            following = step(*parts)
            _check_state(start, following)
            return following

        return advanced

    state, passes = dict(start), 0
    traced = first_traced(start.values())
    while traced is None and passes < times and not (settled and np.all(state[settled])):
        following = checked(step)(*state.values())
        traced = first_traced(following.values())  # by way of values in scope
        state, passes = {name: following[name] for name in state}, passes + 1
    if traced is not None:
        corrected = None if correction is None else checked(correction)
        return traced.__repeat__(checked(step), int(times), start, settled, fixed_point, corrected)
    return {name: np.asarray(x)[()] for name, x in state.items()} | {"passes": float(passes)}


def branch(condition: Any, then: Callable[[], Mapping[str, Any]], otherwise: Mapping[str, Any]) -> dict[str, Any]:
    """then() where the condition holds, else `otherwise`: numbers and arrays by name, of the same shapes in both.

    Compiled to machine code, all that only `then` needs is skipped where no state that is computed together with others
    takes it. Unlike `where`, which computes both, a branch costs a jump and a copy: for long computations.
    """
    results = then()
    _check_state(otherwise, results, "branch")
    if first_traced([condition, *otherwise.values(), *results.values()]) is None:
        return {name: np.asarray(x)[()] for name, x in (results if condition else otherwise).items()}
    arrays = {name: np.array(x, object) for name, x in otherwise.items()}
    pairs = [(name, k) for name, x in arrays.items() for k in np.ndindex(x.shape)]
    taken = {name: np.asarray(x, object) for name, x in results.items()}
    differing = [(name, k) for name, k in pairs if not _same(arrays[name][k], taken[name][k])]
    begin, end = (np.array([x[name][k] for name, k in differing], object) for x in (arrays, taken))
    start = {"numbers": begin, "skipped": where(condition, 0.0, 1.0)}
    numbers = repeat(lambda *_: {"numbers": end, "skipped": 1.0}, 1, start, "skipped")["numbers"]
    for (name, k), number in zip(differing, numbers, strict=True):
        arrays[name][k] = number
    return {name: x[()] for name, x in arrays.items()}


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers are the same in every state."""
    return a is b or (isinstance(a, float) and isinstance(b, float) and a == b)


def held(x: Any) -> Any:
    """x, a number or an array, as derivatives see it: a constant. Its slope is 0 in everything that uses it.

    For what an iteration selects and the result does not change with to first order, as the nearest feature of a body.
    """
    return repeat(lambda kept: {"kept": kept}, 1, {"kept": x}, fixed_point=0.5)["kept"]


def first_traced(values: Any) -> Any:
    """The first traced scalar among numbers and arrays, if there is one."""
    every = (x for value in values for x in np.asarray(value, object).ravel())
    return next((x for x in every if hasattr(x, "__traced__")), None)


def _check_state(start: Mapping[str, Any], following: Any, where: str = "repeat") -> None:
    """A repeated step gave every part of the state, in its shape."""
    if not isinstance(following, Mapping):
        raise DalembertError(f"{where}: the step gave {type(following).__name__}, expected a dict with {list(start)}")
    for name in following:
        if name not in start:
            raise unknown("part of the state", name, start, where)
    for name, x in start.items():
        shape, wanted = np.shape(following[name]) if name in following else "nothing", np.shape(x)
        if shape != wanted:
            raise DalembertError(f"{where}: the step gave {shape} for '{name}', expected shape {wanted}")
