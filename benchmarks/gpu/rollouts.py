"""Checks of rollouts on a GPU: the motions and gradients of the processor, in arrays of each library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert
from dalembert import elements
from tolerances import assert_close

STEPS, STEP, COUNT = 20, 1e-3, 300
CLOSE = {np.float64: 1e-11, np.float32: 1e-4}  # relative to the largest number; errors grow along a motion


def states(robot: dalembert.Robot) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    tau = 0.3 * rng.normal(size=(COUNT, STEPS, robot.nv))
    return robot.random(rng, COUNT), 0.3 * rng.normal(size=(COUNT, robot.nv)), tau


def cases(robot: dalembert.Robot, q: Any, v: Any, tau: Any, inertia: Any) -> Any:
    """Rollouts with each kind of torque, records, layouts, elements, live parameters, integrators."""
    fixed = {"step": STEP, "steps": STEPS}
    joint = next(j.name for j in robot.joints if j.kind in ("revolute", "continuous"))
    slip = elements.Friction(joint, 0.1, stiffness=10.0, bristle_damping=0.01)
    yield robot.rollout(q, v, None, **fixed)
    yield robot.rollout(q, v, tau[:, 0], **fixed)
    yield robot.rollout(q[0], v[0], tau[0, 0], **fixed)
    yield robot.rollout(q, v[0], tau[0], **fixed, every=1)
    yield robot.rollout(q, v, tau, **fixed, every=6)
    yield robot.rollout(q.reshape(3, 100, -1), v.reshape(3, 100, -1), tau.reshape(3, 100, STEPS, -1), **fixed, every=10)
    yield robot.rollout(q[::2], v[::2], lambda t, q, v: -0.1 * v, **fixed, integrator="rk4", every=10)
    yield robot.rollout(q, v, tau, **fixed, elements=[slip], every=5)
    yield robot.rollout(q, v, tau[:, 0], **fixed, parameters={"inertia": inertia})
    if robot.nq == robot.nv:
        yield robot.rollout(q, v, None, STEP, 2, "implicit-velocity")


def motions(put: Callable, get: Callable, dtype: type) -> None:
    for name in ("ur5", "quadruped"):
        robot = dalembert.load(name)
        given = states(robot)
        inertia = np.linspace(0.9, 1.1, COUNT)[:, None] * robot.live_values("inertia")
        arrays = [*given, inertia]
        tolerance = CLOSE[dtype]
        for got, want in zip(cases(robot, *map(put, arrays)), cases(robot, *arrays), strict=True):
            for x, y in zip(got[1:], want[1:], strict=True):
                assert type(x) is type(put(given[0])) and np.dtype(str(x.dtype).split(".")[-1]) == dtype
                assert_close(get(x), y, tolerance)
            assert_close(get(got.t) if hasattr(got.t, "shape") else got.t, want.t, tolerance)


def gradients(library: str) -> None:
    """Those that the processor's kernels give for the same weights."""
    for name, record in (("ur5", None), ("ur5", 1), ("quadruped", 5)):
        robot = dalembert.load(name)
        given = states(robot)
        rng = np.random.default_rng(1)
        weight = rng.normal(size=robot.rollout(*given, step=STEP, steps=STEPS, every=record).q.shape)
        found = [slopes(library, robot, given, weight, record, place) for place in ("cuda", "cpu")]
        for x, y in zip(*found, strict=True):
            assert_close(x, y, 1e-10)


def slopes(
    library: str, robot: Any, given: Any, weight: np.ndarray, record: int | None, place: str
) -> list[np.ndarray]:
    if library == "torch":
        import torch

        tensors = [torch.tensor(x, device=place, requires_grad=True) for x in given]
        made = robot.rollout(*tensors, step=STEP, steps=STEPS, every=record)
        (made.q * torch.tensor(weight, device=place)).sum().backward()
        return [x.grad.cpu().numpy() for x in tensors]
    import jax

    jax.config.update("jax_enable_x64", True)
    device = jax.devices("gpu" if place == "cuda" else "cpu")[0]
    w, *arrays = (jax.device_put(x, device) for x in (weight, *given))

    def total(*x: Any) -> Any:
        return (robot.rollout(*x, step=STEP, steps=STEPS, every=record).q * w).sum()

    return [np.asarray(x) for x in jax.grad(total, (0, 1, 2))(*arrays)]


def captured() -> None:
    """A rollout and its gradient that PyTorch has recorded are replayed with other numbers."""
    import torch

    robot = dalembert.load("ur5")
    q, v, tau = (torch.tensor(x, device="cuda") for x in states(robot))
    tau.requires_grad_()

    def work() -> tuple[Any, Any]:
        end = robot.rollout(q, v, tau, step=STEP, steps=STEPS, every=5)
        return end.q, torch.autograd.grad(end.q.sum(), tau)[0]

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = work()
    q.copy_(q.flip(0))
    graph.replay()
    torch.cuda.synchronize()
    for x, y in zip(got, work(), strict=True):
        assert_close(x.detach().cpu().numpy(), y.detach().cpu().numpy(), 1e-12)
