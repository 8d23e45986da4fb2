"""`dalembert equations`: the equations of motion on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.progress import Progress, each

from .common import WIDTH, Json, RobotFiles, Source, check_target, console, print_json, table
from .terminal import is_unicode

READABLE = 1000  # monomials of an equation that is printed unasked
USUAL = ("mass_matrix", "coriolis_matrix", "gravity", "inverse_dynamics")


def run(
    robot: Source,
    files: RobotFiles,
    quantity: Annotated[list[str] | None, typer.Option(help=f"May be repeated; default: {USUAL}.")] = None,
    symbols: Annotated[bool, typer.Option("--symbols", help="Symbols instead of the model's numbers.")] = False,
    rename: Annotated[list[str] | None, typer.Option(help="OLD=NEW, such as q_1=theta_1; may be repeated.")] = None,
    frame: Annotated[str | None, typer.Option(help="Frame of pose, jacobian and the like.")] = None,
    digits: Annotated[int, typer.Option(help="Significant digits of numbers, 1 to 17.")] = 4,
    short: Annotated[bool, typer.Option("--short", help="c_12 for cos(q_1 + q_2), in .tex and .md.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write a document: .tex, .md, .html or .py.")] = None,
    as_json: Json = False,
) -> int:
    """Mass matrix, Coriolis matrix, gravity and torques as formulas, with numbers or with symbols.

    Example: `dalembert equations 2r --symbols --out 2r.tex`
    """
    from dalembert.equations import document, symbols_used

    if not 1 <= digits <= 17:
        raise DalembertError(f"--digits is {digits}, expected 1 to 17")
    check_target(out, "--out")
    loaded = files.open(robot)
    names = dict(_pair(text) for text in rename or ())
    wanted = each(quantity or USUAL, "deriving the equations")
    derived = [loaded.equations(name, symbols=symbols, rename=names, frame=frame) for name in wanted]
    if out:
        with Progress("writing the equations"):
            text = document(derived, out.suffix.removeprefix("."), digits=digits, short=short)
        write_text(out, text)
        print(out)
        return 0
    used = symbols_used(derived)
    if as_json:
        written = each(derived, "writing the equations")
        shown = {e.name: {"latex": e.latex(digits=digits, short=short), "sympy": str(e.sympy)} for e in written}
        print_json({"equations": shown, "symbols": [p._asdict() for p in used]})
        return 0
    for equation in each(derived, "writing the equations"):
        if not quantity and equation.monomials > READABLE:
            more = f"--quantity {equation.name} prints them, --out equations.tex writes them"
            print(f"{equation.letter}: too long to read, with {equation.monomials} terms: {more}\n")
            continue
        print(equation.text(digits=digits, width=WIDTH, unicode=is_unicode()), end="\n\n")
    if used:
        rows = [(p.name, p.value, p.unit, p.meaning) for p in used]
        console().print(table("Symbols", ["symbol", "value", "unit", "meaning"], rows))
    return 0


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise DalembertError(f"--rename {text}: expected OLD=NEW, such as q_1=theta_1")
    return old, new
