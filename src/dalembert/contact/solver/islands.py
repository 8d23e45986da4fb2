"""Bodies that touch each other, directly or through others, in islands: each can be solved for by itself.

Islands are found by labels: every body begins with its own number, and both bodies of a contact take the smaller of
theirs until nothing changes; between two passes each body takes the label of the body whose number is its label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.linear.columns import Columns
from dalembert.math import logical_and, minimum, repeat, take, visit, where

from .arrays import NOTHING

PASSES = 64  # over all contacts, there and back, at most
DEGREES = 12  # numbers of contacts with others by which bodies are told apart; those with more are alike


def labels_of(at: np.ndarray, count: Any, n: int) -> np.ndarray:
    """(n,): the smallest number of a body on the island of each of n bodies; at (k, 2): bodies of contacts."""

    def smaller(rows: Any, changed: Any, pair: Any) -> dict[str, Any]:
        both = logical_and(pair[0] < n, pair[1] < n)
        a, b = rows[:, 0]
        least = minimum(a, b)
        changed = where(logical_and(both, where(a < b, b - a, a - b) > 0.5), 1.0, changed)
        to = np.array([where(both, number, -1.0) for number in pair])
        return {"rows": np.array([[least], [least]]), "to": to, "changed": changed}

    def there_and_back(labels: Any, _: Any) -> dict[str, Any]:
        table = labels[:, None]
        onwards = visit(smaller, {"pair": at}, table, at, {"changed": 0.0}, count)
        back = visit(smaller, {"pair": at}, onwards["table"], at, {"changed": onwards["changed"]}, count, True)
        further = take(back["table"], back["table"][:, 0])
        return {"labels": further[:, 0], "done": where(back["changed"] > 0.5, 0.0, 1.0)}

    return repeat(there_and_back, PASSES, {"labels": np.arange(float(n)), "done": 0.0}, "done")["labels"]


def listed_bodies(
    at: np.ndarray, count: Any, wanted: np.ndarray, n: int, most: int
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Numbers (most,) of the bodies that are wanted, (n, 1) their places in that list, and how many there are.

    Those that touch few others come first, so that little is added to the pattern when they are eliminated.
    """

    def one_more(rows: Any, pair: Any) -> dict[str, Any]:
        both = logical_and(pair[0] < n, pair[1] < n)
        return {"rows": rows + 1.0, "to": np.array([where(both, number, -1.0) for number in pair])}

    degrees = visit(one_more, {"pair": at}, np.zeros((n, 1)), at, count=count)["table"][:, 0]

    classes = np.repeat(np.arange(float(DEGREES)), n)
    bodies = np.tile(np.arange(float(n)), DEGREES)

    def kept(_: Any, number: Any, k: Any, degree: Any, wanted: Any, of_body: Any) -> dict[str, Any]:
        taken = logical_and(wanted > 0.5, minimum(of_body, DEGREES - 1.0) == degree)
        to = np.array([where(taken, number, -1.0), where(taken, most + k, -1.0)])
        return {"rows": np.array([[k], [number]]), "to": to, "number": number + where(taken, 1.0, 0.0)}

    items = {"k": bodies, "degree": classes, "wanted": np.tile(wanted, DEGREES), "of_body": np.tile(degrees, DEGREES)}
    listed = visit(kept, items, np.zeros((most + n, 1)), carry={"number": 0.0})
    return listed["table"][:most, 0], listed["table"][most:], listed["number"]


def contact_labels(at: np.ndarray, count: Any, labels: np.ndarray, n: int) -> np.ndarray:
    """(k,): the island of each contact."""

    def label(rows: Any, pair: Any) -> dict[str, Any]:
        return {"label": where(pair[0] < n, rows[0, 0], rows[1, 0])}

    return visit(label, {"pair": at}, labels[:, None], at, count=count)["label"]


def fitting_islands(flags: np.ndarray, labels: np.ndarray, most: int) -> np.ndarray:
    """(n, 1): 1 for flagged islands, one after the other as long as they have `most` bodies together."""
    n = len(labels)

    def counted(rows: Any, label: Any) -> dict[str, Any]:
        return {"rows": rows + 1.0, "to": np.array([label])}

    sizes = visit(counted, {"label": labels}, np.zeros((n, 1)), labels[:, None])["table"][:, 0]

    def fits(_: Any, total: Any, flag: Any, size: Any) -> dict[str, Any]:
        taken = logical_and(flag > 0.5, total + size <= most)
        return {"taken": where(taken, 1.0, 0.0), "total": total + where(taken, size, 0.0)}

    items = {"flag": flags[:, 0], "size": sizes}
    return visit(fits, items, NOTHING, carry={"total": 0.0})["taken"][:, None]


def gathered(
    columns: Mapping[str, np.ndarray], wanted: np.ndarray, count: Any
) -> tuple[np.ndarray, dict[str, np.ndarray], Any]:
    """Numbers (k,) of the items that are wanted (1), their columns (k, …) by name, and how many there are."""
    k = len(wanted)
    every = {"item number": np.arange(float(k)), **columns}
    layout = Columns.of(every)

    def keep(_: Any, place: Any, item: Any, wanted: Any) -> dict[str, Any]:
        to = np.array([where(wanted > 0.5, place, -1.0)])
        return {"rows": layout.row(**item)[None], "to": to, "place": place + where(wanted > 0.5, 1.0, 0.0)}

    items = {"item": every, "wanted": wanted}
    listed = visit(keep, items, np.zeros((k, layout.width)), carry={"place": 0.0}, count=count)
    places = np.arange(float(k))[:, None]
    kept = visit(lambda rows: layout.named(rows[0]), {}, listed["table"], places, count=listed["place"])
    return kept["item number"], {name: kept[name] for name in columns}, listed["place"]
