"""Numbers that read back as they were, and XML that people can read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from lxml import etree

from dalembert.errors import DalembertError

Element: TypeAlias = etree._Element

ROUND_OFF = 8 * np.finfo(float).eps
HUGE = np.finfo(float).max  # stands for "no limit" where a format demands a number
WIDTH = 118


def number(x: Any) -> str:
    """The shortest digits that read back as the same double; inf becomes the largest one."""
    x = float(np.clip(float(x), -HUGE, HUGE)) + 0.0
    return repr(int(x)) if x == int(x) and abs(x) < 1e6 else repr(x)


def numbers(x: Iterable[Any]) -> str:
    """Numbers parted by blanks."""
    return " ".join(number(value) for value in np.asarray(x, float).ravel())


def tidied(x: Any, scale: float) -> np.ndarray:
    """Computed numbers, rounded to twelve digits where that changes them by no more than round-off at this scale."""
    x = np.asarray(x, float)
    short = np.array([float(f"{value:.12g}") for value in x.ravel()]).reshape(x.shape)
    short = np.where(np.abs(x) <= ROUND_OFF * scale, 0.0, short)
    return np.where(np.abs(short - x) <= ROUND_OFF * scale, short, x)


def add(parent: Element, tag: str, text: str | None = None, **attributes: str | None) -> Element:
    """A new child element; attributes that are None are left out, a trailing _ of their names too."""
    stated = {key.rstrip("_"): value for key, value in attributes.items() if value is not None}
    try:
        element = etree.SubElement(parent, tag, stated)
        element.text = text
    except ValueError:
        values = ", ".join(repr(value) for value in (*stated.values(), text) if value)
        raise DalembertError(f"<{tag}>: {values} has characters that XML does not allow: rename it") from None
    return element


def document(root: Element, comment: list[str]) -> str:
    """The whole file: declaration, a comment of some lines, the indented elements."""
    etree.indent(root, "  ")
    wrapped = [textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ") for line in comment]
    lines = "\n".join(wrapped).replace("--", "- -")
    body = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{lines}\n-->\n{body}\n'
