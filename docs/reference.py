"""Writes the reference from the definitions: a page a room, each public object as a Python object that others can link.

A page has, for each object, its signature, its docstring, the parameters that the docstring explains as a list, and the
guides and examples that use it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import dalembert

HERE = Path(__file__).parent
# Rooms with a page each, then pages of objects by title; a public name that is on none of them goes to the last.
SPACES = (
    *("identify", "mechanism", "motion", "control", "optimal", "study", "learn", "audit", "pictures", "equations"),
    *("elements", "constraints", "integrators", "charts", "kinds", "math", "shapes", "collision"),
)
OBJECTS = {
    "Robot": ("Robot",),
    "Loading, building and editing": (
        *("load", "robots", "scene", "ModelBuilder", "ModelEditor", "Model", "Joint", "AxisJoint", "Inertia", "Pose"),
        *("Wrench", "Actuator", "BodyInfo", "FrameInfo", "JointInfo", "Finding", "compare", "Comparison", "Difference"),
        *("mass_properties", "MassProperties", "register_reader", "register_writer", "spatial"),
    ),
    "Simulation": (
        *("Contact", "Settings", "Run", "load_run", "Rollout", "Sampled", "Event", "Interrupted", "SimulationError"),
    ),
    "Logs": ("Log", "Trajectory", "read_log", "read_trajectory", "write_trajectory"),
    "Functions of your own": ("function", "quantity", "register_backend"),
    "Other": ("zero_moment_point", "DalembertError", "ImportFindingsWarning"),
}
MOST_PAGES = 4  # of those that an object is shown in


def write(folder: Path = HERE / "api") -> None:
    """All pages of the reference."""
    folder.mkdir(exist_ok=True)
    placed = {name for names in OBJECTS.values() for name in names}
    others = [n for n in dalembert.__all__ if n not in placed and n not in SPACES and n != "__version__"]
    pages = []
    for title, names in {**OBJECTS, "Other": (*OBJECTS["Other"], *others)}.items():
        text = [f"# {title}", ""]
        for name in names:
            if hasattr(dalembert, name):
                text += described(f"dalembert.{name}", getattr(dalembert, name))
        pages.append(_page(folder, title, text))
    for space in SPACES:
        module = getattr(dalembert, space, None)
        if isinstance(module, ModuleType):
            pages.append(_page(folder, f"dalembert.{space}", room(space, module)))
    head = ["# API reference", "", "Every public name, from its definition. Names of a room are below `dalembert`."]
    tree = ["", "```{toctree}", ":maxdepth: 1", "", *(f"api/{page}" for page in pages), "```", ""]
    (HERE / "api.md").write_text("\n".join([*head, *tree]), "utf-8")


def room(space: str, module: ModuleType) -> list[str]:
    """The page of a room: what it is for, and its public names."""
    text = [
        f"# dalembert.{space}",
        "",
        *paragraphs(module.__doc__),
        "",
        f"```{{py:module}} dalembert.{space}",
        "```",
        "",
    ]
    for name in getattr(module, "__all__", [n for n in dir(module) if not n.startswith("_")]):
        thing = getattr(module, name)
        if not isinstance(thing, ModuleType) and getattr(thing, "__module__", "").startswith("dalembert"):
            text += described(name, thing)
    return text


def _page(folder: Path, title: str, text: list[str]) -> str:
    name = re.sub(r"\W+", "_", title.lower())
    (folder / f"{name}.md").write_text("\n".join(text) + "\n", "utf-8")
    return name


def described(name: str, thing: Any) -> list[str]:
    """A public object as Markdown: what it is, and its public members under their purposes if it is a class."""
    if isinstance(thing, ModuleType):
        return directive("module", name, paragraphs(thing.__doc__))
    if not callable(thing):
        return directive("data", name, paragraphs(getattr(thing, "__doc__", "")))
    if not inspect.isclass(thing):
        return directive("function", name + signature(thing), explained(name, thing))
    kind = "exception" if issubclass(thing, BaseException) else "class"
    text = directive(kind, name + ("" if kind == "exception" else signature(thing)), explained(name, thing))
    if kind == "exception":
        return text
    title = None
    for member, value, purpose in members(thing):
        if purpose != title:
            title = purpose
            text += [f"## {title.capitalize()}", ""] if name == "dalembert.Robot" else []
        if isinstance(value, property):
            text += directive("property", f"{name}.{member}", paragraphs(value.__doc__))
        else:
            text += directive("method", f"{name}.{member}{signature(value)}", explained(f"{name}.{member}", value))
    return text


def members(kind: type) -> Iterator[tuple[str, Any, str]]:
    """(name, definition, purpose) of the public members of a class that have a docstring, in the order of its source.

    Those that it inherits from a class with an entry of its own stand there.
    """
    public = {id(thing) for thing in map(dalembert.__dict__.get, dalembert.__all__) if inspect.isclass(thing)}
    elsewhere = {n for base in kind.__mro__[1:] if id(base) in public for n in dir(base) if n not in vars(kind)}
    own = {n: inspect.getattr_static(kind, n) for n in dir(kind) if not n.startswith("_") and n not in elsewhere}
    purposes = by_purpose(kind)
    fields = {f.name for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for name in [*(n for n in purposes if n in own), *(n for n in own if n not in purposes)]:
        value = own[name].__func__ if isinstance(own[name], (staticmethod, classmethod)) else own[name]
        shown = (
            isinstance(value, property)
            or inspect.isfunction(value)
            or hasattr(value, "func")
            or hasattr(value, "quantity")
        )
        if shown and name not in fields and getattr(value, "__doc__", None):
            yield name, value, purposes.get(name) or "others"


def directive(kind: str, head: str, body: Sequence[str]) -> list[str]:
    """A Python object of Sphinx, which objects.inv lists."""
    fence = ":" * 3
    return [f"{fence}{{py:{kind}}} {head}", "", *body, fence, ""]


def by_purpose(kind: type) -> dict[str, str]:
    """Members of a class in the order of its source → the comment `# ---- purpose` that they stand below."""
    try:
        lines = inspect.getsource(kind).splitlines()
    except (OSError, TypeError):
        return {}
    purposes, title = {}, ""
    for line in lines:
        if heading := re.match(r"    # ---- (.*)", line):
            title = heading[1]
        elif (names := re.match(r"    (?:def )?([a-z]\w*(?:, \w+)*)(?:\(| = )", line)) and title:
            purposes |= dict.fromkeys(names[1].split(", "), title)
    return purposes


def parameters(thing: Any) -> list[inspect.Parameter]:
    """The parameters of a call, without the robot itself and without `**keywords`, which repeat in every quantity."""
    try:
        all_of_them = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return []
    if all_of_them and all_of_them[0].name in ("self", "robot", "cls") and not inspect.isclass(thing):
        all_of_them = all_of_them[1:]
    return [p for p in all_of_them if not (p.kind is p.VAR_KEYWORD and p.name == "keywords")]


def signature(thing: Any) -> str:
    """(parameters) of a call with types and defaults, on one line; defaults without a short text are `...`."""
    words, starred = [], False
    for p in parameters(thing):
        if p.kind is p.KEYWORD_ONLY and not starred:
            words.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if p.annotation is p.empty else f": {_type(p.annotation)}"
        words.append(f"{mark}{p.name}{kind}" + ("" if p.default is p.empty else f" = {_default(p.default)}"))
    return f"({', '.join(words)})"


def _default(x: Any) -> str:
    plain = isinstance(x, (bool, int, float, str, type(None))) or (isinstance(x, tuple) and len(repr(x)) < 40)
    return repr(x) if plain and "<" not in repr(x) else "..."


def _type(kind: Any) -> str:
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def explained(name: str, thing: Any) -> list[str]:
    """The docstring, sentences `parameter: …` as a list of parameters, and where the object is used."""
    names = [p.name for p in parameters(thing)]
    text, listed = paragraphs(thing.__doc__), []
    if names:
        body = "\n".join(text)
        # name: …, name (shape): …, name [unit]: …
        head = rf"({'|'.join(map(re.escape, names))})((?:, \w+)*(?: \\\[[^\]]*\\\]| \([^)]*\))?): "
        beginning = re.compile(rf"(?:(?<=[.;] )|(?<=\.\n)|^){head}", re.M)
        pieces = beginning.split(body)  # text before, then (name, shape or unit, text) again and again
        after = [(pieces[k] + pieces[k + 1], " ".join(pieces[k + 2].split())) for k in range(1, len(pieces), 3)]
        if after:
            text = pieces[0].rstrip().split("\n")
            listed = ["", "**Parameters**", "", *(f"- **{head}**: {words}" for head, words in after)]
    pages = [f"[{title}](../{page})" for page, title in shown_in(name.rpartition(".")[2])]
    return [*text, *listed, *(["", f"Shown in {', '.join(pages)}."] if pages else []), ""]


@cache
def _guides() -> tuple[tuple[str, str, str], ...]:
    """(path, title, code) of each guide."""
    guides = []
    for page in sorted(HERE.glob("*.md")):
        text = page.read_text("utf-8")
        code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M))
        if code and page.name not in ("index.md", "api.md"):
            guides.append((page.name, text.partition("\n")[0].lstrip("# "), code))
    return tuple(guides)


@cache
def shown_in(name: str) -> tuple[tuple[str, str], ...]:
    """(path, title) of the guides whose code uses a name, those that use it most first."""
    use = re.compile(rf"\b{re.escape(name)}\(")
    counts = [(len(use.findall(code)), page, title) for page, title, code in _guides()]
    most = sorted((c for c in counts if c[0]), key=lambda c: -c[0])[:MOST_PAGES]
    return tuple((page, title) for _, page, title in most)


def paragraphs(doc: str | None) -> list[str]:
    """A docstring as Markdown: paragraphs stay, what would be markup does not."""
    text = inspect.cleandoc(doc or "")
    return [re.sub(r"([<>*_\[\]|])", r"\\\1", line) if "`" not in line else line for line in text.splitlines()]


if __name__ == "__main__":
    write()
