"""A policy from an ONNX file inside a rollout, beside onnxruntime in a Python loop: the same motion, and the time.

    python benchmarks/policies.py [steps]

The bundled quadruped without contact, PD torques at 1 kHz, the policy at 50 Hz, steps of 1 ms, everything on one
thread. The loop calls onnxruntime, computes observation and torques with NumPy and takes steps by `robot.stepper`, the
fastest step from Python. Needs onnx and onnxruntime.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from dalembert import control, load

STEP, EVERY = 1e-3, 20
SCALE, KP, KD = 0.02, 8.0, 0.2


def perceptron(path: Path, sizes: tuple[int, ...]) -> Path:
    """Layers with ELU between, in an ONNX file."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng, nodes, tensors, last = np.random.default_rng(0), [], [], "obs"
    for k, (a, b) in enumerate(pairwise(sizes)):
        W, bias = rng.normal(size=(b, a)) / np.sqrt(a), 0.1 * rng.normal(size=b)
        tensors += [numpy_helper.from_array(x.astype(np.float32), f"{n}{k}") for x, n in ((W, "W"), (bias, "b"))]
        end = k == len(sizes) - 2
        nodes.append(helper.make_node("Gemm", [last, f"W{k}", f"b{k}"], ["actions" if end else f"y{k}"], transB=1))
        if not end:
            nodes.append(helper.make_node("Elu", [f"y{k}"], [f"z{k}"]))
            last = f"z{k}"
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])]
            for name, size in (("obs", sizes[0]), ("actions", sizes[-1]))]  # fmt: skip
    graph = helper.make_graph(nodes, "policy", *ends, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


def in_python(robot, session, stepper, q, v, steps):
    """The loop, for one state or a batch."""
    answer = np.zeros((*q.shape[:-1], 12))
    for k in range(steps):
        if k % EVERY == 0:
            R = robot.pose(q, "trunk")[..., :3, :3]
            seen = np.concatenate([v[..., :3], -R[..., 2, :], q[..., 7:], v[..., 6:], answer], -1)
            rows = seen.astype(np.float32).reshape(-1, seen.shape[-1])
            answer = session.run(None, {"obs": rows})[0].reshape(answer.shape).astype(float)
        tau = np.zeros((*q.shape[:-1], 18))
        tau[..., 6:] = KP * (SCALE * answer - q[..., 7:]) - KD * v[..., 6:]
        q, v = stepper(q, v, tau)
    return q, v


def held(t, q, v):
    """PD torques towards 0: what is left of a rollout without a policy."""
    return np.concatenate([np.zeros(6), -KP * q[7:] - KD * v[6:]])


def best(functions, times=15):
    """Their results and least times [s of this process], taken in turn."""
    results, least = [function() for function in functions], [np.inf] * len(functions)
    for _ in range(times):
        for k, function in enumerate(functions):
            begin = time.process_time()
            results[k] = function()
            least[k] = min(least[k], time.process_time() - begin)
    return results, least


def main() -> None:
    import onnxruntime

    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    robot = load("quadruped").without("friction")
    legs = [joint.name for joint in robot.joints if joint.kind != "free"]
    contract = control.Contract(
        legs, EVERY * STEP, STEP, "position", SCALE, default=0.0, kp=KP, kd=KD, effort=1e9,
        observe=["base_ang_vel", "projected_gravity", "joint_pos", "joint_vel", "actions"],
    )  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    rng = np.random.default_rng(1)
    print("Times in µs per step and motion; the loop takes all motions at once, or one by one.\n")
    print("| layers | motions | loop, one by one | loop, at once | rollout | of which physics | ratios | apart [rad] |")
    print("|---|---|---|---|---|---|---|---|")
    for hidden in ((64, 64), (256, 128, 64), (512, 256, 128)):
        with tempfile.TemporaryDirectory() as folder:
            path = perceptron(Path(folder) / "policy.onnx", (42, *hidden, 12))
            law = control.policy(path, robot, contract)
            session = onnxruntime.InferenceSession(str(path), options)
        stepper, alone = robot.stepper(STEP), 0.0
        for motions in (1, 64, 1024):
            shape = () if motions == 1 else (motions,)
            q = np.broadcast_to(robot.neutral(), (*shape, robot.nq)).copy()
            q[..., 7:] = 0.3 * rng.normal(size=(*shape, 12))
            v = 0.5 * rng.normal(size=(*shape, robot.nv))
            count = steps if motions == 1 else max(100, steps * 8 // motions // 20 * 20)
            rolled = partial(robot.rollout, q, v, law, STEP, count, threads=1, check=False)
            bare = partial(robot.rollout, q, v, held, STEP, count, threads=1, check=False)
            (want, got, _), (loop, ours, rest) = best(
                [partial(in_python, robot, session, stepper, q, v, count), rolled, bare]
            )
            apart = np.abs(got.q[..., 7:] - want[0][..., 7:]).max()
            loop, ours, rest = (x * 1e6 / (count * motions) for x in (loop, ours, rest))
            alone = loop if motions == 1 else alone
            print(f"| {'-'.join(map(str, hidden))} | {motions} | {alone:.1f} | {loop:.2f} | {ours:.2f} | {rest:.2f} | "
                  f"{alone / ours:.1f}, {loop / ours:.1f} | {apart:.0e} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
