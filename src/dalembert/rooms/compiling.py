"""Compiling ahead of time, counting, and code for elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Self, overload

import numpy as np

from dalembert import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.execute import FLOATS
from dalembert.functions.catalogue import CATALOGUE, Options, checked
from dalembert.functions.catalogue import group as find_group
from dalembert.functions.evaluation import Evaluation, wrenches
from dalembert.functions.structure import Wrench

from .equations import equations

PAPER: dict[str, Callable[[Any], str]] = {"latex": lambda made: made.latex(), "sympy": lambda made: made.python()}


class Compiling(Evaluation):
    """Compilation on demand, operation counts, source text."""

    @overload
    def compile(
        self,
        *names: str,
        batch: bool = False,
        dtype: Any = np.float64,
        frame: str | None = None,
        axes: str | None = None,
        external: Sequence[Wrench] = (),
    ) -> Self: ...

    @overload
    def compile(
        self,
        name: str,
        /,
        *,
        live: str | Iterable[str],
        batch: bool = False,
        dtype: Any = np.float64,
        frame: str | None = None,
        axes: str | None = None,
        external: Sequence[Wrench] = (),
    ) -> Callable[..., Any]: ...

    @overload
    def compile(
        self,
        first: str,
        second: str,
        /,
        *others: str,
        live: str | Iterable[str],
        batch: bool = False,
        dtype: Any = np.float64,
        frame: str | None = None,
        axes: str | None = None,
        external: Sequence[Wrench] = (),
    ) -> tuple[Callable[..., Any], ...]: ...

    def compile(
        self,
        *names: str,
        batch: bool = False,
        dtype: Any = np.float64,
        frame: str | None = None,
        axes: str | None = None,
        live: str | Iterable[str] = (),
        external: Sequence[Wrench] = (),
    ) -> Any:
        """Compile quantities ahead of their first call, for one state or for batches; returns the robot.

        external: for calls with wrenches on these frames, along these axes; their numbers are inputs of the call.

        With `live`, quantities are compiled with constants of the model as further inputs, and returned as functions
        (one, or a tuple in the order of the names) of their inputs and one array per group, in the order given or by
        keyword; any of them may be a batch. Like the methods, they take `external=`. Groups: "inertia" (…, 10·nb),
        "friction", "damping", "armature", "stiffness" (one number per freedom of each joint), "placement" (…, 6·nb) and
        "gravity" (…, 3); see `live_values` for what they hold.
        """
        if np.dtype(dtype) not in FLOATS:
            raise DalembertError(f"compile: dtype is {dtype}, expected float64 or float32")
        live, external = checked(live), wrenches(external)
        if live and not names:
            raise DalembertError("compile: live parameters of what? pass the name of a quantity")
        for name in names:
            call = self._named_call(name, frame, axes, live, external=external)
            call.prepare(batch, dtype)
        if not live:
            return self
        functions = tuple(self._live_function(name, self._named(name, frame, axes, live)) for name in names)
        return functions[0] if len(functions) == 1 else functions

    def _live_function(self, name: str, options: Options) -> Callable[..., Any]:
        """A quantity as a function of its inputs and of live parameters."""
        call = self._call(name, options)
        loads = "external=(), " if CATALOGUE[name].loaded else ""
        signature = f"({', '.join(call.sizes)}, *, {loads}out=None, threads=None, check=True)"
        doc = f"{signature}\n--\n\n{name} with live parameters: {', '.join(options.live)}."
        return call.builtin(name, doc, partial(self._by_name, name, options))

    def live_values(self, group: str) -> np.ndarray:
        """The robot's own numbers of a group of live parameters (n,), to start from.

        "inertia": ten per body, m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the body's origin, bodies in
        order. "friction", "damping", "armature", "stiffness": one per freedom of each joint, in the order of
        `robot.joints`; a joint that follows another one has its own entry, in its own coordinate. "placement": six per
        body, a displacement [m] and a rotation vector [rad] of its joint frame, in the axes of that frame as the robot
        has it: zeros. "gravity": the vector in the world [m/s²].
        """
        return find_group(group).values(self.model)

    def operations(
        self,
        name: str,
        *,
        frame: str | None = None,
        axes: str | None = None,
        live: str | Iterable[str] = (),
        external: Sequence[Wrench] = (),
        method: str = "newton-euler",
    ) -> dict[str, int]:
        """How many operations of each kind (add, mul, div, sin …) one evaluation of a quantity takes."""
        return self._named_call(name, frame, axes, live, method, external).function().operations()

    def source(
        self,
        name: str,
        language: str = "c",
        *,
        frame: str | None = None,
        axes: str | None = None,
        live: str | Iterable[str] = (),
        external: Sequence[Wrench] = (),
    ) -> str:
        """A quantity as source text: "c", one self-contained C99 file; "latex", an equation; "sympy", Python source;
        "cuda", a kernel of one state per thread.

        `live`, `external`: see `compile`; in an equation these constants are symbols, see `equations`.
        """
        if language in PAPER:
            return PAPER[language](equations(self, name, symbols=live, frame=frame, axes=axes, external=external))  # type: ignore[arg-type]
        options = self._named(name, frame, axes, live, external=external)
        if language == "cuda":
            from dalembert.execute import device  # the compilers are loaded when used

            return device.emit(self._call(name, options).function(), self._title(name)).text
        made = self._emit(name, language, options)
        return made.header + "\n" + made.source.replace(f'#include "{made.name}.h"\n', "")

    def export(
        self,
        name: str,
        language: str,
        folder: str | os.PathLike[str],
        *,
        frame: str | None = None,
        axes: str | None = None,
        live: str | Iterable[str] = (),
        external: Sequence[Wrench] = (),
    ) -> list[str]:
        """Write a quantity as self-contained files, with a program that checks a stored test vector; returns paths."""
        from dalembert.backends import c

        options = self._named(name, frame, axes, live, external=external)
        if language in ("cuda", *PAPER):
            raise DalembertError(
                f"export: files are written in 'c' only: take the text of source({name!r}, {language!r})"
            )
        return [str(path) for path in c.write(self._emit(name, language, options), os.fspath(folder))]

    def _emit(self, name: str, language: str, options: Options) -> Any:
        from dalembert.backends import c

        if language != "c":
            raise unknown("language", language, ["c", "cuda", *PAPER], "source")
        call = self._call(name, options)
        rng = np.random.default_rng(0)
        sample = {
            n: algorithms.random(self.model, rng) if n in ("q", "q0", "q1") else rng.uniform(-1, 1, k)
            for n, k in call.sizes.items()
        } | {n: self.live_values(n) for n in options.live}
        return c.emit(call.function(), name=self._title(name), sample=sample)

    def _title(self, name: str) -> str:
        """The name of a quantity of this robot as an identifier."""
        title = re.sub(r"\W", "_", f"{self.model.name}_{name}")
        return title if title[0].isalpha() else "robot_" + title

    def traceable(
        self,
        name: str,
        library: str,
        *,
        frame: str | None = None,
        axes: str | None = None,
        live: str | Iterable[str] = (),
    ) -> Callable[..., Any]:
        """A quantity as plain operations of "jax" or "torch", for those who trace through it with the library's own
        transformations. Arguments (…, size), result (…, *shape). For numbers and gradients alone the methods of the
        robot, which take arrays of these libraries too, are faster by orders of magnitude. `live`: see `compile`.
        """
        if library not in ("jax", "torch"):
            raise unknown("library", library, ["jax", "torch"], "traceable")
        run = import_module(f"dalembert.backends.{library}").run
        function = self._named_call(name, frame, axes, checked(live)).function()
        names, result = [i.name for i in function.inputs], function.outputs[0].name
        return lambda *arrays: run(function, dict(zip(names, arrays, strict=True)))[result]
