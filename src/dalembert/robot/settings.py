"""Settings given once: how functions with many keywords take `settings=` beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from dalembert.errors import DalembertError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Keywords:
    """Keywords of one function, given once as its `settings=`; a keyword that is given beside them wins."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.stated().items())})"

    def stated(self) -> dict[str, Any]:
        """The settings that are not left at their defaults, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not f.default}


def _of_motions() -> type:
    from dalembert.sim.settings import Settings

    return Settings


def shared(
    name: str, kind: Callable[[], type] = _of_motions, **refused: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Fill in the keywords of a function from `settings=`, where they are not given.

    name: of the function, for messages; kind: loads the class of its settings, default `dalembert.Settings`; refused:
    settings that it would have to leave out, with what to do instead.
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        form = signature(function)

        @wraps(function)
        def filled(*args: P.args, **keywords: P.kwargs) -> R:
            settings: Any = keywords.pop("settings", None)
            if settings is None:
                return function(*args, **keywords)
            wanted: Any = kind()
            if not isinstance(settings, wanted):
                room, _, _ = wanted.__module__.rpartition(".")
                public = "dalembert" if kind is _of_motions else room
                raise DalembertError(
                    f"{name}: settings is {type(settings).__name__}, expected {public}.{wanted.__name__}(…)"
                )
            stated: dict[str, Any] = settings.stated()
            for key in refused.keys() & stated.keys():
                raise DalembertError(f"{name}: the settings have {key}, which {refused[key]}")
            given = form.bind_partial(*args, **keywords).arguments
            more: Any = {key: x for key, x in stated.items() if key in form.parameters and key not in given}
            return function(*args, **more, **keywords)

        return filled

    return around
