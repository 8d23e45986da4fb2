"""Operators of ONNX beside onnxruntime, in its float32: every activation, layer, shape and normalization."""

from __future__ import annotations

import numpy as np
import pytest

from control.networks import INPUT, node, perceptron, save
from dalembert import control, function, load

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.long

SAME = 1e-6  # of the largest number: both round in float32, in different orders
N = 20
rng = np.random.default_rng(0)
ROW = rng.uniform(0.5, 2.0, N).astype(np.float32)
MATRIX = rng.normal(size=(N, 37)).astype(np.float32) / 4.0
WIDE = {"W": MATRIX, "b": MATRIX[0]}
UNARY = ("Relu", "Tanh", "Sigmoid", "Softplus", "Softsign", "Elu", "Celu", "Selu", "LeakyRelu", "HardSigmoid",
         "HardSwish", "Mish", "ThresholdedRelu", "Neg", "Abs", "Exp", "Sin", "Cos", "Tan", "Erf", "Sign", "Floor",
         "Ceil", "Identity", "Softmax", "LogSoftmax", "Flatten", "Dropout")  # fmt: skip
ROWS = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean", "Pow", "PRelu")
REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2")


def ints(**listed):
    return {name: np.atleast_1d(np.array(x)) for name, x in listed.items()}


CASES = [
    *((op, {}, {}, 18) for op in UNARY),
    ("Elu", {"alpha": 0.3}, {}, 18),
    ("LeakyRelu", {"alpha": 0.3}, {}, 18),
    ("Gelu", {}, {}, 20),
    ("Gelu", {"approximate": "tanh"}, {}, 20),
    *((op, {}, {"c": ROW}, 18) for op in ROWS if op != "Pow"),
    ("Pow", {}, {"c": np.array(3.0, np.float32)}, 18),
    ("Pow", {}, {"c": np.floor(2.0 * ROW)}, 18),
    ("Mod", {"fmod": 1}, {"c": ROW}, 18),
    ("Reciprocal", {}, {}, 18),
    ("Clip", {}, {"low": np.array(-0.5, np.float32), "high": np.array(0.7, np.float32)}, 18),
    ("Clip", {"min": -0.5, "max": 0.5}, {}, 7),
    ("LayerNormalization", {}, {"s": ROW, "b": ROW}, 18),
    ("BatchNormalization", {}, dict.fromkeys("sbmv", ROW), 18),
    *((op, {}, ints(axes=1), 18) for op in REDUCTIONS),
    *((op, {"axes": [1], "keepdims": 0}, {}, 11) for op in REDUCTIONS),
    ("MatMul", {}, {"W": MATRIX}, 18),
    ("Gemm", {}, {"W": MATRIX}, 18),
    ("Gemm", {"transB": 1, "alpha": 0.5, "beta": 2.0}, {"W": MATRIX.T.copy(), "b": MATRIX[0]}, 18),
    ("Slice", {}, ints(start=2, end=-3, axis=1, step=2), 18),
    ("Slice", {}, ints(start=-1, end=-(2**63), axis=1, step=-1), 18),
    ("Slice", {"starts": [3], "ends": [9], "axes": [1]}, {}, 9),
    ("Gather", {"axis": 1}, ints(indices=[3, 1, -1]), 18),
    ("Reshape", {}, ints(shape=[0, 4, -1]), 18),
    ("Transpose", {"perm": [1, 0]}, {}, 18),
    ("Unsqueeze", {}, ints(axes=1), 18),
    ("Squeeze", {}, ints(axes=0), 18),
    ("Expand", {}, ints(shape=[3, N]), 18),
]


def compare(path, robot=None, seed=0):
    """Numbers, and the compiled function in float64 and in float32, beside onnxruntime."""
    network, session = control.network(path), runtime.InferenceSession(str(path))
    draws = np.random.default_rng(seed)
    shapes = {x.name: [n if isinstance(n, int) else 1 for n in x.shape] for x in session.get_inputs()}
    ends = np.cumsum(list(network.sizes.values()))[:-1]

    def first(x):
        return next(iter(network.evaluated(dict(zip(network.sizes, np.split(x, ends), strict=True))).values()))

    compiled = function(first, load("2r"), x=sum(network.sizes.values()))
    for _ in range(3):
        inputs = {name: draws.normal(size=n).astype(np.float32) for name, n in network.sizes.items()}
        want = session.run(None, {name: x.reshape(shapes[name]) for name, x in inputs.items()})
        for expected, got in zip(want, network.evaluated(inputs).values(), strict=True):
            assert_same(got, expected)
        together = np.concatenate(list(inputs.values()))
        assert_same(compiled(together.astype(float)), want[0])
        assert_same(compiled(together), want[0])


def assert_same(got, expected):
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(got, expected.ravel(), rtol=0.0, atol=SAME * size)


@pytest.mark.parametrize(
    ("op", "attributes", "constants", "opset"), CASES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_operator(tmp_path, op, attributes, constants, opset):
    path = save(
        tmp_path / "one.onnx", [node(op, [INPUT, *constants], ["y"], **attributes)], {INPUT: ["batch", N]},
        {"y": None}, constants, opset=opset,
    )  # fmt: skip
    compare(path)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "gates", "reset"), [("LSTM", 4, 0), ("GRU", 3, 0), ("GRU", 3, 1), ("RNN", 1, 0)])
def test_recurrent_layer(tmp_path, op, gates, reset, direction):
    hidden, ways = 12, 2 if direction == "bidirectional" else 1
    shapes = {"W": (ways, gates * hidden, N), "R": (ways, gates * hidden, hidden), "B": (ways, 2 * gates * hidden)}
    weights = {name: rng.normal(size=shape).astype(np.float32) / 4 for name, shape in shapes.items()}
    states = ["h", "c"][: 2 if op == "LSTM" else 1]
    inputs = {INPUT: (3, 1, N), **dict.fromkeys(states, (ways, 1, hidden))}
    outputs = {"y": (3, ways, 1, hidden), **{f"{name}_n": (ways, 1, hidden) for name in states}}
    attributes = {"linear_before_reset": reset} if op == "GRU" else {}
    layer = node(
        op, [INPUT, *weights, "", *states], list(outputs), hidden_size=hidden, direction=direction, **attributes
    )
    compare(save(tmp_path / "layer.onnx", [layer], inputs, outputs, weights))


def test_choices_and_casts(tmp_path):
    nodes = [
        node("Greater", [INPUT, "c"], ["above"]),
        node("Not", ["above"], ["below"]),
        node("And", ["above", "below"], ["never"]),
        node("Cast", ["below"], ["one"], to=1),
        node("Where", ["never", INPUT, "one"], ["chosen"]),
        node("Split", ["chosen"], ["a", "b"], axis=1, num_outputs=2),
        node("Concat", ["b", "a"], ["both"], axis=-1),
        node("Cast", [INPUT], ["whole"], to=7),
        node("Cast", ["whole"], ["float"], to=1),
        node("Add", ["both", "float"], ["y"]),
    ]
    compare(save(tmp_path / "choices.onnx", nodes, {INPUT: (1, N)}, {"y": (1, N)}, {"c": ROW - 1.0}))


def test_shapes_that_are_computed(tmp_path):
    """As exporters write the first state of a recurrent layer."""
    from onnx import numpy_helper

    value = numpy_helper.from_array(np.array([0.25], np.float32))
    nodes = [
        node("Shape", [INPUT], ["shape"]),
        node("Gather", ["shape", "last"], ["n"], axis=0),
        node("Constant", [], ["one"], value_ints=[1]),
        node("Unsqueeze", ["n", "zero"], ["row"]),
        node("Concat", ["one", "row"], ["sizes"], axis=0),
        node("ConstantOfShape", ["sizes"], ["filled"], value=value),
        node("Range", ["begin", "n", "by"], ["counted"]),
        node("Cast", ["counted"], ["numbers"], to=1),
        node("Add", ["filled", "numbers"], ["offset"]),
        node("Mul", [INPUT, "offset"], ["y"]),
    ]
    constants = ints(last=1, zero=0) | {"begin": np.array(0), "by": np.array(1)}
    constants["last"] = np.array(1)
    compare(save(tmp_path / "shapes.onnx", nodes, {INPUT: (1, N)}, {"y": (1, N)}, constants))


@pytest.mark.parametrize("activation", ["Elu", "Tanh", "Relu", "Softplus"])
def test_perceptron_of_a_walking_robot(tmp_path, activation):
    compare(perceptron(tmp_path / "policy.onnx", (48, 512, 256, 128, 12), activation))
