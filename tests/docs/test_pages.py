"""Every Python block of the README and the documentation runs, page by page, in the order in which it is read.

A page may hold comments that a reader does not see: `<!-- setup … -->` runs as code (files, states that the page takes
for granted), `<!-- needs: torch -->` skips the page where a package is missing, and `<!-- not run: why -->` in front of
a block leaves it out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BUILT = ("gallery/", "api/", "api.md", "licences.md")  # pages that `make docs` writes
GUIDES = [p for p in (ROOT / "docs").rglob("*.md") if not str(p.relative_to(ROOT / "docs")).startswith(BUILT)]
PAGES = [ROOT / "README.md", *sorted(GUIDES)]
PART = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)-->|^<!-- needs: (?P<needs>.*?) -->|^(?P<skip><!-- not run: .+? -->\n)?"
    r"```python\n(?P<block>.*?)^```",
    re.S | re.M,
)
WITH_CODE = [page for page in PAGES if "```python" in page.read_text("utf-8")]


def script(text: str) -> str:
    """The code of a page, each line where it stands on the page."""
    lines = [""] * (text.count("\n") + 1)
    for part in PART.finditer(text):
        name = "setup" if part["setup"] else "block"
        if part[name] and not part["skip"]:
            line = text.count("\n", 0, part.start(name))
            code = part[name].splitlines()
            lines[line : line + len(code)] = code
    return "\n".join(lines)


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path):
    """In a process of their own: pages register readers, rules and backends."""
    text = page.read_text("utf-8")
    for part in PART.finditer(text):
        for package in (part["needs"] or "").split():
            pytest.importorskip(package)
    (tmp_path / "page.py").write_text(script(text), "utf-8")
    command = [sys.executable, "page.py"]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_blocks_are_recognised():
    """Each block that a page has is one that the expression above sees."""
    for page in WITH_CODE:
        text = page.read_text("utf-8")
        assert sum(part["block"] is not None for part in PART.finditer(text)) == text.count("```python\n"), page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_tag_is_swallowed(page):
    """<axis> in prose is an unknown tag, which a browser does not show: it must be code."""
    text = re.sub(r"^```.*?^```|<!--.*?-->|`[^`]*`|<https?://[^>]*>", "", page.read_text("utf-8"), flags=re.S | re.M)
    assert set(re.findall(r"(?<!\\)<(?=[a-z])[^<>]*>", text)) <= {"<details>", "<summary>"}


def test_links_to_files_and_headings_lead_somewhere():
    """Links from page to page, with the heading that they name."""

    def anchor(title: str) -> str:
        return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()).strip().replace(" ", "-")

    def headings(page: Path) -> set[str]:
        return {anchor(title) for title in re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)}

    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            path, _, heading = target.partition("#")
            other = (page.parent / path) if path else page
            written = any(part in target for part in ("gallery/", "api", "licences", "figures/"))  # by the build
            assert other.exists() or written, f"{page.name}: {target}"
            if heading and other.exists() and other.suffix == ".md" and not written:
                assert heading in headings(other), f"{page.name}: {target}"
