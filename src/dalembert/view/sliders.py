"""One slider per degree of freedom, by joint name, in degrees or metres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body
from dalembert.robot import Robot

TRIES, NEAR = 30, 1e-4  # to close loops about a joint that is held, and how far it may be off [rad, m]
TURN, REACH = 180.0, 2.0  # degrees and metres of a coordinate without limits


class Sliders:
    """The sliders of a robot in a folder of the panel; `changed(q)` is called when one moves.

    Joints with a quaternion get the rotation vector and the position of what moves them from the neutral pose. Where
    the robot has loops, the other joints follow so that they stay closed.
    """

    def __init__(self, gui: Any, robot: Robot, changed: Callable[[np.ndarray], None]) -> None:
        self._robot, self._changed, self._quiet = robot, changed, False
        self._handles: list[tuple[Body, int, float, Any]] = []
        for body in robot.model.independent:
            for index in range(body.joint.nv):
                self._handles.append((body, index, *self._slider(gui, body, index)))
        self._last = robot.neutral()
        reset = gui.add_button("Neutral")
        reset.on_click(lambda _: self._take(self._closed(robot.neutral())))
        if robot.model.closures:
            self._take(self._closed(robot.neutral()))

    def set(self, q: np.ndarray) -> None:
        """Move the sliders without calling back."""
        self._quiet = True
        try:
            away = self._robot.difference(self._robot.neutral(), q)
            for body, index, scale, handle in self._handles:
                place = _line(body, index)
                value = away[body.v][index] if place is None else q[place]
                handle.value = float(np.clip(value / scale, handle.min, handle.max))
        finally:
            self._quiet = False

    def _take(self, q: np.ndarray) -> None:
        self.set(q)
        self._changed(q)

    def _moved(self, place: int | None) -> None:
        """A slider was moved by hand; place: of its coordinate in q, if it has one."""
        if self._quiet:
            return
        if self._robot.model.closures:
            self._take(self._closed(self._configuration(), place))
        else:
            self._changed(self._configuration())

    def _closed(self, q: np.ndarray, place: int | None = None) -> np.ndarray:
        """The loops closed, coordinate `place` kept if they allow; where they cannot be, the last that was shown."""
        if not self._robot.model.closures:
            return q
        held = None if place is None else q[place]
        try:
            for _ in range(TRIES):
                q = self._robot.close_loops(q).q
                if held is None or abs(q[place] - held) < NEAR:
                    break
                q = np.where(np.arange(len(q)) == place, held, q)
            self._last = self._robot.close_loops(q).q
        except DalembertError:
            pass
        return self._last

    def _slider(self, gui: Any, body: Body, index: int) -> tuple[float, Any]:
        joint = body.joint
        turns = joint.units[index] == "rad"
        scale = np.pi / 180 if turns else 1.0
        low, high = -TURN if turns else -REACH, TURN if turns else REACH
        place = _line(body, index)
        if place is not None:
            lower, upper = (limit[place - body.q.start] / scale for limit in (joint.lower, joint.upper))
            low, high = (lower, upper) if np.isfinite(upper - lower) else (low, high)
        digits = 1 if turns else max(3, int(np.ceil(-np.log10(max(high - low, 1e-9)))) + 3)  # a thousandth of a slide
        step = 10.0**-digits
        if high - low > 2.0 * step:  # whole steps within the limits: their ends are written beside the slider
            low, high = round(np.ceil(low / step) * step, digits), round(np.floor(high / step) * step, digits)
        part = joint.labels[index] or (str(index + 1) if joint.nv > 1 else "")
        label = f"{joint.name} {part}".strip() + (" [°]" if turns else " [m]")
        start = float(np.clip(0.0, low, high))
        handle = gui.add_slider(label, float(low), float(high), step, start)
        handle.on_update(lambda _: self._moved(place))
        return scale, handle

    def _configuration(self) -> np.ndarray:
        away = np.zeros(self._robot.nv)
        for body, index, scale, handle in self._handles:
            away[body.v.start + index] = handle.value * scale
        q = self._robot.integrate(self._robot.neutral(), away)
        for body, index, scale, handle in self._handles:
            place = _line(body, index)
            if place is not None:
                q[place] = handle.value * scale
        return q


def _line(body: Body, index: int) -> int | None:
    """The place in q of a freedom that is a coordinate itself; None where it is part of a rotation or free motion."""
    return next((body.q.start + line.q for line in body.joint.lines if line.v == index), None)
