"""Writes the pages of the gallery: each script below docs/gallery with its picture, its first lines and its code."""

from __future__ import annotations

import ast
from pathlib import Path

HERE = Path(__file__).parent
GROUPS = {
    "robots": "Robots",
    "mechanisms": "Mechanisms",
    "contact": "Contact",
    "plans": "Motions and plans",
    "control": "Control",
    "identification": "Identification",
}
THUMB = (220, 150)  # pixels


def scripts() -> list[Path]:
    return [path for group in GROUPS for path in sorted((HERE / "gallery" / group).glob("*.py"))]


def described(script: Path) -> tuple[str, str]:
    """Title and text of a script: the first line of its docstring, and the rest."""
    doc = ast.get_docstring(ast.parse(script.read_text("utf-8"))) or ""
    title, _, text = doc.partition("\n")
    return title.rstrip("."), text.strip()


def thumb(script: Path) -> str:
    """A small copy of the picture, of the middle of an animation."""
    from PIL import Image, ImageOps

    small = HERE / "gallery" / "thumbs" / f"{script.stem}.webp"
    small.parent.mkdir(exist_ok=True)
    with Image.open(script.with_suffix(".webp")) as picture:
        picture.seek(getattr(picture, "n_frames", 1) // 2)
        ImageOps.pad(picture.convert("RGB"), THUMB, color="white").save(small, quality=70)
    return small.name


def write(pictures: bool = True) -> None:
    """A page for each group, and one that shows all pictures; pictures: whether they are there already."""
    folder = HERE / "gallery"
    head = [
        "# Gallery",
        "",
        "Every picture is made by the script below it, with the package alone, when this site is built.",
    ]
    head += [
        "A script runs from the root of the source tree: `PYTHONPATH=docs python docs/gallery/robots/reach.py`.",
        "",
    ]
    for group, title in GROUPS.items():
        page = [f"# {title}", ""]
        members = [script for script in scripts() if script.parent.name == group]
        head += [f"## [{title}]({group}.md)", "", ":::{container} gallery"]
        for script in members:
            name, text = described(script)
            page += [f"## {name}", "", text, "", f"![{name}]({group}/{script.stem}.webp)", ""]
            page += ["<details><summary>The script</summary>", "", "```{literalinclude} " + f"{group}/{script.name}"]
            page += [":language: python", "```", "", "</details>", ""]
            shown = f"![{name}](thumbs/{thumb(script)})" if pictures else f"{name} · "
            head += [f"[{shown}]({group}.md#{slug(name)})"]
        head += [":::", ""]
        (folder / f"{group}.md").write_text("\n".join(page) + "\n", "utf-8")
    tree = ["```{toctree}", ":hidden:", "", *GROUPS, "```", ""]
    (folder / "index.md").write_text("\n".join([*head, *tree]), "utf-8")


def slug(title: str) -> str:
    """The anchor that a heading gets."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    write()
