"""Contacts in colours: those of one colour have no body in common, so that each can be solved for beside the others.

Each contact in turn takes the first colour that neither of its bodies has (greedy). What finds none, as the contacts of
a plate with many balls, is a colour of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import visit, where

COLOURS = 16  # for which there is room at each body


class Colouring(NamedTuple):
    """Order of k contacts: place (k,) of each in the order by colours, and group (k,), the colour at each place."""

    place: np.ndarray
    group: np.ndarray


def coloured(at: np.ndarray, count: Any, n: int) -> Colouring:
    """The order by colours of the first `count` contacts; at (k, 2): numbers of their bodies, from n on of none."""

    def one(rows: Any, sizes: Any, pair: Any) -> dict[str, Any]:
        colour: Any = float(COLOURS)
        for c in reversed(range(COLOURS)):
            colour = where(rows[0, c] + rows[1, c] < 0.5, float(c), colour)
        chosen = [where(colour == c, 1.0, 0.0) for c in range(COLOURS + 1)]
        number = sum(x * size for x, size in zip(chosen, sizes, strict=True))
        return {
            "rows": np.array([[x + y for x, y in zip(row, chosen[:-1], strict=True)] for row in rows]),
            "to": pair,
            "sizes": np.array([size + x for size, x in zip(sizes, chosen, strict=True)]),
            "colour": colour,
            "number": number,
        }

    start = {"sizes": np.zeros(COLOURS + 1)}
    taken = visit(one, {"pair": at}, np.zeros((n, COLOURS)), at, start, count)
    before = np.concatenate([[0.0], np.cumsum(taken["sizes"])[:-1]])

    def placed(rows: Any, number: Any, colour: Any) -> dict[str, Any]:
        return {"place": rows[0, 0] + number, "group": colour + where(colour < COLOURS, 0.0, number)}

    items = {"number": taken["number"], "colour": taken["colour"]}
    every = visit(placed, items, before[:, None], taken["colour"][:, None], count=count)
    return Colouring(every["place"], ordered(every["group"][:, None], every["place"], count)[:, 0])


def ordered(rows: np.ndarray, place: np.ndarray, count: Any) -> np.ndarray:
    """Rows (k, m), the first `count` of them at their places."""
    k = len(rows)
    items = {"row": rows, "place": place}

    def put(_: Any, row: Any, place: Any) -> dict[str, Any]:
        return {"rows": row[None], "to": np.array([place])}

    return visit(put, items, np.zeros(np.shape(rows)), count=count, groups=np.zeros(k))["table"]
