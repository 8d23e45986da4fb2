"""Contacts of a run: gaps, points, forces, how much of the friction was used, and how well the laws were kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.contact.support import centre_of_pressure, support_margin, support_polygon
from dalembert.dynamics.collision.witness import FAR
from dalembert.notebook import figure
from dalembert.typing import Array

from ..system.turning import SAFE

OVER = 1e-6  # above 1: a ratio that is not rounding
SLIPS = 1e-5  # [m/s]: what is slower is at rest
NAMED = 40  # points in the legend of a plot: of more, those that push most


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of a run at its n times.

    names: of the k points that may touch, on the first body against the second one or the ground; bodies: (first,
    second) of each, "ground" among them. gap (n, k) [m], 1e6 where a face has fewer corners at the moment; position
    (n, k, 3) [m]; force (n, k, 3) on the first body, in world axes [N], of rigid contact the mean over the step that
    led there; moment (n, k, 3) of torsional and rolling friction on the first body, likewise [N·m]; normal (n, k, 3)
    from the second body to the first; ratio (n, k) = |F_t| / (µ F_n), 0 where nothing pushes.

    How redundant contacts of rigid bodies share a load is undetermined: force is the least that holds (the sum of
    squares); where that would leave a friction cone, and among loose bodies that are looped over, one that holds.
    passes, residual (n,): of the iteration [m/s]; unsettled: steps that did not reach the tolerance, worst: their
    largest residual [m/s]; crowded: of these, steps with more contacts than there was room for, 0: a run takes the room
    that it needs; passed: of these, steps in which something may have passed through another body, or began inside of
    one; turned: the body that turned farthest in a step that could not follow it, and by how much [rad], None: no body
    did; step [s]: of rigid
    contact.
    """

    names: tuple[str, ...]
    bodies: tuple[tuple[str, str], ...]
    t: Array
    gap: Array
    position: Array
    force: Array
    normal: Array
    friction: Array  # (k,): the largest coefficient, that at rest
    model: str  # "rigid", "compliant" or "mujoco"
    velocity: Array = field(repr=False)  # (n, k, 3): of the first body past the second, in world axes [m/s]
    passes: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    residual: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    unsettled: int = 0
    worst: float = 0.0
    crowded: int = 0
    turned: tuple[str, float] | None = None
    passed: int = 0
    step: float | None = None
    sliding: Array | None = field(default=None, repr=False)  # (k,): the coefficient of sliding; None: as at rest
    moment: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    def __post_init__(self) -> None:
        if not self.moment.size:
            object.__setattr__(self, "moment", np.zeros_like(self.force))

    @cached_property
    def normal_force(self) -> Array:
        """F_n (n, k) [N], ≥ 0."""
        return np.einsum("tki,tki->tk", self.force, self.normal)

    @cached_property
    def ratio(self) -> Array:
        """|F_t| / (µ F_n) (n, k): 0 where nothing pushes, 1 where a point gives all the friction it can.

        Points that slip do, beside the friction of sliding; so may points of a face that holds.
        """
        tangential, most = np.linalg.norm(self._tangential, axis=-1), self._most
        return np.divide(tangential, most, out=np.zeros_like(most), where=most > 0.0)

    @property
    def _tangential(self) -> Array:
        """F_t (n, k, 3) [N]."""
        return self.force - self.normal_force[..., None] * self.normal

    @property
    def _slip(self) -> Array:
        """The velocity along the surface (n, k, 3) [m/s]."""
        u_n = np.einsum("tki,tki->tk", self.velocity, self.normal)
        return self.velocity - u_n[..., None] * self.normal

    @property
    def _most(self) -> Array:
        """µ F_n (n, k) [N], with the µ of sliding where it slips and has no more than that."""
        at_rest = self.friction * self.normal_force
        if self.sliding is None:
            return at_rest
        sliding = self.sliding * self.normal_force
        no_more = np.linalg.norm(self._tangential, axis=-1) <= (1.0 + OVER) * sliding
        return np.where(no_more & (np.linalg.norm(self._slip, axis=-1) > SLIPS), sliding, at_rest)

    @property
    def residuals(self) -> dict[str, Array]:
        """By how much each law is missed (n, k): zero in an exact solution.

        "signorini": depth of penetration [m]; "complementarity": normal force times gap [J]; "dissipation": what
        friction takes less than it could, µ F_n |u_t| + F_t · u_t [W]; "cone": |F_t| beyond µ F_n [N].
        """
        slip, tangential, most = self._slip, self._tangential, self._most
        power = np.einsum("tki,tki->tk", tangential, slip)
        return {
            "signorini": np.maximum(-self.gap, 0.0),
            "complementarity": self.normal_force * np.where(self.gap < 0.5 * FAR, np.maximum(self.gap, 0.0), 0.0),
            "dissipation": np.abs(most * np.linalg.norm(slip, axis=-1) + power),
            "cone": np.maximum(np.linalg.norm(tangential, axis=-1) - most, 0.0),
        }

    @property
    def table(self) -> dict[str, tuple[float, float]]:
        """(largest, mean) of each of the residuals."""
        return {name: (float(x.max(initial=0.0)), float(x.mean())) for name, x in self.residuals.items()}

    @property
    def zero_moment_point(self) -> Array:
        """(n, 3) [m]: where the vertical forces of the ground act together; NaN in the air."""
        grounded = self._grounded
        return centre_of_pressure(self.position[:, grounded], self.force[:, grounded])

    def support_polygon(self, k: int = -1) -> Array:
        """Corners (m, 2) of what the points that push on the ground at time number k span, seen from above [m]."""
        pushing = self._grounded & (self.normal_force[k] > 0.0)
        return support_polygon(self.position[k][pushing])

    @property
    def margin(self) -> Array:
        """(n,) [m]: how far the zero-moment point is inside the support polygon; −∞ in the air."""
        points = self.zero_moment_point
        inside = [support_margin(self.support_polygon(k), points[k]) for k in range(len(self.t))]
        return np.array(inside)

    @property
    def _grounded(self) -> Array:
        return np.array([second == "ground" for _, second in self.bodies])

    @property
    def log(self) -> list[str]:
        """Remarks for the user: steps that did not settle, forces outside of the friction cone."""
        lines = []
        if self.unsettled:
            lines.append(
                f"contact: {_steps(self.unsettled)} did not reach the tolerance; the laws of contact "
                f"are missed there by up to about {self.worst:.1e} m/s: take shorter steps, fewer points on one face, "
                "or less friction where a light link jams"
            )
        if self.passed and self.turned is None:
            lines.append(
                f"contact: in {_steps(self.passed)} a body began inside another one, or may have passed through it: "
                "start with some clearance, or take shorter steps"
            )
        if self.turned is not None and self.step is not None:
            body, angle = self.turned
            lines.append(
                f"contact: {body!r} turns by up to {angle:.2g} rad in a step close to what it may touch, and may pass "
                f"through: steps follow about a radian. Take steps of at most {self.step * SAFE / angle:.1g} s"
            )
        over = self.ratio > 1.0 + OVER
        for k in np.flatnonzero(over.any(axis=0)):
            at = int(np.argmax(over[:, k]))
            lines.append(
                f"contact: friction of {self.names[k]!r} is {self.ratio[at, k]:.3g} of its limit at {self.t[at]:g} s"
            )
        return lines

    def plot(self) -> Any:
        """A matplotlib figure: gaps, normal forces, and shares of the friction, of the points that ever push."""
        from .plot import style

        pushing = np.flatnonzero((self.normal_force > 0.0).any(axis=0))
        if len(pushing) > NAMED:
            pushing = pushing[np.argsort(-self.normal_force[:, pushing].max(axis=0))]
        picture = figure(9.0, 7.2)
        panels = picture.subplots(3, 1, sharex=True)
        gap = 1e3 * np.where(self.gap < 0.5 * FAR, self.gap, np.nan)
        curves = (("gap [mm]", gap), ("normal force [N]", self.normal_force), ("|F_t| / µ F_n", self.ratio))
        for axes, (label, values) in zip(panels, curves, strict=True):
            for number, k in enumerate(pushing):
                axes.plot(self.t, values[:, k], label=self.names[k], **style(number))
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
        if len(pushing):
            lines = panels[0].get_lines()[:NAMED]
            picture.legend(handles=lines, fontsize="small", ncols=4, loc="outside lower center")
        panels[-1].set_xlabel("t [s]")
        return picture

    def __repr__(self) -> str:
        touched = int((self.normal_force > 0.0).any(axis=0).sum()) if len(self.t) else 0
        return f"<Contacts: {len(self.names)} points, {touched} of them touched, {len(self.t)} times>"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
