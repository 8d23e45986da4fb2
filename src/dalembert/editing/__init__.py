"""Edits: a new robot from an existing one, link by link. Every edit is checked against its invariants, and logged.

In: a `Model`. Out: another one, and a log. Read in this order: `editor`, what people call; `change`, one edit with its
checks; `invariants`; then one file per kind of edit: `structure`, `rerooting`, `locking`, `parameters`, `scaling`,
`loops`.
"""

from .editor import ModelEditor

__all__ = ["ModelEditor"]
