"""Writes docs/licences.md: the licence of every package that dalembert can use, from the packages' own metadata."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = ("docs", "dev")  # extras that build and test dalembert; users do not install them


def write(path: Path = HERE / "licences.md") -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    parts = {"Always installed": project["dependencies"]}
    parts |= {f"With `dalembert[{name}]`": extras[name] for name in extras if name not in TOOLS}
    text = [
        "# Licences",
        "",
        "dalembert is under the Apache License 2.0. It contains no code of others. Bundled robots were written here",
        "from published parameters; the comment at the top of each file names the source. Code that `robot.export`",
        "writes is yours: the generator claims no rights in it.",
        "",
        "Packages that it uses are installed beside it, under their own licences, as their metadata states them:",
        "",
    ]
    for title, requirements in parts.items():
        names = [re.match(r"[\w.-]+", requirement)[0] for requirement in requirements]
        rows = [row(name) for name in names if name != "dalembert"]
        if rows:
            text += [f"## {title}", "", "| package | licence | home page |", "|---|---|---|", *rows, ""]
    path.write_text("\n".join(text), "utf-8")


def row(name: str) -> str:
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return f"| {name} | not installed where this page was made: see the package itself | |"
    return f"| {name} | {licence(about)} | {home(about)} |"


def home(about: metadata.PackageMetadata) -> str:
    """A link to the home page, or failing that to the source."""
    urls = dict(url.split(", ", 1) for url in about.get_all("Project-URL") or ())
    known = {label.lower().replace("-", "").replace(" ", ""): url for label, url in urls.items()}
    for label in ("homepage", "home", "source", "repository", "github", "documentation"):
        if label in known:
            return f"<{known[label]}>"
    return f"<{about['Home-page']}>" if about.get("Home-page") else ""


def licence(about: metadata.PackageMetadata) -> str:
    """The stated expression, else what its classifiers say, else the first line of its text."""
    classifiers = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or () if c.startswith("License ::")]
    stated = about.get("License-Expression") or ", ".join(classifiers) or about.get("License") or "not stated"
    return stated.strip().splitlines()[0][:80].replace("|", "/")


if __name__ == "__main__":
    write()
