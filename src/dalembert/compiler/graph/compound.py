"""Several results that are computed together: a call of another function, a repetition.

A compound is one node with all of its arguments; each of its results is a separate node whose argument is the compound.
So results are as cheap as other nodes, however many arguments there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .scalar import Graph, Scalar

Rates = Mapping[int, Any]  # direction → rate of change; those that vanish are left out


class Compound(ABC):
    """The definition of a node with several results, apart from its arguments.

    size: the number of its results. verb: what a function with such a node does, for messages. has_slopes: whether
    some of its arguments are for slopes alone.
    """

    size: int
    verb: ClassVar[str]
    has_slopes = False

    @abstractmethod
    def identity(self) -> tuple[Any, ...]:
        """Everything it computes, as text and numbers."""

    @abstractmethod
    def operations(self) -> Counter[str]:
        """How many operations of each kind it takes."""

    @abstractmethod
    def forward(self, node: Scalar, rates: Sequence[Rates]) -> list[dict[int, Any]]:
        """The rates of all results from those of all arguments, at least one of which is not zero."""

    @abstractmethod
    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        """Argument's place → Σ weight · ∂result/∂argument over the results in `weights`, for the active arguments."""

    def evaluated(self, arguments: Sequence[Scalar]) -> Sequence[Scalar]:
        """The arguments that its results are computed from; others are for slopes alone."""
        return arguments

    def again(self, graph: Graph, arguments: Sequence[Scalar]) -> list[Scalar]:
        """All results for other arguments, in `graph`."""
        return results(graph, self, arguments)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything it computes."""
        return sha256(repr((type(self).__name__, *self.identity())).encode()).hexdigest()


def results(graph: Graph, compound: Compound, arguments: Sequence[Scalar]) -> list[Scalar]:
    """The nodes of all results of a compound of these arguments, new or known.

    Its fingerprint takes long and is computed only where another one has the same arguments.
    """
    args = tuple(arguments)
    alike = graph.compounds.setdefault(tuple([a.id for a in args]), [])
    for whole in alike:
        if whole.value is compound or whole.value.fingerprint == compound.fingerprint:
            break
    else:
        whole = graph.new("compound", args, compound)
        alike.append(whole)
    return graph.results(whole, int(compound.size))
