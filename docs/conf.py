"""The documentation site: `make docs`; `make docs-text` leaves the pictures out.

Formulas are drawn at build time: pages need neither a network nor fonts. Each page is also there as Markdown, and
llms.txt lists all of them.
"""

import hashlib
import html
import json
import os
import subprocess
import sys
import time
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
python_maximum_signature_line_length = 90
SIZE = 17  # of formulas [px]
TEXT = os.environ.get("DALEMBERT_DOCS") == "text"  # without pictures
# Types in signatures have short names, of which rooms have several; folders of the source tree are not on the site.
suppress_warnings = ["ref.python", *(["image.not_readable"] if TEXT else [])]


DRAWN = HERE.parent / "build" / "drawn.json"  # script → digest of what its picture was drawn from


def figures(app) -> None:
    """Draw every figure whose script, helpers or package version changed, two at a time, and say so."""
    scripts = [*sorted((HERE / "figures").glob("*.py")), *gallery.scripts()]
    drawn = json.loads(DRAWN.read_text("utf-8")) if DRAWN.exists() else {}
    keys = {script: digest(script) for script in scripts}
    due = [script for script in scripts if picture(script) is None or drawn.get(script.name) != keys[script]]
    begin = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        for k, script in enumerate(pool.map(draw, due), 1):
            drawn[script.name] = keys[script]
            DRAWN.parent.mkdir(exist_ok=True)
            DRAWN.write_text(json.dumps(drawn, indent=1), "utf-8")
            print(f"  {k} of {len(due)} pictures, {time.monotonic() - begin:.0f} s: {script.name}", flush=True)
    gallery.write()


def digest(script: Path) -> str:
    """Digest of a script, of what it shares with others, and of the version that draws it."""
    shared = (HERE / "drawing.py").read_bytes() + (HERE.parent / "src/dalembert/version.py").read_bytes()
    return hashlib.sha256(script.read_bytes() + shared).hexdigest()


def picture(script: Path) -> Path | None:
    """The picture that a script leaves beside itself."""
    return next((p for kind in (".svg", ".png", ".webp") if (p := script.with_suffix(kind)).exists()), None)


def draw(script: Path) -> Path:
    """Run a script in a process of its own, with docs/ on its path."""
    path = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr}")
    return script


def markdown(app, problem) -> None:
    """Copy the source of each page beside it, and list them in llms.txt."""
    if problem is not None or app.builder.name != "html":
        return
    lines = [
        "# dalembert",
        "",
        "> Rigid-body dynamics of robots in Python, traced per robot and compiled.",
        "",
        "## Pages",
        "",
    ]
    for page in sorted(app.env.found_docs):
        text = (HERE / f"{page}.md").read_text("utf-8")
        target = Path(app.outdir) / f"{page}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        title = next((line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")), page)
        lines.append(f"- [{title}]({page}.md)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


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
    if TEXT:
        gallery.write(pictures=False)
    else:
        app.connect("builder-inited", figures)
    app.connect("build-finished", markdown)
    reference.write()
    licences.write()
