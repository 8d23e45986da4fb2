"""Settings given once: how `simulate`, `rollout`, `rollout_gradient` and `stepper` take `settings=` beside keywords."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from dalembert.errors import DalembertError

P = ParamSpec("P")
R = TypeVar("R")


def shared(name: str, **refused: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Fill in the keywords of a function from `settings=`, where they are not given.

    name: of the function, for messages; refused: settings that it would have to leave out, with what to do instead.
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        form = signature(function)

        @wraps(function)
        def filled(*args: P.args, **keywords: P.kwargs) -> R:
            settings: Any = keywords.pop("settings", None)
            if settings is None:
                return function(*args, **keywords)
            from dalembert.sim.settings import Settings

            if not isinstance(settings, Settings):
                raise DalembertError(f"{name}: settings is {type(settings).__name__}, expected dalembert.Settings(…)")
            stated = settings.stated()
            for key in refused.keys() & stated.keys():
                raise DalembertError(f"{name}: the settings have {key}, which {refused[key]}")
            given = form.bind_partial(*args, **keywords).arguments
            more: Any = {key: x for key, x in stated.items() if key in form.parameters and key not in given}
            return function(*args, **more, **keywords)

        return filled

    return around
