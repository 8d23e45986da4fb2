"""Results as notebooks show them: a heading, a table and remarks as HTML, figures as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from .errors import DalembertError


def html(
    heading: str, columns: Sequence[str] = (), rows: Iterable[Sequence[Any]] = (), remarks: Iterable[str] = ()
) -> str:
    """A heading, a table and a list of remarks; text is escaped, numbers get four digits and stand on the right."""
    from html import escape  # not needed elsewhere, and has a long table of its own

    def cell(x: Any) -> str:
        text, side = (escape(x), "left") if isinstance(x, str) else (f"{x:.4g}", "right")
        return f'<td style="text-align:{side}">{text}</td>'

    parts = [f"<p><b>{escape(heading)}</b></p>"]
    lines = ["".join(map(cell, row)) for row in rows]
    if lines:
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        parts.append(f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
    if listed := [f"<li>{escape(remark)}</li>" for remark in remarks]:
        parts.append(f"<ul>{''.join(listed)}</ul>")
    return "".join(parts)


def figure(width: float, height: float) -> Any:
    """A matplotlib figure [inches] without a display, which notebooks show as a picture."""
    try:
        return _figure_class()(figsize=(width, height), layout="constrained")
    except ImportError:
        raise DalembertError("figures need matplotlib: pip install 'dalembert[plot]'") from None


@cache
def _figure_class() -> type:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure; notebooks ask it for a picture where pyplot, which does that for others, is not loaded."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            FigureCanvasAgg(self)

        def _repr_png_(self) -> bytes:
            from io import BytesIO

            content = BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    return Picture
