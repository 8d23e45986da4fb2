"""Playing a run: time slider, play, speed; plots of torque and energy beside the motion."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PLOTTED = 400  # points of a curve, enough for a panel
RATE = 30.0  # frames per second
DASHES = ((), (6, 3), (2, 2), (8, 3, 2, 3))  # of curves, one after the other when the colours are used up


class Playback:
    """Controls in the panel that move `show(q, k)` along a run: q at sample k (nearest)."""

    def __init__(self, gui: Any, run: Any, names: Sequence[str], show: Callable[[np.ndarray, int], None]) -> None:
        self.run, self._show = run, show
        self._stop = threading.Event()
        start, end = float(run.t[0]), float(run.t[-1])
        step = max((end - start) / 1000, 1e-6)
        self.time = gui.add_slider("time [s]", start, end, step, start)
        self.playing = gui.add_checkbox("play", False)
        self.speed = gui.add_slider("speed", 0.05, 4.0, 0.05, 1.0)
        self.time.on_update(lambda _: self._at(self.time.value))
        self._plot(gui, names)
        threading.Thread(target=self._loop, daemon=True, name="dalembert-playback").start()

    def close(self) -> None:
        self._stop.set()

    def _at(self, t: float) -> None:
        k = int(np.argmin(np.abs(self.run.t - t)))
        self._show(self.run.q[k], k)

    def _loop(self) -> None:
        before = time.perf_counter()
        while not self._stop.wait(1.0 / RATE):
            now = time.perf_counter()
            passed, before = now - before, now
            if self.playing.value:
                start, end = float(self.run.t[0]), float(self.run.t[-1])
                t = self.time.value + passed * self.speed.value
                self.time.value = start if t > end else t

    def _plot(self, gui: Any, names: Sequence[str]) -> None:
        from viser import uplot

        every = max(1, len(self.run.t) // PLOTTED)
        t = np.ascontiguousarray(self.run.t[::every])

        def curves(title: str, unit: str, named: dict[str, np.ndarray]) -> None:
            colors = ["#3b6fb0", "#c0504d", "#5a9e6f", "#8064a2", "#e08e2c", "#4bacc6", "#7f7f7f", "#b05a8c"]
            lines = [
                uplot.Series(label=name, stroke=colors[k % len(colors)], width=1.5, dash=DASHES[k // len(colors) % 4])
                for k, name in enumerate(named)
            ]
            data = tuple(np.ascontiguousarray(values[::every], float) for values in named.values())
            axes = (uplot.Axis(label="t [s]"), uplot.Axis(label=unit))
            series = (uplot.Series(label="t"), *lines)
            gui.add_uplot((t, *data), series, title=title, axes=axes, scales={"x": uplot.Scale(time=False)}, aspect=1.6)

        units = set(getattr(self.run, "freedom_units", ()))
        tau = np.zeros((0, 0)) if self.run.tau is None else np.asarray(self.run.tau)
        if tau.any():
            unit = {"rad": "N·m", "m": "N"}[units.pop()] if len(units) == 1 else "N·m or N"
            curves("generalised forces", unit, {name: tau[:, k] for k, name in enumerate(names[: tau.shape[1]])})
        energy = getattr(self.run, "energy", None)  # a motion without forces has none
        if energy is not None:
            curves("energy", "J", {name: getattr(energy, name) for name in ("kinetic", "potential", "total")})
