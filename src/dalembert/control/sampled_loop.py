"""A linear loop as its computer closes it: sampled, its answers late. Its poles and margins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.dynamics.algorithms import matrix_exponential

LONGEST_DELAY = 200  # periods of further delay up to which a margin is sought
ANGLES = 2000  # frequencies at which magnitudes are compared with 1


@dataclass(frozen=True)
class Loop:
    """x⁺ = F x + G u over a period, u = −K x of `late` periods ago: the loop as its computer closes it.

    Its state is x, then the answers that are on their way, the oldest first.
    """

    F: np.ndarray
    G: np.ndarray
    K: np.ndarray
    late: int

    @classmethod
    def sampled(cls, A: np.ndarray, B: np.ndarray, K: np.ndarray, period: float, late: int) -> Loop:
        """Return the loop of ẋ = A x + B u with u held over each period."""
        n, m = len(A), B.shape[1]
        whole = np.zeros((n + m, n + m))
        whole[:n, :n], whole[:n, n:] = A, B
        after = matrix_exponential(whole * period)[:n]
        return cls(after[:, :n], after[:, n:], K, late)

    def poles(self, gain: float = 1.0) -> np.ndarray:
        """Eigenvalues z of the closed loop with its gains times `gain`."""
        n, m = self.G.shape
        size = n + m * self.late
        loop = np.zeros((size, size))
        loop[:n, :n] = self.F
        if self.late:
            loop[:n, n : n + m] = self.G  # the oldest answer acts
            loop[n : size - m, n + m :] = np.eye(m * (self.late - 1))
            loop[size - m :, :n] = -gain * self.K
        else:
            loop[:n, :n] -= gain * self.G @ self.K
        return np.linalg.eigvals(loop)

    def stable(self, gain: float = 1.0) -> bool:
        """Whether it comes to rest with its gains times `gain`."""
        return bool(np.abs(self.poles(gain)).max() < 1.0)

    def damping(self) -> float:
        """The lowest damping ratio of poles that swing and last longer than a period; those within it are no motion."""
        z = self.poles().astype(complex)
        s = np.log(z[np.abs(z) > np.exp(-1.0)])
        swinging = s[np.abs(s.imag) > 1e-9 * np.abs(s)]
        return float(np.min(-swinging.real / np.abs(swinging), initial=1.0))

    def gain_margins(self) -> tuple[float, float]:
        """Factors of the gain up to which, and down to which, the loop is stable; (0, 1) where it is not at 1."""
        if not self.stable():
            return 0.0, 1.0
        up = next((f for f in np.logspace(0.0, 2.0, 81) if not self.stable(f)), np.inf)
        down = next((f for f in np.logspace(0.0, -3.0, 121) if not self.stable(f)), 0.0)
        return float(up), float(down)

    def gains(self, angles: np.ndarray) -> np.ndarray:
        """L(z) = K (z − F)⁻¹ G z^−late at z = exp(i angle), for each angle: (len(angles), m, m)."""
        z = np.exp(1j * angles)[:, None, None]
        return self.K @ np.linalg.solve(z * np.eye(len(self.F)) - self.F, self.G[None] + 0j) * z**-self.late

    def disk_margin(self) -> float:
        """The least singular value of 1 + L(z) over frequencies up to half the rate."""
        L = self.gains(np.pi * np.logspace(-5.0, 0.0, 400))
        return float(np.linalg.svd(np.eye(L.shape[-1]) + L, compute_uv=False)[:, -1].min())

    def delay_margin(self) -> int:
        """Periods of further delay that the loop tolerates, up to 199; −1: it is unstable as it is.

        A delay of k periods turns each eigenvalue of L(z) by −k times the angle of z. A pole can leave the unit circle
        only where an eigenvalue of magnitude 1 is turned to −1: at the first k past the least of these delays.
        """
        if not self.stable():
            return -1
        if self._magnitudes(np.array([np.pi])).max() >= 1.0:  # a further period turns these by half a turn
            return next((k - 1 for k in range(LONGEST_DELAY) if not self._later(k).stable()), LONGEST_DELAY - 1)
        angles = np.pi * np.logspace(-6.0, 0.0, ANGLES)
        above = np.concatenate([self._magnitudes(part) for part in np.array_split(angles, ANGLES // 250)]) > 1.0
        at, which = np.nonzero(above[1:] != above[:-1])
        if not len(at):
            return LONGEST_DELAY - 1
        low, high, falling = angles[at], angles[at + 1], above[at, which]
        for _ in range(60):
            middle = 0.5 * (low + high)
            past = (self._magnitudes(middle)[range(len(at)), which] > 1.0) != falling
            low, high = np.where(past, low, middle), np.where(past, middle, high)
        values = np.linalg.eigvals(self.gains(high))
        chosen = np.take_along_axis(values, np.argsort(np.abs(values)), axis=1)[range(len(at)), which]
        left = np.mod(np.angle(chosen) + np.pi, 2.0 * np.pi) / high
        return min(int(np.ceil(left.min())) - 1, LONGEST_DELAY - 1)

    def _magnitudes(self, angles: np.ndarray) -> np.ndarray:
        """Magnitudes of the eigenvalues of L at these angles, in ascending order."""
        return np.sort(np.abs(np.linalg.eigvals(self.gains(angles))))

    def _later(self, periods: int) -> Loop:
        return replace(self, late=self.late + periods)
