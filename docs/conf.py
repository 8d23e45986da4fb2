"""The documentation site: `make docs`. Formulas are drawn at build time: pages need neither a network nor fonts."""

import html
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ziamath
from docutils import nodes

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import gallery  # noqa: E402  (beside this file)
import licences  # noqa: E402
import reference  # noqa: E402

project = "dalembert"
copyright = "the dalembert developers, Apache License 2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "gallery/thumbs"]
html_theme = "furo"
html_title = "dalembert"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "drawn"
SIZE = 17  # of formulas [px]


def figures(app) -> None:
    """Draw every figure that is missing or older than its script, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(draw, [*sorted((HERE / "figures").glob("*.py")), *gallery.scripts()]))
    gallery.write()


def draw(script: Path) -> None:
    """A script leaves a picture beside itself; it runs in a process of its own, with docs/ on its path."""
    pictures = [script.with_suffix(kind) for kind in (".svg", ".png", ".webp")]
    if any(p.exists() and p.stat().st_mtime >= script.stat().st_mtime for p in pictures):
        return
    path = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr}")


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
    licences.write()
