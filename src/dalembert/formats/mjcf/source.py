"""The text of an MJCF file before MuJoCo's compiler sees it: includes put in place, sizes bounded, lines remembered.

Elements that carry no dynamics (cameras, textures, …) are counted in the ledger and left out, so that nothing hostile
or missing in them can do harm; sensors are read by `sensors`. All others are rewritten, one tag per line: a line number
names its element.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias
from xml.sax.saxutils import quoteattr

from lxml import etree

from ..ledger import Ledger
from ..xml import Document, children, parse, tag_of

Element: TypeAlias = etree._Element
Place: TypeAlias = tuple[Document, Element]

MAX_DEPTH = 250
"""Deepest nesting, includes counted: a chain of bodies nests, and a snake robot has many."""
MAX_ELEMENTS = 10_000
"""Most elements after replication; large robots have a thousand."""
MAX_JOINTS = 1_000
"""Most joints after replication: the work of MuJoCo's compiler grows with their square."""
MAX_CELLS = 4_000_000
"""Most cells of a height field, or samples of any element with a count."""

LEFT_OUT = {
    "size": "memory of the simulator",
    "visual": "settings of the renderer",
    "statistic": "settings of the renderer",
    "custom": "user data",
    "texture": "it carries no dynamics",
    "skin": "it carries no dynamics",
    "camera": "it carries no dynamics",
    "light": "it carries no dynamics",
    "layer": "it carries no dynamics",
}
GROUPS = {"visual", "custom"}  # their children are counted, not they themselves
COUNTS = {"count", "nrow", "ncol", "nsample", "actdim", "params"}
DEFORMABLE = {"flexcomp", "flex", "composite"}
NAMES = {
    "body", "body1", "body2", "childclass", "class", "cranksite", "file", "geom", "geom1", "geom2", "hfield",
    "instance", "joint", "joint1", "joint2", "jointinparent", "key", "material", "mesh", "model", "name", "plugin",
    "prefix", "refsite", "sidesite", "site", "site1", "site2", "slidersite", "target", "tendon", "tendon1", "tendon2",
    "value",
}  # fmt: skip
"""Attributes that hold words: "nan" is a legal word there."""
_NOT_FINITE = re.compile(r"(?:^|\s)[+-]?(?:nan|inf|infinity)(?:\(\w*\))?(?:\s|$)", re.IGNORECASE)


@dataclass
class MjcfSource:
    """An MJCF file ready for the compiler: line n of `text` holds the element `places[n - 1]`."""

    document: Document
    folder: Path | None  # where assets are looked up; None for text that has no file
    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    elements: list[Place] = field(default_factory=list)  # each once, in the order of the text
    included: set[Path] = field(default_factory=set)
    keys: list[Place] = field(default_factory=list)  # of <keyframe>, withheld from MuJoCo's compiler
    sensors: list[Place] = field(default_factory=list)  # likewise

    @property
    def text(self) -> str:
        """The text for MuJoCo's compiler."""
        return "\n".join(self.lines)

    @cached_property
    def attaches(self) -> bool:
        """Whether other models are attached, with line numbers and folders unrelated to this file's."""
        return any(tag_of(element) == "attach" for _, element in self.elements)

    def place(self, line: int) -> Place:
        """The element on a line of the text; the root for a line number out of range."""
        return self.places[line - 1] if 1 <= line <= len(self.places) else (self.document, self.document.root)

    def first(self, *tags: str) -> str:
        """File and line of the first element with one of these tags, the root's when there is none."""
        places = (place for place in self.elements if tag_of(place[1]) in tags)
        document, element = next(places, (self.document, self.document.root))
        return document.where(element)


def read_source(source: str | bytes | os.PathLike[str], ledger: Ledger, above: Iterable[Path] = ()) -> MjcfSource:
    """Parse an MJCF file or text with everything it includes; see the module. above: files not to include again."""
    document = parse(source, max_depth=MAX_DEPTH)
    check_root(document)
    named = document.label not in ("<string>", "<bytes>")
    read = MjcfSource(document, Path(document.label).parent if named else None)
    read.included.update(above)
    if named:
        read.included.add(Path(document.label).resolve())
    _refuse_masses(document, document.root)
    _write(read, document, document.root, 0, ledger)
    _refuse_sizes(read)
    return read


def check_root(document: Document) -> None:
    """Raise unless the root is <mujoco>."""
    tag = tag_of(document.root)
    if tag == "mujocoinclude":
        raise document.error(document.root, "this is a part for other files to include; load the file that includes it")
    if tag != "mujoco":
        kinds = {"robot": " (this is URDF: name it .urdf)", "sdf": " (this is SDF)", "html": " (this is a web page)"}
        raise document.error(
            document.root, f"the root element is <{tag}>{kinds.get(tag, '')}, expected <mujoco>; give an MJCF file"
        )


def _write(source: MjcfSource, document: Document, element: Element, depth: int, ledger: Ledger) -> None:
    """Append the element and its children, one tag per line."""
    tag = tag_of(element)
    if depth > MAX_DEPTH:
        raise document.error(element, f"elements nest deeper than {MAX_DEPTH} levels, includes counted")
    if len(source.lines) > 2 * MAX_ELEMENTS:
        raise document.error(element, f"more than {MAX_ELEMENTS} elements, includes counted; split the model")
    if tag == "include":
        _include(source, document, element, depth, ledger)
        return
    if tag == "keyframe" and depth > 0:
        source.keys += [(document, one) for one in children(element) if tag_of(one) == "key"]
        return
    if tag == "sensor" and depth > 0:
        source.sensors += [(document, one) for one in children(element)]
        return
    if tag in LEFT_OUT and depth > 0:
        for one in list(children(element)) if tag in GROUPS else [element]:
            what = f"<{tag}>" if one is element else f"element of <{tag}>"
            ledger.count(document.where(one), what, f"passed over: {LEFT_OUT[tag]}")
        return
    if tag in DEFORMABLE:
        raise document.error(element, "a deformable body cannot be part of a tree of rigid ones; remove it")
    _refuse_not_finite(document, element)
    attributes = {str(key).rpartition("}")[2]: " ".join(str(value).split()) for key, value in element.attrib.items()}
    if tag == "material":
        attributes.pop("texture", None)
    elif tag == "model" and element.get("file"):  # a file that MuJoCo opens itself: only harmless XML may reach it
        path = _inside(source, document, element)
        _refuse_again(source, document, element, path)
        read_source(path, Ledger(), source.included)
        attributes["file"] = str(path.resolve())
    words = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    source.lines.append(f"<{tag}{words}>")
    source.places.append((document, element))
    source.elements.append((document, element))
    for child in children(element):
        _write(source, document, child, depth + 1, ledger)
    source.lines.append(f"</{tag}>")
    source.places.append((document, element))


def _include(source: MjcfSource, document: Document, element: Element, depth: int, ledger: Ledger) -> None:
    """Replace <include> by the children of the included file."""
    path = _inside(source, document, element)
    _refuse_again(source, document, element, path)
    source.included.add(path.resolve())
    part = parse(path, max_depth=MAX_DEPTH)
    if tag_of(part.root) not in ("mujoco", "mujocoinclude"):
        raise part.error(
            part.root, f"included in {document.where(element)}, but the root is <{tag_of(part.root)}>, not <mujoco>"
        )
    _refuse_masses(part, part.root)
    for child in children(part.root):
        _write(source, part, child, depth + 1, ledger)


def _refuse_again(source: MjcfSource, document: Document, element: Element, path: Path) -> None:
    if path.resolve() in source.included:
        raise document.error(element, f"'{path}' is included twice, or includes itself; include it once")


def _inside(source: MjcfSource, document: Document, element: Element) -> Path:
    """The file that an element names: as in MuJoCo, beside the main file or beside the file that names it; no other."""
    stated = document.text(element, "file").strip()
    home = source.folder or Path()
    beside = Path(document.label).parent if source.folder is not None else home
    if Path(stated).is_absolute() or ":" in stated or "\0" in stated:
        raise document.error(element, f"file '{stated[:60]}' is not a relative path; put the file beside the model")
    path = home / stated if (home / stated).is_file() else beside / stated
    try:
        within = path.resolve().is_relative_to(home.resolve().parent)
    except (OSError, RuntimeError):
        within = False
    if not within:
        raise document.error(
            element, f"file '{stated[:60]}' lies outside the folder above the model's; copy it beside the model"
        )
    if not path.is_file():
        raise document.error(element, f"there is no file '{stated[:60]}' in {home.resolve()}; correct the name")
    return path


def _refuse_not_finite(document: Document, element: Element) -> None:
    for key, value in element.attrib.items():
        if key not in NAMES and _NOT_FINITE.search(str(value)):
            raise document.error(element, f'{key}="{str(value)[:60]}" is not finite; write finite numbers')


def _refuse_masses(document: Document, root: Element) -> None:
    """Raise when <replicate> would expand a short text into more than MAX_ELEMENTS elements."""
    sizes: dict[Element, tuple[int, int]] = {}  # element → number of elements and joints it expands to
    for _, element in etree.iterwalk(root, events=("end",)):
        if not isinstance(element.tag, str):
            continue
        inside = [sizes.pop(child) for child in children(element)]
        count = _count(document, element)
        total = count * (1 + sum(one[0] for one in inside))
        joints = count * (int(tag_of(element) in ("joint", "freejoint")) + sum(one[1] for one in inside))
        if total > MAX_ELEMENTS or (joints > MAX_JOINTS and tag_of(element) not in ("equality", "default")):
            raise document.error(
                element,
                f"describes {total} elements with {joints} joints, more than the {MAX_ELEMENTS} and {MAX_JOINTS} that "
                "are accepted; reduce its count, or split the model",
            )
        sizes[element] = total, joints


def _count(document: Document, element: Element) -> int:
    """The number of copies of an element."""
    count = str(element.get("count", "1")) if tag_of(element) == "replicate" else "1"
    try:
        return max(1, min(int(float(count)), MAX_CELLS))
    except (ValueError, OverflowError):
        raise document.error(element, f"count: '{count[:60]}' is not a whole number") from None


def _refuse_sizes(source: MjcfSource) -> None:
    """Raise at sizes for which MuJoCo would allocate huge arrays."""
    for document, element in source.elements:
        product = 1.0
        for key in COUNTS & {str(key) for key in element.attrib}:
            for word in str(element.get(key)).split():
                try:
                    product *= max(1.0, float(word))
                except ValueError:
                    continue  # MuJoCo reports the error
        if not product <= MAX_CELLS:
            sizes = ", ".join(sorted(COUNTS & {str(key) for key in element.attrib}))
            raise document.error(element, f"{sizes}: {product:g} cells, more than the {MAX_CELLS} that are accepted")
