"""Compiling ahead of time, counting, and code for elsewhere."""

from __future__ import annotations

import os
import re
from typing import Any, Self

import numpy as np

from dalembert import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.evaluation import Evaluation


class Compiling(Evaluation):
    """Compilation on demand, operation counts, source text."""

    def compile(
        self,
        *names: str,
        batch: bool = False,
        dtype: Any = np.float64,
        frame: str | None = None,
        axes: str | None = None,
    ) -> Self:
        """Compile quantities ahead of their first call, for one state or for batches; returns the robot."""
        from dalembert.backends.llvm.kernel import ELEMENT

        if np.dtype(dtype) not in ELEMENT:
            raise DalembertError(f"compile: dtype is {dtype}, expected float64 or float32")
        for name in names:
            call = self._named_call(name, frame, axes)
            call.kernel.executable("batch" if batch else "one", ELEMENT[np.dtype(dtype)])
        return self

    def operations(self, name: str, *, frame: str | None = None, axes: str | None = None) -> dict[str, int]:
        """How many operations of each kind (add, mul, div, sin …) one evaluation of a quantity takes."""
        return self._named_call(name, frame, axes).kernel.function().operations()

    def source(self, name: str, language: str = "c", *, frame: str | None = None, axes: str | None = None) -> str:
        """A quantity as source text: "c", one self-contained C99 file."""
        made = self._emit(name, language, frame, axes)
        return made.header + "\n" + made.source.replace(f'#include "{made.name}.h"\n', "")

    def export(
        self,
        name: str,
        language: str,
        folder: str | os.PathLike[str],
        *,
        frame: str | None = None,
        axes: str | None = None,
    ) -> list[str]:
        """Write a quantity as self-contained files, with a program that checks a stored test vector; returns paths."""
        from dalembert.backends import c

        return [str(path) for path in c.write(self._emit(name, language, frame, axes), os.fspath(folder))]

    def _emit(self, name: str, language: str, frame: str | None, axes: str | None) -> Any:
        from dalembert.backends import c

        if language != "c":
            raise unknown("language", language, ["c"], "source")
        call = self._named_call(name, frame, axes)
        rng = np.random.default_rng(0)
        sample = {
            n: algorithms.random(self.model, rng) if n in ("q", "q0", "q1") else rng.uniform(-1, 1, k)
            for n, k in call.sizes.items()
        }
        title = re.sub(r"\W", "_", f"{self.model.name}_{name}")
        return c.emit(call.kernel.function(), name=title if title[0].isalpha() else "robot_" + title, sample=sample)
