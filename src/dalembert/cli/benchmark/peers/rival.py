"""A peer's model of one robot: the Python code of each call as its users write it, and the translation of results."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import numpy as np

from dalembert.cli.benchmark.clock import Job

from .layout import Layout


@dataclass
class Rival:
    """`code[function]` computes y from q, v, u of one state (u: acceleration or force) with the given `names`."""

    name: str
    version: str
    layout: Layout
    code: dict[str, str]
    names: dict[str, Any]
    batches: dict[str, str] = field(default_factory=dict)  # code that computes Y of all states Q, V, U at once

    def inputs(self, function: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[Any, Any, Any]:
        """States (n, …) of dalembert as the peer wants them, one entry per state."""
        T = self.layout.transform(q)
        turned = np.einsum("nij,nj->ni", T, u)
        if function == "inverse_dynamics":
            turned += self.layout.drift(q, v)
        return self.layout.positions(q), np.einsum("nij,nj->ni", T, v), turned

    def call(self, function: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> Job:
        """One call on the first state."""
        Q, V, U = self.inputs(function, q[:1], v[:1], u[:1])
        return Job(self.code[function], self.names | {"q": Q[0], "v": V[0], "u": U[0]})

    def loop(self, function: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> Job:
        """The Python loop over all states; results are stored in the job's name `out`."""
        Q, V, U = self.inputs(function, q, v, u)
        body = indent(self.code[function], "    ") + "\n    out[i] = y"
        out = np.full((len(q), *self._shape(function)), np.nan)
        states = {"Q": Q, "V": V, "U": U, "out": out}
        return Job(f"for i, (q, v, u) in enumerate(zip(Q, V, U)):\n{body}", self.names | states, len(q))

    def together(self, function: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> Job:
        """The peer's own call for all states, one per column, on one thread; results are in the job's name `Y`."""
        Q, V, U = (np.asfortranarray(np.transpose(x)) for x in self.inputs(function, q, v, u))
        states = {"Q": Q, "V": V, "U": U, "Y": np.full((*self._shape(function), len(q)), np.nan, order="F")}
        return Job(self.batches[function], self.names | states, len(q))

    def batch_error(self, function: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> float:
        """How far the peer's batch call is from its own single calls, relative to the largest number."""
        batch, loop = self.together(function, q, v, u), self.loop(function, q, v, u)
        for job in (batch, loop):
            exec(job.code, dict(job.names))  # they write into arrays of the job
        Y, out = batch.names["Y"].T, loop.names["out"]
        error = np.abs(Y - out).max() / np.abs(out).max()
        return float(error) if np.isfinite(error) else float("inf")

    def answer(self, function: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The peer's results for all states, in dalembert's conventions."""
        job = self.loop(function, q, v, u)
        exec(job.code, names := dict(job.names))
        y, T = names["out"], self.layout.transform(q)
        if function == "mass_matrix":
            return np.einsum("nki,nkl,nlj->nij", T, y, T, optimize=True)
        if function == "jacobian":
            return np.roll(y, 3, axis=1) @ T  # rows [v; ω] to [ω; v]
        if function == "forward_dynamics":
            y = y - self.layout.drift(q, v)
        return np.einsum("nki,nk->ni", T, y)

    def _shape(self, function: str) -> tuple[int, ...]:
        nv = self.layout.nv
        return {"mass_matrix": (nv, nv), "jacobian": (6, nv)}.get(function, (nv,))
