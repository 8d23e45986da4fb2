"""Edits: another robot made from one, link by link. Every edit is checked by what it must leave alone, and logged."""

from .editor import ModelEditor

__all__ = ["ModelEditor"]
