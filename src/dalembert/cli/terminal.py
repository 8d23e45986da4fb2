"""Output on terminals that cannot write every character: "m/s²" becomes "m/s^2", never an exception."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import unicodedata
from typing import Any, TextIO

NAME = "dalembert.plain"  # of the way in which characters that an encoding lacks are replaced
PLAIN = {
    "·": ".", "⋅": "*", "×": "x", "²": "^2", "³": "^3", "°": "deg", "µ": "u", "μ": "u", "∞": "inf", "−": "-", "–": "-",
    "—": "-", "…": "...", "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "±": "+-", "√": "sqrt",
    "⊕": "+", "∂": "d", "Σ": "sum", "τ": "tau", "ω": "omega", "θ": "theta", "α": "alpha", "λ": "lambda", "Λ": "Lambda",
    "π": "pi", "ρ": "rho", "σ": "sigma", "φ": "phi", "∕": "/", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def prepare(*streams: TextIO) -> None:
    """Let these streams replace characters that their encoding cannot write, including surrogates in file names."""
    codecs.register_error(NAME, _replaced)
    for stream in streams:
        with contextlib.suppress(AttributeError, ValueError):  # a stream of another kind, or one that is closed
            stream.reconfigure(errors=NAME)  # type: ignore[attr-defined]


def is_unicode(stream: TextIO | None = None) -> bool:
    """Whether a stream (default: stdout) can write every character."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def close_quietly() -> None:
    """After the reader of a pipe has closed it: write nothing more, so that Python does not complain at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replaced(error: Any) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(character: str) -> str:
    if character in PLAIN:
        return PLAIN[character]
    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return letters or "?"
