"""The documentation site: `make docs`. Formulas are drawn at build time: pages need neither a network nor fonts."""

import html
import runpy
import sys
from pathlib import Path

import ziamath
from docutils import nodes

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import reference  # noqa: E402  (beside this file)

project = "dalembert"
copyright = "the dalembert developers, Apache License 2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "dalembert"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "drawn"
SIZE = 17  # of formulas [px]


def figures(app) -> None:
    """Draw every figure that is missing or older than its script."""
    for script in sorted((HERE / "figures").glob("*.py")):
        drawn = script.with_suffix(".svg")
        if not drawn.exists() or drawn.stat().st_mtime < script.stat().st_mtime:
            runpy.run_path(str(script), run_name="__main__")


def inline(translator, node) -> None:
    formula = ziamath.Latex(node.astext(), size=SIZE, inline=True, color="currentColor")
    shift = f"vertical-align: {formula.getyofst():.2f}px"
    translator.body.append(f'<span class="math" style="{shift}" {label(node)}>{formula.svg()}</span>')
    raise nodes.SkipNode


def block(translator, node) -> None:
    formula = ziamath.Latex(node.astext(), size=SIZE, color="currentColor")
    translator.body.append(f'<div class="math" {label(node)}>{formula.svg()}</div>')
    raise nodes.SkipNode


def label(node) -> str:
    """For readers who listen."""
    return f'role="img" aria-label="{html.escape(node.astext())}"'


def setup(app) -> None:
    app.add_html_math_renderer("drawn", inline_renderers=(inline, None), block_renderers=(block, None))
    app.connect("builder-inited", figures)
    reference.write()
