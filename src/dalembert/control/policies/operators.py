"""Operators of ONNX on arrays of numbers or traced scalars: each takes its node and its inputs, and gives its outputs.

Weights are constants: products with them stay loops over tables (see `dalembert.math.product`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import (
    cos,
    exp,
    floor,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    product,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from dalembert.math.repeat import first_traced

from .elementwise import each, elu, erf, gelu, inverse_root, rounded_to_zero, sigmoid, softplus

if TYPE_CHECKING:
    from .file import OnnxNode

Operator = Callable[..., Any]
MOST = 20_000_000  # numbers of an array that an operator makes
STATISTICS = "it draws random numbers: export the mean of the actions, not samples of them"
OUTSIDE = {  # operators with a reason of their own to be refused
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "Multinomial", "Bernoulli"), STATISTICS),
    **dict.fromkeys(("If", "Loop", "Scan"), "graphs within graphs are not read: export the policy by tracing"),
}


def matmul(A: Any, B: Any) -> np.ndarray:
    """A B as NumPy multiplies; a constant factor stays a table."""
    A, B = np.asarray(A), np.asarray(B)
    traced = [x.dtype == object for x in (A, B)]
    if traced == [True, False] and B.ndim == 2:
        rows = A.reshape(-1, A.shape[-1])
        return np.array([_vector(B.T, row) for row in rows], object).reshape(*A.shape[:-1], B.shape[-1])
    if traced == [False, True] and A.ndim == 2 and B.ndim <= 2:
        columns = B.reshape(len(B), -1).T
        return np.array([_vector(A, x) for x in columns], object).T.reshape(len(A), *B.shape[1:])
    return A @ B


def _vector(W: np.ndarray, x: np.ndarray) -> np.ndarray:
    """W x of constants W and traced x; numbers among x are made nodes."""
    if x.shape != (W.shape[1],):
        raise ValueError(f"matrix {W.shape} times vector {x.shape}")
    like = first_traced(list(x))
    lifted = np.empty(len(x), object)
    lifted[:] = [y if hasattr(y, "__traced__") else like.lift(y) for y in x]
    return product(W.astype(float), lifted)


def _gemm(node: OnnxNode, A: Any, B: Any, C: Any = None) -> Any:
    A, B = (np.asarray(x).T if node.get(k, 0) else np.asarray(x) for x, k in ((A, "transA"), (B, "transB")))
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    if C is None or beta == 0.0:
        return alpha * matmul(A, B)
    if A.dtype == object and B.dtype != object and np.asarray(C).dtype != object and len(A) == 1:
        bias = np.broadcast_to(np.reshape(C, -1), B.shape[1])  # as a further column, for an input of 1
        return matmul(np.concatenate([A, [[1.0]]], 1), np.concatenate([alpha * B, [beta * bias]]))
    return alpha * matmul(A, B) + beta * np.asarray(C)


def _axes(node: OnnxNode, axes: Any) -> tuple[int, ...] | None:
    """Axes as an input since version 13 or 18, as an attribute before; None: all."""
    listed = node.get("axes") if axes is None else np.asarray(axes).ravel().tolist()
    return None if listed is None else tuple(int(k) for k in listed)


def _reduction(of: Callable[[np.ndarray, Any, bool], Any]) -> Operator:
    def reduce(node: OnnxNode, x: Any, axes: Any = None) -> Any:
        chosen, x = _axes(node, axes), np.asarray(x)
        if chosen in (None, ()) and node.get("noop_with_empty_axes", 0):
            return x
        return of(x, chosen or tuple(range(x.ndim)), bool(node.get("keepdims", 1)))

    return reduce


def _folded(x: np.ndarray, axes: tuple[int, ...], keep: bool, fold: Callable[[Any, Any], Any]) -> np.ndarray:
    """One number after the other along axes."""
    rows = np.moveaxis(x, axes, range(len(axes)))
    rows = rows.reshape(-1, *rows.shape[len(axes) :])
    total = rows[0]
    for row in rows[1:]:
        total = each(fold, total, row)
    return np.expand_dims(total, tuple(k % x.ndim for k in axes)) if keep else np.asarray(total)


def _mean(x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    return np.asarray(np.sum(x, axes, keepdims=keep)) / float(np.prod([x.shape[k] for k in axes]))


def _softmax(node: OnnxNode, x: Any, logarithm: bool = False) -> np.ndarray:
    x = np.asarray(x)
    axis = node.get("axis", -1)
    high = _folded(x, (axis,), True, maximum)
    shifted = each(lambda a, b: a - b, x, high)
    powers = each(exp, shifted)
    total = np.sum(powers, axis, keepdims=True)
    return each(lambda a, b: a - log(b), shifted, total) if logarithm else each(lambda a, b: a / b, powers, total)


def _normalized(x: np.ndarray, mean: Any, variance: Any, epsilon: float, scale: Any, bias: Any) -> np.ndarray:
    if any(np.asarray(y).dtype == object for y in (mean, variance)):
        return each(lambda x, m, s, a, b: (x - m) * inverse_root(s + epsilon) * a + b, x, mean, variance, scale, bias)
    gain = np.asarray(scale) / np.sqrt(np.asarray(variance) + epsilon)  # statistics of the training: constants
    return each(lambda x, a, b: x * a + b, x, gain, np.asarray(bias) - np.asarray(mean) * gain)


def _batch_normalization(node: OnnxNode, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> np.ndarray:
    if node.get("training_mode", 0):
        raise ValueError("training_mode is 1: export the policy in evaluation mode, policy.eval()")
    shape = (1, -1, *[1] * (np.ndim(x) - 2))
    columns = [np.reshape(y, shape) for y in (mean, variance, scale, bias)]
    return _normalized(np.asarray(x), columns[0], columns[1], node.get("epsilon", 1e-5), columns[2], columns[3])


def _layer_normalization(node: OnnxNode, x: Any, scale: Any, bias: Any = 0.0) -> np.ndarray:
    x = np.asarray(x)
    axes = tuple(range(node.get("axis", -1) % x.ndim, x.ndim))
    mean = _mean(x, axes, True)
    off = each(lambda a, b: a - b, x, mean)
    return _normalized(off, 0.0, _mean(each(lambda a: a * a, off), axes, True), node.get("epsilon", 1e-5), scale, bias)


def _clip(node: OnnxNode, x: Any, low: Any = None, high: Any = None) -> np.ndarray:
    low = node.get("min") if low is None else float(np.asarray(low).reshape(()))
    high = node.get("max") if high is None else float(np.asarray(high).reshape(()))
    x = np.asarray(x)
    x = x if low is None else each(lambda a: maximum(a, low), x)
    return x if high is None else each(lambda a: minimum(a, high), x)


def _reshape(node: OnnxNode, x: Any, shape: Any) -> np.ndarray:
    x, sizes = np.asarray(x), [int(n) for n in np.asarray(shape).ravel()]
    zero = bool(node.get("allowzero", 0))
    return x.reshape([x.shape[k] if n == 0 and not zero else n for k, n in enumerate(sizes)])


def _flatten(node: OnnxNode, x: Any) -> np.ndarray:
    x, axis = np.asarray(x), node.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def _slice(
    node: OnnxNode, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
) -> np.ndarray:
    x = np.asarray(x)
    starts, ends = (
        [int(k) for k in (node.get(name) if given is None else np.asarray(given).ravel())]
        for name, given in (("starts", starts), ("ends", ends))
    )
    places = _axes(node, axes) or tuple(range(len(starts)))
    strides = [1] * len(starts) if steps is None else [int(k) for k in np.asarray(steps).ravel()]
    chosen = [slice(None)] * x.ndim
    for place, start, end, stride in zip(places, starts, ends, strides, strict=True):
        beyond = stride < 0 and end < -x.shape[place]
        chosen[place] = slice(start, None if beyond else end, stride)
    return x[tuple(chosen)]


def _gather(node: OnnxNode, x: Any, indices: Any) -> np.ndarray:
    indices = np.asarray(indices)
    if indices.dtype == object:
        raise ValueError("the indices depend on the observation")
    return np.take(np.asarray(x), indices.astype(int), axis=node.get("axis", 0))


def _split(node: OnnxNode, x: Any, sizes: Any = None) -> list[np.ndarray]:
    x, axis = np.asarray(x), node.get("axis", 0)
    listed = node.get("split") if sizes is None else np.asarray(sizes).ravel().tolist()
    if listed is None:
        n = -(-x.shape[axis] // len(node.outputs))
        listed = [n] * (len(node.outputs) - 1)
        listed.append(x.shape[axis] - sum(listed))
    if sum(listed) != x.shape[axis]:
        raise ValueError(f"parts of {listed} do not make {x.shape[axis]}")
    return np.split(x, np.cumsum(listed)[:-1].astype(int), axis)


def _filled(shape: Any, value: Any) -> np.ndarray:
    sizes = [int(n) for n in np.asarray(shape).ravel()]
    if min(sizes, default=1) < 0 or np.prod([float(n) for n in sizes]) > MOST:
        raise ValueError(f"an array of shape {tuple(sizes)}, expected at most {MOST} numbers")
    return np.broadcast_to(np.asarray(value), sizes)


def _constant(node: OnnxNode) -> np.ndarray:
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if node.get(name) is not None:
            return np.asarray(node.get(name))
    raise ValueError("it has no value")


def _range(node: OnnxNode, start: Any, limit: Any, step: Any) -> np.ndarray:
    first, last, by = (float(np.asarray(x).reshape(())) for x in (start, limit, step))
    _filled([max(0, int((last - first) / by) + 1)], 0)
    return np.arange(first, last, by).astype(np.asarray(start).dtype)


def _cast(node: OnnxNode, x: Any) -> np.ndarray:
    x, kind = np.asarray(x), int(node.get("to", 1))
    whole, boolean = kind in (2, 3, 4, 5, 6, 7, 12, 13), kind == 9  # numbers of types in TensorProto
    if x.dtype != object:
        return x.astype(bool) if boolean else x.astype(np.int64) if whole else x.astype(float)
    if boolean:
        return each(lambda a: a if getattr(a, "boolean", False) else a != 0.0, x, looped=False)
    x = each(lambda a: where(a, 1.0, 0.0) if getattr(a, "boolean", False) else a, x, looped=False)
    return each(rounded_to_zero, x) if whole else x


def _divide(node: OnnxNode, a: Any, b: Any) -> np.ndarray:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(np.int64)
    if b.dtype != object and a.dtype == object:
        return each(lambda x, y: x * y, a, 1.0 / b)
    return each(lambda x, y: x / y, a, b)


def _arithmetic(of: Callable[[Any, Any], Any]) -> Operator:
    def compute(node: OnnxNode, a: Any, b: Any) -> np.ndarray:
        arrays = np.asarray(a), np.asarray(b)
        return of(*arrays) if all(x.dtype.kind in "iu" for x in arrays) else each(of, *arrays)

    return compute


def _several(of: Callable[[Any, Any], Any], mean: bool = False) -> Operator:
    def compute(node: OnnxNode, *arrays: Any) -> np.ndarray:
        total = np.asarray(arrays[0])
        for x in arrays[1:]:
            total = each(of, total, x)
        return total / float(len(arrays)) if mean else total

    return compute


def _one(of: Callable[[Any], Any]) -> Operator:
    return lambda node, x: each(of, x)


def _with(of: Callable[..., Any], **attributes: float) -> Operator:
    """A function of one number and of attributes of the node, with their defaults."""

    def compute(node: OnnxNode, x: Any) -> np.ndarray:
        values = [node.get(name, default) for name, default in attributes.items()]
        return each(lambda a: of(a, *values), x)

    return compute


def _power(node: OnnxNode, a: Any, b: Any) -> np.ndarray:
    a, b = np.asarray(a), np.asarray(b)
    if b.dtype == object:
        return each(lambda x, y: exp(y * log(x)), a, b)
    if a.dtype != object:
        return np.power(a.astype(float), b)
    if b.size == 1:
        return each(lambda x: x ** float(b.ravel()[0]), a)
    return each(lambda x, y: x ** float(y), a, b, looped=False)


def _remainder(a: Any, b: Any) -> Any:
    """Remainder with the sign of a, as fmod of C."""
    return a - b * rounded_to_zero(a / b)


OPERATORS: dict[str, Operator] = {
    "Gemm": _gemm,
    "MatMul": lambda node, A, B: matmul(A, B),
    "Add": _arithmetic(lambda a, b: a + b),
    "Sub": _arithmetic(lambda a, b: a - b),
    "Mul": _arithmetic(lambda a, b: a * b),
    "Div": _divide,
    "Pow": _power,
    "Mod": lambda node, a, b: each(_remainder if node.get("fmod", 0) else lambda x, y: x - y * floor(x / y), a, b),
    "Min": _several(minimum),
    "Max": _several(maximum),
    "Sum": _several(lambda a, b: a + b),
    "Mean": _several(lambda a, b: a + b, mean=True),
    "Neg": _one(lambda x: -x),
    "Abs": _one(absolute),
    "Sqrt": _one(sqrt),
    "Exp": _one(exp),
    "Log": _one(log),
    "Sin": _one(sin),
    "Cos": _one(cos),
    "Tan": _one(tan),
    "Erf": _one(erf),
    "Sign": _one(sign),
    "Floor": _one(floor),
    "Ceil": _one(lambda x: -floor(-x)),
    "Reciprocal": _one(lambda x: 1.0 / x),
    "Relu": _one(lambda x: maximum(x, 0.0)),
    "Tanh": _one(tanh),
    "Sigmoid": _one(sigmoid),
    "Softplus": _one(softplus),
    "Softsign": _one(lambda x: x / (1.0 + absolute(x))),
    "Mish": _one(lambda x: x * tanh(softplus(x))),
    "HardSwish": _one(lambda x: x * minimum(maximum(x / 6.0 + 0.5, 0.0), 1.0)),
    "Swish": _with(lambda x, alpha: x * sigmoid(alpha * x), alpha=1.0),
    "HardSigmoid": _with(lambda x, a, b: minimum(maximum(a * x + b, 0.0), 1.0), alpha=0.2, beta=0.5),
    "LeakyRelu": _with(lambda x, a: where(x > 0.0, x, a * x), alpha=0.01),
    "Elu": _with(elu, alpha=1.0),
    "Celu": _with(lambda x, a: elu(x / a, 1.0) * a, alpha=1.0),
    "Selu": _with(lambda x, a, g: g * elu(x, a), alpha=1.6732632423543772, gamma=1.0507009873554805),
    "ThresholdedRelu": _with(lambda x, a: where(x > a, x, 0.0), alpha=1.0),
    "Gelu": lambda node, x: each(lambda a: gelu(a, node.get("approximate", "none")), x),
    "PRelu": lambda node, x, slope: each(lambda a, b: where(a > 0.0, a, b * a), x, slope),
    "Clip": _clip,
    "Softmax": _softmax,
    "LogSoftmax": lambda node, x: _softmax(node, x, logarithm=True),
    "BatchNormalization": _batch_normalization,
    "LayerNormalization": _layer_normalization,
    "ReduceMean": _reduction(_mean),
    "ReduceSum": _reduction(lambda x, axes, keep: np.asarray(np.sum(x, axes, keepdims=keep))),
    "ReduceMax": _reduction(lambda x, axes, keep: _folded(x, axes, keep, maximum)),
    "ReduceMin": _reduction(lambda x, axes, keep: _folded(x, axes, keep, minimum)),
    "ReduceSumSquare": _reduction(lambda x, axes, keep: np.asarray(np.sum(x * x, axes, keepdims=keep))),
    "ReduceL2": _reduction(lambda x, axes, keep: each(sqrt, np.sum(x * x, axes, keepdims=keep))),
    "Greater": lambda node, a, b: each(lambda x, y: x > y, a, b, looped=False),
    "GreaterOrEqual": lambda node, a, b: each(lambda x, y: x >= y, a, b, looped=False),
    "Less": lambda node, a, b: each(lambda x, y: x < y, a, b, looped=False),
    "LessOrEqual": lambda node, a, b: each(lambda x, y: x <= y, a, b, looped=False),
    "Equal": lambda node, a, b: each(lambda x, y: x == y, a, b, looped=False),
    "And": lambda node, a, b: each(logical_and, a, b, looped=False),
    "Or": lambda node, a, b: each(logical_or, a, b, looped=False),
    "Not": lambda node, x: each(logical_not, x, looped=False),
    "Where": lambda node, c, a, b: each(where, c, a, b, looped=False),
    "Concat": lambda node, *arrays: np.concatenate([np.asarray(x) for x in arrays], node.get("axis")),
    "Slice": _slice,
    "Split": _split,
    "Gather": _gather,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": lambda node, x, axes=None: np.squeeze(np.asarray(x), _axes(node, axes)),
    "Unsqueeze": lambda node, x, axes=None: np.expand_dims(np.asarray(x), _axes(node, axes) or ()),
    "Transpose": lambda node, x: np.transpose(np.asarray(x), node.get("perm")),
    "Expand": lambda node, x, shape: np.broadcast_to(x, np.broadcast_shapes(np.shape(x), _filled(shape, 0).shape)),
    "Shape": lambda node, x: np.array(np.shape(x)[slice(node.get("start", 0), node.get("end"))], np.int64),
    "Constant": _constant,
    "ConstantOfShape": lambda node, shape: _filled(shape, np.reshape(node.get("value", 0.0), ())),
    "Range": _range,
    "Cast": _cast,
    "CastLike": lambda node, x, like: x,
    "Identity": lambda node, x: x,
    "Dropout": lambda node, x, *ratio: x,
}


def compute(operator: Operator, node: OnnxNode, inputs: list[Any]) -> list[Any]:
    """The outputs of a node; what does not fit is a ValueError that says why."""
    try:
        with np.errstate(all="ignore"):
            given = operator(node, *inputs)
    except DalembertError:
        raise
    except Exception as error:  # shapes that do not fit, attributes of a wrong type
        raise ValueError(f"{' '.join(str(error).split())[:200] or type(error).__name__}") from None
    return list(given) if isinstance(given, (list, tuple)) else [given]
