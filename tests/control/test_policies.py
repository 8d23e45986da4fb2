"""Policies from ONNX files inside the compiled step, beside the same done by hand; bad files and contracts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from control.networks import INPUT, node, perceptron, save
from dalembert import DalembertError, control, kinds, load, quantity
from dalembert.control import Contract, Observed
from tolerances import ACCUMULATED, RECURSION, SINGLE, SLOPE, assert_close

onnx = pytest.importorskip("onnx")

STEP = 1e-3


@pytest.fixture(scope="module")
def arm():
    return load("2r").without("friction")


def contract_of(robot, **others):
    names = [joint.name for joint in robot.joints if joint.kind != "free"]
    settings = {
        "joints": tuple(reversed(names)),
        "period": 5e-3,
        "pd_period": 2e-3,
        "action": "position",
        "scale": tuple(0.1 + 0.05 * k for k in range(len(names))),
        "clip": 0.8,
        "default": tuple(0.2 - 0.1 * k for k in range(len(names))),
        "kp": 30.0,
        "kd": 1.5,
        "effort": 6.0,
        "observe": [Observed("joint_pos", history=2, scale=2.0), Observed("joint_vel", offset=0.1, clip=3.0), "actions",
                    {"name": "command", "size": 1}, "time"],
    }  # fmt: skip
    return Contract.of(settings | others)


def by_hand(robot, network, c, command, q, v, steps):
    """The loop that the policy stands for, step by step, with a stepper in between."""
    stepper = robot.stepper(STEP)
    at = [robot.joint(name).v.start for name in c.joints]
    answer, kept, target, tau = np.zeros(len(at)), None, None, np.zeros(robot.nv)
    for k in range(steps):
        if k % 5 == 0:
            now = 2.0 * (q[at] - c.default)
            kept = np.concatenate([now, now]) if kept is None else np.concatenate([kept[len(at) :], now])
            speeds = np.clip(v[at] - 0.1, -3.0, 3.0)
            answer = np.clip(network(np.concatenate([kept, speeds, answer, command, [k * STEP]])), -0.8, 0.8)
            target = np.array(c.default) + np.array(c.scale) * answer
        if k % 2 == 0:
            tau = np.zeros(robot.nv)
            tau[at] = np.clip(c.kp * (target - q[at]) - c.kd * v[at], -6.0, 6.0)
        q, v = stepper(q, v, tau)
    return q, v


def test_rollouts_steppers_and_runs_do_what_the_loop_by_hand_does(arm, tmp_path):
    contract = contract_of(arm)
    path = perceptron(tmp_path / "policy.onnx", (10, 40, 2), metadata=contract.to_metadata())
    law = control.policy(path, arm, command=[0.7])
    q, v = np.array([0.3, -0.4]), np.array([0.5, 0.2])
    want = by_hand(arm, control.network(path), contract, [0.7], q, v, 60)
    rolled = arm.rollout(q, v, law, STEP, 60)
    assert_close(rolled.q, want[0], ACCUMULATED)
    assert_close(rolled.v, want[1], ACCUMULATED)
    batch = arm.rollout(np.tile(q, (9, 1)), v, law, STEP, 60)
    assert_close(batch.q, np.tile(want[0], (9, 1)), ACCUMULATED)
    stepper = arm.stepper(STEP, torque=law)
    memory, state = stepper.start(q, v), (q, v)
    for _ in range(60):
        *state, memory = stepper(*state, memory)
    assert_close(state[0], want[0], ACCUMULATED)
    run = arm.simulate(q, v, 0.06, law, "semi-implicit", STEP)
    assert_close(run.q[-1], want[0], ACCUMULATED)


def test_each_motion_has_its_own_command(arm, tmp_path):
    path = perceptron(tmp_path / "policy.onnx", (10, 40, 2), metadata=contract_of(arm).to_metadata())
    commands = np.array([[0.0], [0.7], [-2.0]])
    together = arm.rollout(
        [0.3, 0.1], np.zeros(2), control.policy(path, arm), STEP, 50, parameters={"command": commands}
    )
    for command, q in zip(commands, together.q, strict=True):
        alone = arm.rollout([0.3, 0.1], np.zeros(2), control.policy(path, arm, command=command), STEP, 50)
        assert_close(q, alone.q, ACCUMULATED)
    assert np.ptp(together.q[:, 0]) > 1e-4


def test_states_of_recurrent_networks_go_from_sample_to_sample(arm, tmp_path):
    hidden, rng = 8, np.random.default_rng(3)
    shapes = {"W": (1, 4 * hidden, 4), "R": (1, 4 * hidden, hidden), "B": (1, 8 * hidden), "V": (hidden, 2)}
    weights = {name: rng.normal(size=shape).astype(np.float32) / 2 for name, shape in shapes.items()}
    axis = {"zero": np.array([0]), "first": np.array([0, 1])}
    nodes = [
        node("Unsqueeze", [INPUT, "zero"], ["x"]),
        node("LSTM", ["x", "W", "R", "B", "", "h_in", "c_in"], ["y", "h_out", "c_out"], hidden_size=hidden),
        node("Squeeze", ["y", "first"], ["row"]),
        node("MatMul", ["row", "V"], ["actions"]),
    ]
    state = {"h_in": (1, 1, hidden), "c_in": (1, 1, hidden)}
    outputs = {"actions": (1, 2), "h_out": (1, 1, hidden), "c_out": (1, 1, hidden)}
    path = save(tmp_path / "lstm.onnx", nodes, {INPUT: (1, 4), **state}, outputs, weights | axis)
    contract = {"joints": [j.name for j in arm.joints], "period": STEP, "action": "torque", "scale": 1.0,
                "observe": ["joint_pos_abs", "joint_vel"]}  # fmt: skip
    rolled = arm.rollout([0.3, -0.2], np.zeros(2), control.policy(path, arm, contract), STEP, 30)

    network, stepper = control.network(path), arm.stepper(STEP)
    assert network.states == {"h_in": "h_out", "c_in": "c_out"}
    q, v, h, c = np.array([0.3, -0.2]), np.zeros(2), np.zeros(hidden), np.zeros(hidden)
    for _ in range(30):
        answer = network(np.concatenate([q, v]), h, c)
        h, c = answer["h_out"], answer["c_out"]
        q, v = stepper(q, v, answer["actions"])
    assert_close(rolled.q, q, ACCUMULATED)
    assert np.abs(h).max() > 0.05


def test_a_walking_robot_observes_its_base(tmp_path):
    robot = load("quadruped")
    names = [joint.name for joint in robot.joints if joint.kind != "free"]
    contract = contract_of(
        robot, observe=["base_lin_vel", "base_ang_vel", "projected_gravity", "base_height", "base_quat", "gait"],
        joints=names, scale=1.0, default=0.0, effort=None,
    )  # fmt: skip
    nodes = [node("Slice", [INPUT, "start", "end", "axis"], ["actions"])]
    bounds = {"start": np.array([3]), "end": np.array([15]), "axis": np.array([1])}
    path = save(tmp_path / "seen.onnx", nodes, {INPUT: (1, 16)}, {"actions": (1, 12)}, bounds)
    law = control.policy(path, robot, contract, terms={"gait": lambda t, q, v: [t, t + v[0]]})
    rng = np.random.default_rng(2)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    inner = law.inputs["target"]
    answer, _ = inner.law(0.5, q, v, inner.law.start(q, v))
    R = robot.pose(q, "trunk")[:3, :3]
    seen = [*v[:3], *(R.T @ [0.0, 0.0, -1.0]), q[2], *q[3:7], 0.5]
    assert_close(answer, np.clip(seen, -0.8, 0.8), RECURSION)


def test_histories_of_whole_frames(arm, tmp_path):
    nodes = [node("Slice", [INPUT, "start", "end", "axis"], ["actions"])]
    bounds = {"start": np.array([3]), "end": np.array([5]), "axis": np.array([1])}
    path = save(tmp_path / "frames.onnx", nodes, {INPUT: (1, 9)}, {"actions": (1, 2)}, bounds)
    names = [joint.name for joint in arm.joints]
    observe = [Observed("joint_pos_abs", history=3), Observed("time", history=3)]
    contract = Contract(names, 1.0, None, "torque", 1.0, observe=observe, stack="frames")
    law = control.policy(path, arm, contract).inputs["target"].law
    state = law.start(np.zeros(2), np.zeros(2))
    for k in range(3):
        answer, state = law(float(k), np.array([10.0, 20.0]) + k, np.zeros(2), state)
    assert_close(answer, [11.0, 21.0], 0.0)  # the middle one of three frames (q, q, t), the oldest first


@pytest.mark.parametrize(
    ("others", "named"),
    [
        ({"joints": ("shoulder", "wrist")}, "the contract's joints: .*unknown joint 'wrist'"),
        ({"joints": ("elbow",), "scale": 1.0, "default": 0.0}, "gives 2 numbers .'actions'. for 1 joints: elbow"),
        ({"observe": ["joint_pos", "joint_vel"]}, "4 numbers by the contract .joint_pos 2, joint_vel 2., .* takes 10"),
        ({"observe": ["base_ang_vel"]}, "'base_ang_vel' is of a free base"),
        ({"observe": ["gait"]}, "unknown observation 'gait'.*terms="),
        ({"observe": ["joint_pos", "command", {"name": "commands", "size": 3}]}, "observed with 3 and 5 numbers"),
        ({"observe": [{"name": "joint_pos", "scale": (1.0, 2.0, 3.0), "history": 5}]}, "2 numbers and 3 of scale"),
    ],
)
def test_contracts_that_do_not_fit_are_refused_by_name(arm, tmp_path, others, named):
    path = perceptron(tmp_path / "policy.onnx", (10, 4, 2))
    with pytest.raises(DalembertError, match=named):
        control.policy(path, arm, contract_of(arm, **others))


def test_what_the_contract_lacks_is_asked_for(arm, tmp_path):
    path = perceptron(tmp_path / "policy.onnx", (10, 4, 2), metadata={"joint_names": "shoulder,elbow"})
    with pytest.raises(DalembertError, match=r"period \[s\] or rate.*action.*scale.*observe.*pass contract="):
        control.policy(path, arm)
    lacking = {name: x for name, x in vars(contract_of(arm)).items() if name not in ("kp", "pd_period")}
    with pytest.raises(DalembertError, match="states kp; pd_period"):
        control.policy(path, arm, lacking)


def test_joints_without_motors_are_refused(tmp_path):
    robot = load("acrobot")
    path = perceptron(tmp_path / "policy.onnx", (10, 4, 2))
    with pytest.raises(DalembertError, match="has no motor"):
        control.policy(path, robot, contract_of(robot))


def _damaged(tmp_path, change):
    path = perceptron(tmp_path / "policy.onnx", (10, 4, 2))
    model = onnx.load(str(path))
    change(model)
    path.write_bytes(model.SerializeToString())
    return path


def _external(model):
    tensor = model.graph.initializer[0]
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../../etc/passwd"
    tensor.data_location = onnx.TensorProto.EXTERNAL


def _weights(value):
    def change(model):
        tensor = next(x for x in model.graph.initializer if x.name == "W0")
        array = onnx.numpy_helper.to_array(tensor).copy()
        array[0, 0] = value
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, "W0"))

    return change


def _huge(model):
    model.graph.initializer[0].dims[0] = 1 << 40


def _cyclic(model):
    model.graph.node[0].input[0] = "y0"


def _renamed(model):
    model.graph.node[1].op_type = "<b>Magic</b>"


def _foreign(model):
    model.graph.node[1].domain = "com.example"


def _version(number):
    def change(model):
        model.opset_import[0].version = number

    return change


def _enormous(model):
    shape = onnx.numpy_helper.from_array(np.array([1 << 30, 1 << 30]), "shape")
    model.graph.initializer.append(shape)
    model.graph.node.insert(0, node("ConstantOfShape", ["shape"], ["much"]))


def _random(model):
    model.graph.node.insert(0, node("RandomNormalLike", [INPUT], ["noise"]))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_external, "tensor 'mean' lies in another file"),
        (_weights(np.nan), "tensor 'W0' has NaN or inf"),
        (_weights(np.inf), "tensor 'W0' has NaN or inf"),
        (_huge, "tensor 'mean' has shape"),
        (_cyclic, "node 'Sub off' .Sub. takes 'y0', .* cyclic"),
        (_renamed, r"operator <b>Magic</b> is not known here; known are Abs"),
        (_foreign, "operator com.example"),
        (_version(3), "operators have version 3, expected 7"),
        (_version(4000), "operators have version 4000"),
        (_enormous, "node 'ConstantOfShape much'.*at most"),
        (_random, "it draws random numbers"),
        (lambda model: model.graph.ClearField("node"), "no nodes"),
        (lambda model: model.graph.output[0].ClearField("name"), "output"),
    ],
)
def test_damaged_files_are_named(tmp_path, change, named):
    with pytest.raises(DalembertError, match=named):
        control.network(_damaged(tmp_path, change))


def test_files_that_are_no_networks(tmp_path):
    path = perceptron(tmp_path / "policy.onnx", (10, 4, 2))
    whole = path.read_bytes()
    for length in (0, 1, 17, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DalembertError, match=r"policy\.onnx"):
            control.network(path)
    path.write_text("<robot name='x'/>")
    with pytest.raises(DalembertError, match="no ONNX file"):
        control.network(path)
    with pytest.raises(DalembertError, match="there is no such file"):
        control.network(tmp_path / "other.onnx")
    with pytest.raises(DalembertError, match="the path is None"):
        control.network(None)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["policy.onnx"]


def test_inputs_of_networks_are_checked(tmp_path):
    network = control.network(perceptron(tmp_path / "policy.onnx", (10, 4, 2)))
    with pytest.raises(DalembertError, match=r"expected \(10,\)"):
        network(np.zeros(9))
    with pytest.raises(DalembertError, match="got 2 inputs, expected 1"):
        network(np.zeros(10), np.zeros(3))
    with pytest.raises(DalembertError, match="unknown input 'observation'"):
        network(observation=np.zeros(10))


def test_a_policy_runs_within_an_fmu_and_its_network_as_c(arm, tmp_path):
    path = perceptron(tmp_path / "policy.onnx", (10, 40, 2), metadata=contract_of(arm).to_metadata())
    files = arm.export("simulate", "fmu", tmp_path / "loop.fmu", torque=control.policy(path, arm), binary=False)
    assert files.log == ("no binary: binary=False",)
    network = control.network(path)

    def answer(robot, q: kinds.Configuration, v: kinds.Tangent):
        return network(np.concatenate([q, v, q, v, q]))

    header, source, test = arm.export(quantity(2)(answer), "c", tmp_path / "c")
    assert "static const float" in Path(source).read_text("utf-8")
    if shutil.which("cc"):
        program = str(tmp_path / "check")
        subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", source, test, "-lm", "-o", program], check=True)
        assert subprocess.run([program], capture_output=True).returncode == 0, header


def test_single_precision_and_gradients_by_differences(arm, tmp_path):
    path = perceptron(tmp_path / "policy.onnx", (10, 40, 2), metadata=contract_of(arm).to_metadata())
    law = control.policy(path, arm, command=[0.7])
    q, v = np.array([0.3, -0.4]), np.array([0.5, 0.2])
    double, single = (arm.rollout(q.astype(t), v.astype(t), law, STEP, 40) for t in (float, np.float32))
    assert single.q.dtype == np.float32
    assert_close(single.q, double.q, SINGLE)

    def loss(t, q, v):
        return q @ q

    gradient = arm.rollout_gradient(loss, q, v, law, STEP, 40)
    ahead, behind = (arm.rollout(q + h * np.array([1.0, 0.0]), v, law, STEP, 40).q for h in (1e-6, -1e-6))
    assert_close(gradient.q[0], (ahead @ ahead - behind @ behind) / 2e-6, SLOPE)
