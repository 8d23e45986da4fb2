"""Base parameters: the combinations of parameters that motions can tell apart.   Gautier 1991; pivoted QR."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dalembert.math.blas import one_blas_thread
from dalembert.robot import Robot

from .columns import Columns, columns

SAMPLES = 40  # random states per parameter
DEPENDENT = 1e-7  # columns whose new part is below this fraction of the largest are combinations of others
ROUND_OFF = 1e-8  # coefficients of a combination below this are round-off


@dataclass(frozen=True)
class BaseParameters:
    """The identifiable part of a robot: base parameters β = matrix @ x, x the parameters `names`.

    groups: each base parameter in words, "link2 Izz + 0.09 link3 m − …"; matrix (rank, size); independent (rank,): the
    parameter each group is named for; condition: of the regressor of β at random states, columns scaled to unit length.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    matrix: np.ndarray
    independent: tuple[int, ...]
    condition: float
    columns: Columns

    @property
    def rank(self) -> int:
        """How many base parameters there are."""
        return len(self.groups)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Parameters that no motion shows, alone or in combination."""
        return tuple(name for name, column in zip(self.names, self.matrix.T, strict=True) if not column.any())

    def __repr__(self) -> str:
        return f"<BaseParameters of {self.columns.robot.name!r}: {self.rank} of {len(self.names)}>"

    def __str__(self) -> str:
        rows = [f"{k + 1:4d}  {group}" for k, group in enumerate(self.groups)]
        hidden = [f"\nunseen: {', '.join(self.unseen)}"] if self.unseen else []
        return "\n".join([f"{self.rank} base parameters of {len(self.names)}:", *rows, *hidden])


def base_parameters(
    robot: Robot, friction: Iterable[str] = (), rotor: bool = False, springs: bool = False, seed: int = 0
) -> BaseParameters:
    """The base parameters of a robot: which parameters motions show, and in which combinations.

    friction: some of "viscous", "coulomb", "stribeck", "offset"; rotor, springs: whether those are parameters too.
    """
    return base_of(columns(robot, friction, rotor, springs), seed)


@one_blas_thread()
def base_of(parameters: Columns, seed: int = 0) -> BaseParameters:
    """The base parameters of given columns."""
    robot, rng = parameters.robot, np.random.default_rng(seed)
    count = max(2, SAMPLES * parameters.size // max(robot.nv, 1))
    q = robot.random(rng, n=count)
    v, a = rng.normal(0.0, 2.0, (count, robot.nv)), rng.normal(0.0, 5.0, (count, robot.nv))
    W = parameters.matrix(q, v, a).reshape(-1, parameters.size)
    scale = np.linalg.norm(W, axis=0)
    visible = scale > DEPENDENT * scale.max(initial=0.0)  # what is below is round-off, and must not be scaled up
    scale[~visible] = 1.0
    R = np.asarray(np.linalg.qr(np.where(visible, W, 0.0) / scale, mode="r"))
    independent = independent_columns(R)
    rank = len(independent)
    dependent = np.setdiff1d(np.arange(parameters.size), independent)
    R1, R2 = R[:, independent], R[:, dependent]
    K = np.linalg.lstsq(R1, R2, rcond=None)[0] * scale[dependent] / scale[independent][:, None]
    K[np.abs(K) < ROUND_OFF] = 0.0
    matrix = np.zeros((rank, parameters.size))
    matrix[np.arange(rank), independent] = 1.0
    matrix[:, dependent] = K
    singular = np.linalg.svd(R1, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if rank else 1.0
    groups = tuple(_in_words(row, int(k), parameters.names) for row, k in zip(matrix, independent, strict=True))
    return BaseParameters(parameters.names, groups, matrix, tuple(independent.tolist()), condition, parameters)


def independent_columns(R: np.ndarray) -> np.ndarray:
    """Indices of columns of R that no columns before them make up, in order.

    So groups are named for the link nearest to the base, into which what is alike of the links beyond is regrouped.
    """
    Q = np.zeros((R.shape[0], 0))
    chosen: list[int] = []
    for k in range(R.shape[1]):
        new = R[:, k]
        for _ in range(2):  # twice is enough to be orthogonal to rounding
            new = new - Q @ (Q.T @ new)
        length = np.linalg.norm(new)
        if length > DEPENDENT:
            chosen.append(k)
            Q = np.column_stack([Q, new / length])
    return np.array(chosen, int)


def _in_words(row: np.ndarray, named: int, names: tuple[str, ...]) -> str:
    """A combination of parameters as text."""
    text = names[named]
    for k in np.flatnonzero(row):
        if k != named:
            size = abs(row[k])
            factor = "" if abs(size - 1.0) < ROUND_OFF else f"{size:.6g} "
            text += f" {'+' if row[k] > 0.0 else '−'} {factor}{names[k]}"
    return text
