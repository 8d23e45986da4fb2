"""Accounts of the energy ledger."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One account of the ledger: "work" put in or "heat" given off, and by what."""

    kind: str
    name: str
