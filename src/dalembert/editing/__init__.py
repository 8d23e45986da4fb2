"""Edits: a new robot from an existing one, link by link. Every edit is checked against its invariants, and logged."""

from .editor import ModelEditor

__all__ = ["ModelEditor"]
