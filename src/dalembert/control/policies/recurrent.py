"""Recurrent layers: LSTM, GRU and plain ones, sample after sample and in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.math import maximum, tanh

from .elementwise import each, sigmoid
from .operators import matmul

if TYPE_CHECKING:
    from .file import OnnxNode

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
GATES = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}


class Layer(NamedTuple):
    """One direction: W (gates, n), R (gates, hidden), biases (gates,) of inputs and of the state."""

    W: np.ndarray
    R: np.ndarray
    b_W: np.ndarray
    b_R: np.ndarray

    def all_gates(self, x: Any, h: Any, rows: slice = slice(None)) -> np.ndarray:
        """W x + R h + both biases, of some gates."""
        W, R, b = self.W[rows], self.R[rows], (self.b_W + self.b_R)[rows]
        return _of(np.concatenate([W, R, b[:, None]], 1), [*x, *h, 1.0])


def _of(W: np.ndarray, x: Any) -> np.ndarray:
    listed = np.empty(len(x), object)
    listed[:] = list(x)
    if not any(hasattr(y, "__traced__") for y in x):
        return W @ listed.astype(float)
    return matmul(listed[None], W.T)[0]


def recurrent(node: OnnxNode, x: Any, W: Any, R: Any, B: Any = None, lengths: Any = None, *states: Any) -> list[Any]:
    """All outputs of a layer: those of all samples, then the states at the end."""
    _check(node, lengths, states)
    x, hidden = np.asarray(x), np.shape(R)[-1]
    if x.ndim != 3 or x.shape[1] != 1:
        raise ValueError(f"its input has shape {x.shape}, expected (samples, 1, numbers), one motion at a time")
    kinds = 2 if node.op == "LSTM" else 1
    B = np.zeros((len(W), 2 * np.shape(W)[1])) if B is None else np.asarray(B)
    outputs: list[Any] = []
    ends: list[list[Any]] = [[] for _ in range(kinds)]
    for k, backwards in enumerate(DIRECTIONS[node.get("direction", "forward")]):
        layer = Layer(np.asarray(W)[k], np.asarray(R)[k], *np.split(B[k], 2))
        state = [
            np.zeros(hidden) if len(states) <= i or states[i] is None else np.asarray(states[i])[k, 0]
            for i in range(kinds)
        ]
        rows: list[Any] = [None] * len(x)
        for t in reversed(range(len(x))) if backwards else range(len(x)):
            state = STEPS[node.op](node, layer, x[t, 0], *state)
            rows[t] = state[0]
        outputs.append(rows)
        for end, part in zip(ends, state, strict=True):
            end.append(part)
    every = np.array([[[row[t]] for row in outputs] for t in range(len(x))])  # (samples, directions, 1, hidden)
    return [every, *(np.array(end)[:, None] for end in ends)]


def _check(node: OnnxNode, lengths: Any, states: Any) -> None:
    count = len(DIRECTIONS.get(node.get("direction", "forward"), (0,)))
    usual = list(GATES[node.op]) * count
    if node.op == "RNN":
        usual = [x for x in node.get("activations", [b"Tanh"]) if _text(x) in ("Tanh", "Relu")]
    if "activations" in node.attributes and [_text(x) for x in node.get("activations")] != [_text(x) for x in usual]:
        raise ValueError(f"activations are {[_text(x) for x in node.get('activations')]}, expected the usual {usual}")
    for name in ("clip", "input_forget", "layout"):
        if node.get(name, 0):
            raise ValueError(f"attribute {name} is {node.get(name)}, which is not read here")
    if node.op == "LSTM" and len(states) > 2 and states[2] is not None and np.any(np.asarray(states[2]) != 0.0):
        raise ValueError("it has peepholes, which are not read here")


def _text(x: Any) -> str:
    return x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x)


def _lstm(node: OnnxNode, layer: Layer, x: Any, h: Any, c: Any) -> list[Any]:
    i, o, f, g = np.split(layer.all_gates(x, h), 4)
    c = each(lambda i, f, g, c: sigmoid(f) * c + sigmoid(i) * tanh(g), i, f, g, c)
    return [each(lambda o, c: sigmoid(o) * tanh(c), o, c), c]


def _gru(node: OnnxNode, layer: Layer, x: Any, h: Any) -> list[Any]:
    n = len(h)
    z, r = np.split(layer.all_gates(x, h, slice(0, 2 * n)), 2)
    last = slice(2 * n, 3 * n)
    if node.get("linear_before_reset", 0):
        moved = _of(np.concatenate([layer.R[last], layer.b_R[last, None]], 1), [*h, 1.0])
        fresh = _of(np.concatenate([layer.W[last], layer.b_W[last, None]], 1), [*x, 1.0])
        g = each(lambda a, r, b: tanh(a + sigmoid(r) * b), fresh, r, moved)
    else:
        g = each(tanh, layer.all_gates(x, each(lambda r, h: sigmoid(r) * h, r, h), last))
    return [each(lambda z, g, h: (1.0 - sigmoid(z)) * g + sigmoid(z) * h, z, g, h)]


def _rnn(node: OnnxNode, layer: Layer, x: Any, h: Any) -> list[Any]:
    relu = _text(node.get("activations", ["Tanh"])[0]) == "Relu"
    return [each(lambda a: maximum(a, 0.0) if relu else tanh(a), layer.all_gates(x, h))]


STEPS: dict[str, Callable[..., list[Any]]] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}
