"""Writes the API pages from the definitions: signature, docstring and members of every public object."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import dalembert

HERE = Path(__file__).parent
# Rooms with a page each, then pages of objects by title; a public name that is on none of them goes to the last.
SPACES = (
    *("identify", "mechanism", "motion", "control", "optimal", "study", "pictures"),
    *("elements", "constraints", "integrators", "charts", "kinds", "math", "shapes"),
)
OBJECTS = {
    "Robot": ("Robot",),
    "Loading, building and editing": (
        *(
            "load",
            "robots",
            "scene",
            "ModelBuilder",
            "ModelEditor",
            "Model",
            "Joint",
            "AxisJoint",
            "Inertia",
            "Pose",
            "Wrench",
        ),
        *("Actuator", "BodyInfo", "FrameInfo", "JointInfo", "Finding", "compare", "Comparison", "Difference"),
        *("mass_properties", "MassProperties", "register_reader", "register_writer", "spatial"),
    ),
    "Simulation": (
        "Contact",
        "Settings",
        "Run",
        "load_run",
        "Rollout",
        "Sampled",
        "Event",
        "Interrupted",
        "SimulationError",
    ),
    "Logs": ("Log", "Trajectory", "read_log", "read_trajectory", "write_trajectory"),
    "Functions of your own": ("function", "quantity", "register_backend"),
    "Other": ("zero_moment_point", "DalembertError", "ImportFindingsWarning"),
}


def write(folder: Path = HERE / "api") -> None:
    """All pages of the reference."""
    folder.mkdir(exist_ok=True)
    pages = []
    placed = {name for names in OBJECTS.values() for name in names}
    others = [n for n in dalembert.__all__ if n not in placed and n not in SPACES and n != "__version__"]
    for title, names in {**OBJECTS, "Other": (*OBJECTS["Other"], *others)}.items():
        text = [f"# {title}", ""]
        for name in names:
            if hasattr(dalembert, name):
                text += described(f"dalembert.{name}", getattr(dalembert, name), 2)
        pages.append(_page(folder, title, text))
    for space in SPACES:
        module = getattr(dalembert, space, None)
        if not isinstance(module, ModuleType):
            continue
        text = [f"# dalembert.{space}", "", *paragraphs(module.__doc__), ""]
        for name in getattr(module, "__all__", [n for n in dir(module) if not n.startswith("_")]):
            thing = getattr(module, name)
            if not isinstance(thing, ModuleType) and getattr(thing, "__module__", "").startswith("dalembert"):
                text += described(f"{space}.{name}", thing, 2)
        pages.append(_page(folder, f"dalembert.{space}", text))
    head = ["# API reference", "", "By object, generated from the definitions.", ""]
    tree = ["```{toctree}", ":maxdepth: 1", "", *(f"api/{page}" for page in pages), "```", ""]
    (HERE / "api.md").write_text("\n".join([*head, *tree]), "utf-8")


def _page(folder: Path, title: str, text: list[str]) -> str:
    name = re.sub(r"\W+", "_", title.lower())
    (folder / f"{name}.md").write_text("\n".join(text) + "\n", "utf-8")
    return name


def described(name: str, thing: Any, level: int) -> list[str]:
    """Heading, signature and docstring of a thing, and its public members if it is a class."""
    head = "#" * level
    if isinstance(thing, property):
        return [f"{head} {name}", "", *paragraphs(thing.__doc__), ""]
    if isinstance(thing, ModuleType) or not callable(thing):
        return [f"{head} {name}", "", *paragraphs(getattr(thing, "__doc__", "")), ""]
    text = [f"{head} {name}", "", "```text", signature(name.rpartition(".")[2], thing), "```", ""]
    text += [*paragraphs(thing.__doc__), ""]
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        own = {n: inspect.getattr_static(thing, n) for n in dir(thing) if not n.startswith("_")}
        purposes = by_purpose(thing)
        own = {n: own[n] for n in [*(n for n in purposes if n in own), *(n for n in own if n not in purposes)]}
        title = None
        fields = {f.name for f in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
        for member, value in own.items():
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            shown = (
                isinstance(value, property)
                or inspect.isfunction(value)
                or hasattr(value, "func")
                or hasattr(value, "quantity")
            )
            if shown and member not in fields and getattr(value, "__doc__", None):
                if purposes.get(member) != title:
                    title = purposes.get(member)
                    text += [f"**{(title or 'others').capitalize()}**", ""]
                text += described(f"{thing.__name__}.{member}", value, level + 1)
    return text


def by_purpose(kind: type) -> dict[str, str]:
    """Members of a class in the order of its source → the comment `# ---- purpose` that they stand below."""
    try:
        lines = inspect.getsource(kind).splitlines()
    except (OSError, TypeError):
        return {}
    found, title = {}, ""
    for line in lines:
        if heading := re.match(r"    # ---- (.*)", line):
            title = heading[1]
        elif (members := re.match(r"    (?:def )?([a-z]\w*(?:, \w+)*)(?:\(| = )", line)) and title:
            found |= dict.fromkeys(members[1].split(", "), title)
    return found


def signature(name: str, thing: Any) -> str:
    """The call on one line or several, without the robot itself and without what repeats in every quantity."""
    if not callable(thing):
        return name
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return f"{name}(…)"
    if parameters and parameters[0].name in ("self", "robot", "cls") and not inspect.isclass(thing):
        parameters = parameters[1:]
    words, starred = [], False
    for p in parameters:
        if p.kind is p.VAR_KEYWORD and p.name == "keywords":
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"={p.default!r}"
        kind = (
            ""
            if p.annotation is p.empty
            else f": {p.annotation if isinstance(p.annotation, str) else inspect.formatannotation(p.annotation)}"
        )
        words.append(f"{mark}{p.name}{kind}{default}")
    line = f"{name}({', '.join(words)})"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(words) + ",\n)"


def _annotation(kind: Any) -> str:
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def paragraphs(doc: str | None) -> list[str]:
    """A docstring as Markdown: paragraphs stay, what would be markup does not."""
    text = inspect.cleandoc(doc or "")
    return [re.sub(r"([<>*_\[\]|])", r"\\\1", line) if "`" not in line else line for line in text.splitlines()]


if __name__ == "__main__":
    write()
