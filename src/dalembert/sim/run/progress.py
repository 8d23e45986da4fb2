"""A line on stderr for runs that take longer than a second."""

from __future__ import annotations

import sys
import time

WIDTH = 30


class Progress:
    """shown: True, False, or None for: when it takes longer than a second and stderr is a terminal."""

    def __init__(self, duration: float, shown: bool | None) -> None:
        self.duration = duration
        self.active = sys.stderr.isatty() if shown is None else shown
        self._begin = self._last = time.monotonic()
        self._drawn = False

    def show(self, t: float) -> None:
        """Draw the bar at simulated time t [s], at most five times a second."""
        now = time.monotonic()
        if not self.active or now - self._begin < 1.0 or now - self._last < 0.2:
            return
        self._last, self._drawn = now, True
        share = min(t / self.duration, 1.0)
        left = (now - self._begin) * (1.0 - share) / max(share, 1e-9)
        bar = "█" * round(WIDTH * share) + "·" * (WIDTH - round(WIDTH * share))
        print(f"\rsimulating {bar} {t:.3g} of {self.duration:.3g} s, {left:.0f} s left ", end="", file=sys.stderr)
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._drawn:
            print(file=sys.stderr)
