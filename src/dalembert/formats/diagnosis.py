"""Numbers that no robot can have, or that look like a slip, with the likely cause: shared by all readers."""

from __future__ import annotations

from dalembert.spatial import Inertia

from .ledger import Ledger

# Likely causes, keyed by words of the violated condition.
CAUSES = {
    "mass is negative": "a sign slip",
    "mass is 0": "the mass was left out",
    "negative principal moment": "products of inertia with wrong signs or units, or moments not taken at the centre "
    "of mass",
    "triangle inequality": "moments rounded, scaled per axis or not taken at the centre of mass",
}


def report_inertia(ledger: Ledger, where: str, link: str, at_com: Inertia) -> None:
    """Log what is impossible in a link's inertia, given about its centre of mass before it is moved anywhere.

    Round-off of the parallel axis must not count.
    """
    for problem in at_com.problems():
        cause = next((text for words, text in CAUSES.items() if words in problem), "a slip in the file")
        ledger.warning(where, f"link '{link}' is not physical: {problem}; likely cause: {cause}", "kept as given")
