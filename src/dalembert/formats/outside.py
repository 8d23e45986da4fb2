"""Readers from outside the package: their arguments, and the check of their result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.model import Model, ModelBuilder

from .diagnosis import diagnose
from .ledger import Finding, Ledger

DEFAULTS = {"base": None, "mimic": "couple", "arguments": None}  # options of `load` that mean nothing special


@dataclass(frozen=True)
class OutsideReader:
    """A function of a file's path and a `Ledger`, and of those options of `load` that it has parameters for."""

    ending: str
    function: Callable[..., Any]

    def __call__(self, source: Any, *, strict: bool = False, **options: Any) -> tuple[Model, tuple[Finding, ...]]:
        """The model, and the findings of the reader and of the usual checks of masses, lengths and limits."""
        path, ledger = Path(source), Ledger()
        if not path.is_file():
            raise DalembertError(f"{path}: no such file")
        model = self._model(self.function(path, ledger, **self._accepted(path, options)))
        diagnose(ledger, model, lambda name: f"{path.name} {name!r}")
        return model, ledger.close(strict=strict)

    def _accepted(self, path: Path, options: dict[str, Any]) -> dict[str, Any]:
        """The options that the function takes; all others must have their default values."""
        parameters = inspect.signature(self.function).parameters
        several = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        accepted = {name: value for name, value in options.items() if several or name in parameters}
        for name, value in options.items():
            if name not in accepted and value != DEFAULTS.get(name):
                raise DalembertError(
                    f"{path}: {name}={value!r}, but the reader of '{self.ending}' files takes no {name}: omit it"
                )
        return accepted

    def _model(self, result: Any) -> Model:
        if isinstance(result, ModelBuilder):
            return result.model()
        model = getattr(result, "model", result)  # of a Robot
        if not isinstance(model, Model):
            raise DalembertError(
                f"the reader of '{self.ending}' files returned {type(result).__name__}, "
                "expected a ModelBuilder, Model or Robot"
            )
        return model
