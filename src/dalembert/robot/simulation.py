"""Motion in time: simulation and rollouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from dalembert.compiler.execute import described, running_on
from dalembert.errors import DalembertError

from .settings import shared
from .viewing import motion_pictures

if TYPE_CHECKING:
    from dalembert.contact import Contact
    from dalembert.contact.raycast import Hits
    from dalembert.robot import Robot
    from dalembert.sim.contact_dynamics import ContactDynamics
    from dalembert.sim.elements import Element, HardStop
    from dalembert.sim.integrators import Integrator
    from dalembert.sim.run.advice import StepAdvice
    from dalembert.sim.run.run import Event, Run
    from dalembert.sim.settings import Settings
    from dalembert.sim.system.laws import Sampled
    from dalembert.typing import ArrayLike

    Torque: TypeAlias = Callable[..., Any] | np.ndarray | Sequence[Any] | Sampled  # anything but a number of seconds


@shared("simulate")
def _run(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    torque: Any = None,
    integrator: str | Integrator | None = None,
    step: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    record: float | None = 0.01,
    *,
    elements: Sequence[Element] = (),
    events: Sequence[Event] = (),
    progress: bool | None = None,
    friction: str = "dry",
    controls: Any = None,
    contact: Contact | None = None,
    backend: str | None = None,
    settings: Settings | None = None,
) -> Run:
    """The motion from q (nq,), v (nv,) over `duration` [s], with an energy ledger.

    simulate(q, v, 1.0, torque), or with the torque first: simulate(q, v, law, duration=1.0).
    torque: None; tau (nv,); (n, nv), each row held for duration/n; (times, values) with straight lines between; or
    a function (t, q, v) → tau, traced where it can be, else called back (the log says so); or `dalembert.Sampled`,
    a controller that runs at a rate and may keep a state. controls: the same of the robot's actuators (nu,), which turn
    them into torques; instead of torque. integrator: adaptive
    "rk23", "rk45", "rk8", "merson", for stiff systems "rodas" (to rtol, atol; with `step` they take fixed steps);
    fixed steps "euler", "heun",
    "rk4", "semi-implicit", "semi-implicit-damped", "implicit-velocity", "implicit-fast", "implicit-midpoint",
    "variational"; for mechanisms of free bodies "leapfrog" and "axis-angle"; or an `integrators.Integrator` of one's
    own. record [s]: states are kept this far apart; None: every step. With events,
    stops, dry friction or functions of time no step is longer than that.
    elements: springs, friction, motors …, see `dalembert.elements`; events: `dalembert.Event`s to locate. Loops of
    the model are kept closed by multipliers and projection. friction: "dry", the Coulomb friction of joints sticks
    and slides; "smooth", with a smooth sign as in `forward_dynamics`, under which loaded joints creep. Arrays of
    other libraries are taken from the memory of the processor; the run is NumPy's.
    contact: a `dalembert.Contact`, what the robot's shapes touch; rigid contact has a time step of its own, `step` [s]
    (by default 1 ms), instead of an integrator, and `run.contacts` says what touched.
    backend: what computes, by name, as of every method: "llvm" (default), "interpreter" … settings: a
    `dalembert.Settings` with values for keywords that are not given.
    A run that cannot go on raises `SimulationError`, whose `run` holds what was computed. Ctrl-C raises
    `dalembert.Interrupted`, a KeyboardInterrupt whose `result` is the run up to then.
    """
    from dalembert.sim.failure import part_completed
    from dalembert.sim.run.simulate import simulate
    from dalembert.sim.settings import Settings

    chosen = Settings(
        duration=duration, torque=torque, controls=controls, integrator=integrator, step=step, rtol=rtol,
        atol=atol, record=record, elements=elements, events=events, friction=friction, contact=contact,
        progress=progress,
    )  # fmt: skip

    def viewed(run: Run) -> Run:
        pictures = partial(motion_pictures, robot, contact)
        return replace(run, viewer=partial(_view, robot), pictures=pictures, subject=robot)

    with running_on(backend), part_completed(viewed):
        return viewed(simulate(robot.model, q, v, chosen))


@overload
def simulate(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    torque: Any = None,
    integrator: str | Integrator | None = None,
    step: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    record: float | None = 0.01,
    **options: Any,
) -> Run: ...
@overload
def simulate(robot: Robot, q: ArrayLike, v: ArrayLike, torque: Torque, *, duration: float, **options: Any) -> Run: ...
@wraps(_run, assigned=("__doc__",))
def simulate(robot: Robot, q: ArrayLike, v: ArrayLike, *positional: Any, **options: Any) -> Run:
    has_duration = "duration" in options or getattr(options.get("settings"), "duration", None) is not None
    if positional and _is_torque(positional[0]):
        if len(positional) > 1 or "torque" in options or not has_duration:
            raise DalembertError(
                f"simulate: what comes after v is {described(positional[0])}, a torque and not a number of seconds: "
                "write simulate(q, v, torque, duration=…), or simulate(q, v, duration, torque)"
            )
        options, positional = {**options, "torque": positional[0]}, ()
    elif not positional and not has_duration:
        raise DalembertError("simulate: for how long? pass duration=… [s]")
    return _run(robot, q, v, *positional, **options)


def _is_torque(x: Any) -> bool:
    """Whether x is a torque and not a number of seconds: a law, an array, None."""
    return not isinstance(x, (int, float, np.number, str)) and not (isinstance(x, np.ndarray) and x.ndim == 0)


def stops(robot: Robot, restitution: float = 0.0) -> tuple[HardStop, ...]:
    """Stops at the limits of all joints with one coordinate, for `elements=robot.stops()` of `simulate`, `rollout` and
    `stepper`: limits do not act by themselves.

    restitution: speed after meeting a stop per speed before, 0 … 1.
    """
    from dalembert.sim.elements.joint import stops

    return stops(robot.model, restitution)


def contact_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    contact: Contact,
    parameters: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> ContactDynamics:
    """Accelerations and contact forces of a state q (…, nq), v (…, nv) under joint forces tau (…, nv).

    contact: a `dalembert.Contact`. Returns `.a` (…, nv); `.force` (…, k, 3) on the first body of each of the k points
    that may touch, in world axes [N]; `.gap` (…, k) [m]. Arrays of PyTorch and JAX have gradients. Rigid contact:
    points within 0.01 mm touch, and those that meet with a speed are stopped within 10 µs, by as large a force. Dry
    friction of joints holds as in a step. parameters: live groups by name, as of `rollout`, which compile nothing.
    Bristles, which remember where they took hold, are refused. Keywords as of other quantities.
    """
    from dalembert.sim.contact_dynamics import contact_dynamics

    return contact_dynamics(robot.model, q, v, tau, contact, parameters, **keywords)


def raycast(
    robot: Robot,
    q: ArrayLike,
    origins: ArrayLike,
    directions: ArrayLike,
    contact: Contact | None = None,
    **keywords: Any,
) -> Hits:
    """The first surface that rays meet: collision shapes of the robot at q (…, nq), and the ground of a contact.

    origins, directions (…, 3) in the world, of any length but 0; all three broadcast: one state and a picture of rays
    (480, 640, 3), or states q (n, 1, nq) and rays (r, 3). Returns `.distance` (…,) [m], inf where nothing is hit;
    `.point`, `.normal` (…, 3), out of the surface; `.body` (…,), the number of its body among `.names`, −1: nothing.
    Rays that start inside a shape meet its surface on their way out; planes and height fields are met from above.
    Meshes count as their convex hulls. Keywords threads, check and backend as of other quantities.
    """
    from dalembert.contact.raycast import raycast

    return raycast(robot.model, q, origins, directions, contact, **keywords)


def step_advice(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike | None = None,
    integrator: str | Integrator = "semi-implicit",
    *,
    elements: Sequence[Element] = (),
) -> StepAdvice:
    """The fastest motion about the state q (nq,), v (nv,), and the step that the integrator needs for it.

    From the eigenvalues λ of the equations of motion: stable while |λ| step stays within the integrator's bounds,
    for an oscillation and "semi-implicit" step ≤ 2/ω.
    """
    from dalembert.sim.run.advice import advise

    return advise(robot.model, q, np.zeros(robot.model.nv) if v is None else v, integrator, tuple(elements))


def _view(robot: Robot, run: Run, **options: Any) -> Any:
    from dalembert.view import Viewer

    return Viewer(robot, run=run, **options)
