"""Policies as ONNX files that say what they were trained with: joint order, gains, scales, rate, observations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.control.policies.contract import Contract, Observed
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from .environment import Environment
    from .ppo import Policy


def contract_of(env: Environment) -> Contract:
    """The contract of an environment's policy: what `control.policy` needs to run it, noise and its delays left out."""
    drive, first = env.drive, next(iter(env.observing.groups))
    clips = [] if drive.clip is None else sorted(set(drive.clip.tolist()))
    if len(clips) > 1:
        raise DalembertError("save_contract: actions have different clips, of which a contract states one for all")
    effort = drive.joints.effort
    entries = [
        Observed(e.name, e.size, _plain(e.observed.scale, e.size), 0.0, e.observed.history)
        for e in env.observing.entries
        if e.group == first
    ]
    return Contract(
        joints=drive.names,
        period=env.period,
        pd_period=env.step,
        action="torque" if drive.kp is None else "position",
        scale=tuple(drive.scale.tolist()),
        offset=tuple((np.zeros(drive.size) if drive.kp is None else drive.home).tolist()),
        clip=clips[0] if clips else None,
        delay=drive.delay[0] * env.period,
        default=tuple(drive.home.tolist()),
        kp=None if drive.kp is None else tuple(drive.kp.tolist()),
        kd=None if drive.kd is None else tuple(drive.kd.tolist()),
        effort=tuple(effort.tolist()) if np.isfinite(effort).all() else None,
        observe=tuple(entries),
    )


def save_contract(env: Environment, path: str | Path) -> Contract:
    """Write what a policy was trained with into the metadata of its ONNX file, which `control.policy` reads.

    Entries of the observation keep their names: those that `control.policy` knows, such as joint_pos, joint_vel,
    projected_gravity, base_ang_vel, command and actions, it computes by itself. Returns the contract.
    """
    onnx, contract = _onnx("save_contract"), contract_of(env)
    try:
        model = onnx.load(str(path))
    except (OSError, ValueError) as error:
        raise DalembertError(f"save_contract: {path}: {error}") from None
    except Exception as error:  # protobuf's own kinds of errors
        raise DalembertError(f"save_contract: {path} is no ONNX file: {error}") from None
    first = next(iter(env.observing.groups))
    size, taken = env.observing.sizes[first], _width(model)
    if taken not in (None, size):
        raise DalembertError(f"save_contract: {path}: the network takes {taken} numbers, group {first!r} has {size}")
    kept = {entry.key: entry.value for entry in model.metadata_props}
    onnx.helper.set_model_props(model, kept | contract.to_metadata())
    onnx.save(model, str(path))
    return contract


def save_policy(policy: Policy, env: Environment, path: str | Path) -> Contract:
    """Write a policy of the reference trainer as an ONNX file with its contract; see `save_contract`."""
    onnx = _onnx("save_policy")
    helper, numbers = onnx.helper, onnx.numpy_helper
    constants: dict[str, Any] = {
        "mean": policy.means[0].numpy(), "scale": (1.0 / (policy.variances[0] + 1e-8).sqrt()).numpy(),
        "least": np.float32(-10.0), "most": np.float32(10.0),
    }  # fmt: skip
    nodes = [
        helper.make_node("Sub", ["obs", "mean"], ["centered"]),
        helper.make_node("Mul", ["centered", "scale"], ["scaled"]),
        helper.make_node("Clip", ["scaled", "least", "most"], ["x0"]),
    ]
    layers = [layer for layer in policy.actor if hasattr(layer, "weight")]
    for k, layer in enumerate(layers):
        constants |= {f"W{k}": layer.weight.detach().numpy(), f"b{k}": layer.bias.detach().numpy()}
        last = k == len(layers) - 1
        after = "actions" if last else f"y{k}"
        nodes.append(helper.make_node("Gemm", [f"x{k}", f"W{k}", f"b{k}"], [after], transB=1))
        if not last:
            nodes.append(helper.make_node("Elu", [after], [f"x{k + 1}"]))
    sizes = (("obs", policy.size), ("actions", policy.actions))
    ends = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["batch", size])] for n, size in sizes]
    stored = [numbers.from_array(np.asarray(x, np.float32), name) for name, x in constants.items()]
    graph = helper.make_graph(nodes, "policy", *ends, stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return save_contract(env, path)


def _plain(x: Any, size: int) -> Any:
    """A scale as a number, or a tuple with one for each number."""
    array = np.asarray(x, float)
    return float(array) if array.ndim == 0 else tuple(np.broadcast_to(array, (size,)).tolist())


def _width(model: Any) -> int | None:
    """Numbers that the network's first input takes; None: any."""
    dims = model.graph.input[0].type.tensor_type.shape.dim if model.graph.input else []
    return int(dims[-1].dim_value) or None if len(dims) else None


def _onnx(where: str) -> Any:
    try:
        import onnx
    except ImportError:
        raise DalembertError(f"{where}: ONNX is not installed: pip install 'dalembert[onnx]'") from None
    return onnx
