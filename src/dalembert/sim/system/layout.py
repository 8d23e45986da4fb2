"""Where the numbers of a state lie: e = [velocity, states, modes, accounts]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Layout:
    """The parts of e (…, ne), whose last axis is [velocity (nv,), states (nz,), modes (nm,), accounts (nw,)].

    states: of the elements, one after the other; modes: one for each constraint row that comes and goes, constant while
    the motion is smooth; accounts: of the energy ledger [J]. element_sizes: the number of states of each element.
    """

    nv: int
    element_sizes: tuple[int, ...] = ()
    nm: int = 0
    nw: int = 0

    @cached_property
    def nz(self) -> int:
        """States of all elements."""
        return sum(self.element_sizes)

    @property
    def ne(self) -> int:
        """Length of e."""
        return self.nv + self.nz + self.nm + self.nw

    @property
    def measured_size(self) -> int:
        """Length of [velocity, states]: what integration errors are measured on."""
        return self.nv + self.nz

    def velocity(self, e: np.ndarray) -> np.ndarray:
        """v (…, nv)."""
        return e[..., : self.nv]

    def states(self, e: np.ndarray) -> np.ndarray:
        """The states of all elements (…, nz)."""
        return e[..., self.nv : self.measured_size]

    def measured(self, e: np.ndarray) -> np.ndarray:
        """[velocity, states] (…, nv + nz)."""
        return e[..., : self.measured_size]

    def modes(self, e: np.ndarray) -> np.ndarray:
        """The modes of constraint rows (…, nm)."""
        return e[..., self.measured_size : self.measured_size + self.nm]

    def accounts(self, e: np.ndarray) -> np.ndarray:
        """The accounts of the ledger (…, nw) [J]."""
        return e[..., self.measured_size + self.nm :]

    def beside_velocity(self, e: np.ndarray) -> np.ndarray:
        """States and modes (…, nz + nm)."""
        return e[..., self.nv : self.measured_size + self.nm]

    def by_element(self, states: np.ndarray) -> list[np.ndarray]:
        """The states (…, nz) taken apart, element by element."""
        if not self.element_sizes:
            return []
        return np.split(states, np.cumsum(self.element_sizes)[:-1], axis=-1)

    def of_element(self, e: np.ndarray, number: int) -> np.ndarray:
        """The states of the element with a number."""
        begin = self.nv + sum(self.element_sizes[:number])
        return e[..., begin : begin + self.element_sizes[number]]

    def packed(self, velocity: np.ndarray, states: np.ndarray, modes: np.ndarray, accounts: np.ndarray) -> np.ndarray:
        """e of its parts."""
        return np.concatenate([velocity, states, modes, accounts], axis=-1)

    def replaced(
        self,
        e: np.ndarray,
        velocity: np.ndarray | None = None,
        states: np.ndarray | None = None,
        modes: np.ndarray | None = None,
        accounts: np.ndarray | None = None,
    ) -> np.ndarray:
        """e with some of its parts replaced."""
        return self.packed(
            self.velocity(e) if velocity is None else velocity,
            self.states(e) if states is None else states,
            self.modes(e) if modes is None else modes,
            self.accounts(e) if accounts is None else accounts,
        )
