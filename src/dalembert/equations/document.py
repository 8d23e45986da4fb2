"""Several equations as one document: LaTeX, Markdown, HTML with MathML, Python; with a table of the symbols."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import product
from typing import Any

from dalembert.compiler.backends.sympy import sympy
from dalembert.errors import unknown

from .equation import LEFT, LISTED, Equation, python_source
from .parameters import Parameter

ONE_LINE = 58  # characters of LaTeX, without commands, that fit into a line
FORCES = "Friction, damping and springs of the joints, where there are any, come on top."
MOTION = ("mass_matrix", "coriolis_matrix", "gravity")


def document(equations: Sequence[Equation], kind: str, *, digits: int = 6, short: bool = False) -> str:
    """The text of a document of a kind: tex, md, html or py."""
    if kind not in KINDS:
        raise unknown("document format", kind, KINDS, "equations")
    return KINDS[kind](equations, digits, short)


def symbols_used(equations: Sequence[Equation]) -> list[Parameter]:
    """The parameters that occur in any of the equations, each once."""
    return list({p.name: p for equation in equations for p in equation.used}.values())


def aligned(equation: Equation, digits: int, short: bool) -> str:
    """The lines of an align environment, one element of the result after the other, broken where they are long."""
    lines: list[str] = []
    zeros: list[str] = []
    seen: dict[tuple[Any, Any], int] = {}
    letter = _letter(equation)
    for index, x in zip(product(*map(range, equation.shape)), equation.elements(digits, short), strict=True):
        place = f"_{{{','.join(str(k + 1) for k in index)}}}" if index else ""
        mirror = seen.get((index[::-1], x)) if len(index) == 2 and index[0] > index[1] else None
        if mirror is not None:
            lines[mirror] = lines[mirror].replace(" &=", f" = {letter}{place} &=", 1)
        elif x != 0:
            seen[index, x] = len(lines)
            lines.append(f"{letter}{place} &= {_broken(x)}")
        else:
            zeros.append(f"{letter}{place}")
    if lines and len(zeros) > LISTED:
        lines.append(rf"\text{{the other {len(zeros)} entries of }} {letter} &= 0")
    elif lines and zeros:
        lines.append(f"{' = '.join(zeros)} &= 0")
    return " \\\\\n".join(lines) or f"{letter} &= 0"


def _letter(equation: Equation) -> str:
    """The letter of the elements, in LaTeX."""
    if equation.name not in LEFT:
        return rf"\mathrm{{{equation.letter}}}"
    return str(sympy().latex(sympy().Symbol(equation.letter)))


def _latex(x: Any) -> str:
    return sympy().latex(x, order="none")


def _broken(x: Any, depth: int = 0) -> str:
    """A sum over several lines, and the sums inside long products too."""
    s, lines, length = sympy(), [""], 0
    for k, part in enumerate(s.Add.make_args(x)):
        text, fresh = _latex(part), False
        sums = [f for f in part.args if f.is_Add] if part.is_Mul else []
        if _visible(text) > ONE_LINE and len(sums) == 1:
            front = _latex(s.Mul(*[f for f in part.args if not f.is_Add]))
            text = rf"{front} \Bigl({_broken(sums[0], depth + 1)}\Bigr)"
            fresh = True
        sign = "" if k == 0 or text.startswith("-") else "+ "
        if k and (length + _visible(text) > ONE_LINE or fresh):
            lines.append("")
            length = 0
        lines[-1] += (" " if lines[-1] else "") + sign + text
        length += _visible(text)
    return (" \\\\\n&" + r"\quad" * (depth + 1) + " ").join(lines)


def _visible(text: str) -> int:
    """About how many characters LaTeX sets."""
    return len(re.sub(r"\\(left|right|Bigl|Bigr|d?dot|)\b|[{}_^\\ ]", "", text))


def _motion(equations: Sequence[Equation]) -> str:
    """The sentence that joins the parts, if all of them are present."""
    names = [equation.name for equation in equations]
    return r"\tau = M(q)\,\ddot{q} + C(q, \dot{q})\,\dot{q} + g(q)" if set(MOTION) <= set(names) else ""


def _title(equations: Sequence[Equation]) -> str:
    return f"Equations of {equations[0].robot}"


def _heading(equation: Equation) -> str:
    return equation.name.replace("_", " ").capitalize()


def _notation(equations: Sequence[Equation], short: bool) -> str:
    return "c and s with indices are cosine and sine of the sum of these coordinates." if short else ""


def _tex(equations: Sequence[Equation], digits: int, short: bool) -> str:
    lines = [
        r"\documentclass[a4paper]{article}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\usepackage{amsmath,longtable}",
        r"\allowdisplaybreaks",
        rf"\title{{{_plain_tex(_title(equations))}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
    ]
    if motion := _motion(equations):
        lines += [f"\\[ {motion} \\]", FORCES, ""]
    lines += [_notation(equations, short)] if short else []
    for equation in equations:
        lines += [rf"\section*{{{_plain_tex(_heading(equation))}}}", r"\begin{align*}"]
        lines += [aligned(equation, digits, short), r"\end{align*}"]
    if used := symbols_used(equations):
        lines += [r"\section*{Symbols}", r"\begin{longtable}{llll}", r"symbol & value & unit & meaning \\ \hline"]
        lines += [
            rf"${_symbol(p)}$ & {p.value:.{digits}g} & {_plain_tex(p.unit)} & {_plain_tex(p.meaning)} \\" for p in used
        ]
        lines += [r"\end{longtable}"]
    return "\n".join([*lines, r"\end{document}", ""])


def _markdown(equations: Sequence[Equation], digits: int, short: bool) -> str:
    lines = [f"# {_title(equations)}", ""]
    if motion := _motion(equations):
        lines += [f"$$ {motion} $$", "", FORCES, ""]
    lines += [_notation(equations, short), ""] if short else []
    for equation in equations:
        lines += [f"## {_heading(equation)}", "", "$$", r"\begin{aligned}"]
        lines += [aligned(equation, digits, short), r"\end{aligned}", "$$", ""]
    if used := symbols_used(equations):
        lines += ["## Symbols", "", "| symbol | value | unit | meaning |", "|---|--:|---|---|"]
        for p in used:
            meaning = p.meaning.replace("|", "&#124;")
            lines += [f"| ${_symbol(p)}$ | {p.value:.{digits}g} | {p.unit} | {meaning} |"]
    return "\n".join(lines).rstrip() + "\n"


def _html(equations: Sequence[Equation], digits: int, short: bool) -> str:
    s = sympy()
    title = escape(_title(equations))
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{title}</title>",
             "<style>body{font-family:sans-serif;margin:2rem} math{font-size:1.1rem;margin:.5rem 0}"
             " td,th{padding:.2rem .8rem;text-align:left}</style></head><body>", f"<h1>{title}</h1>"]  # fmt: skip
    lines += [f"<p>{_notation(equations, short)}</p>"] if short else []
    for equation in equations:
        lines.append(f"<h2>{escape(_heading(equation))}</h2>")
        for name, x in equation.named(digits, short):
            if x != 0:
                lines.append(f'<math display="block">{_mathml(s.Eq(s.Symbol(name), x, evaluate=False))}</math>')
    if used := symbols_used(equations):
        lines.append("<h2>Symbols</h2><table><tr><th>symbol<th>value<th>unit<th>meaning</tr>")
        for p in used:
            symbol = f"<math>{_mathml(s.Symbol(p.name))}</math>"
            cells = (symbol, f"{p.value:.{digits}g}", escape(p.unit), escape(p.meaning))
            lines.append("<tr>" + "".join(f"<td>{cell}" for cell in cells) + "</tr>")
        lines.append("</table>")
    return "\n".join([*lines, "</body></html>", ""])


def _mathml(x: Any) -> str:
    """MathML with dots above the letters of rates."""
    shown = sympy().mathml(x, printer="presentation", order="none")
    return re.sub(r"<mi>(\w+?)(d?)dot</mi>", _dotted, shown)


def _dotted(match: re.Match[str]) -> str:
    letter = match[1] if len(match[1]) == 1 else f"&{match[1]};"
    return f"<mover><mi>{letter}</mi><mo>{'¨' if match[2] else '˙'}</mo></mover>"


def _symbol(parameter: Parameter) -> str:
    return sympy().latex(sympy().Symbol(parameter.name))


def _plain_tex(text: str) -> str:
    """Text that LaTeX sets literally."""
    changes = {"²": "$^2$", "·": r"$\cdot$", "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
    return "".join(changes.get(c, rf"\{c}" if c in "_&%#${}" else c) for c in text)


KINDS: dict[str, Callable[[Sequence[Equation], int, bool], str]] = {
    "tex": _tex,
    "md": _markdown,
    "html": _html,
    "py": lambda equations, digits, short: python_source(equations),
}
