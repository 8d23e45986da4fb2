"""Readers and writers from outside the package: their arguments, and the check of their result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.files import replacing
from dalembert.model import Model, ModelBuilder

from .diagnosis import diagnose
from .ledger import Finding, Ledger
from .write.losses import Losses

# options of `load` and of `save` that mean nothing special
LOADING = {"base": None, "mimic": "couple", "arguments": None, "srdf": True, "prim": None}
SAVING = {"geometry": True, "package": None, "notes": ()}


def accepted(
    function: Callable[..., Any], options: Mapping[str, Any], usual: Mapping[str, Any], where: str, what: str
) -> dict[str, Any]:
    """The options that a function takes; all others must have their usual values."""
    parameters = inspect.signature(function).parameters
    several = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    taken = {name: value for name, value in options.items() if several or name in parameters}
    for name, value in options.items():
        if name not in taken and value != usual.get(name):
            raise DalembertError(f"{where}: {name}={value!r}, but {what} takes no {name}: omit it")
    return taken


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
        taken = accepted(self.function, options, LOADING, str(path), f"the reader of '{self.ending}' files")
        model = self._model(self.function(path, ledger, **taken))
        diagnose(ledger, model, lambda name: f"{path.name} {name!r}")
        return model, ledger.close(strict=strict)

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


@dataclass(frozen=True)
class OutsideWriter:
    """A function of a robot and a `Losses`, and of those options of `save` that it has parameters for."""

    ending: str
    function: Callable[..., Any]

    def __call__(self, subject: Any, path: str, approximate: bool, options: Mapping[str, Any]) -> tuple[Finding, ...]:
        """Write the text or the bytes that the function returns, unless it refused something."""
        what = f"the writer of '{self.ending}' files"
        losses = Losses(f"a '{self.ending}' file", approximate)
        content = self.function(subject, losses, **accepted(self.function, options, SAVING, path, what))
        findings = losses.close()
        if not isinstance(content, str | bytes):
            raise DalembertError(f"{what} returned {type(content).__name__}, expected the file's text or bytes")
        with replacing(path) as temporary:
            temporary.write_bytes(content if isinstance(content, bytes) else content.encode())
        return findings
