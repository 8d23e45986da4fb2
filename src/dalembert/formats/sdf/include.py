"""<include> of SDF: models in other local files. Nothing is ever fetched from a network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from ..resources import SEARCHED, Resources
from ..xml import children, parse, tag_of
from .source import Element, SdfFile, content, version_of

MOST = 200  # included files of one robot; a bomb of includes would have more
SCHEMES = ("model://", "package://")
IN_INCLUDE = {"uri", "name", "pose", "static", "placement_frame"}


@dataclass
class Includes:
    """How many files have been included so far."""

    count: int = 0


def included(source: SdfFile, element: Element, includes: Includes) -> tuple[SdfFile, Element]:
    """The file an <include> names, and the one <model> in it."""
    source.report(element, tags=IN_INCLUDE, attributes={"merge"}, idle={"plugin"}, why="not used: it is a plugin")
    uri = source.word(element, "uri")
    if uri is None:
        raise source.error(element, "has no <uri>; add <uri>model://name</uri> or the path of a file")
    place = locate(source, uri)
    if place is None:
        raise source.error(element, _not_found(source, uri))
    path = _model_file(source, element, place)
    if path in source.chain:
        raise source.error(element, f"'{uri}' includes itself; remove the ring")
    includes.count += 1
    if includes.count > MOST:
        raise source.error(element, f"more than {MOST} files are included; join them into one model")
    document = parse(path)
    if tag_of(document.root) != "sdf":
        raise document.error(document.root, f"the included file holds <{tag_of(document.root)}>, expected <sdf>")
    version = version_of(document, source.ledger)
    inner = replace(source, document=document, version=version, folder=path.parent, chain=(*source.chain, path))
    models = [child for child in children(document.root) if tag_of(child) == "model"]
    if len(models) != 1:
        raise document.error(document.root, f"the included file has {len(models)} models, expected one")
    source.ledger.info(source.where(element), f"included '{uri}'", f"read from {path}")
    return inner, models[0]


def locate(source: SdfFile, uri: str) -> Path | None:
    """The local file or folder a URI names, or None: never an address in a network."""
    found = Resources(source.folder).find(uri, folders=True)
    return None if found is None else Path(found).resolve()


def _not_found(source: SdfFile, uri: str) -> str:
    if "://" in uri and not uri.startswith(("file://", *SCHEMES)):
        return f"'{uri}' is on the network, and nothing is downloaded; download the model and give its path"
    if source.folder is None and not uri.startswith(SCHEMES):
        return f"'{uri}' is relative to a file, and this is text; load it from a file"
    known = f"beside the file, in a folder above it, or in {', '.join(variable for variable, _ in SEARCHED)}"
    return f"'{uri}' does not exist; put it {known}" if uri.startswith(SCHEMES) else f"'{uri}' does not exist; check it"


def _model_file(source: SdfFile, element: Element, path: Path) -> Path:
    """The SDF file itself; of a folder, the one its model.config names for the newest version, else model.sdf."""
    if not path.is_dir():
        return path
    config = path / "model.config"
    names: list[tuple[str, str]] = []
    if config.is_file():
        root: etree._Element = parse(config).root
        names = [(child.get("version") or "", content(child)) for child in children(root) if tag_of(child) == "sdf"]
    name = max(names, key=_order)[1] if names else "model.sdf"
    if not (path / name).is_file():
        raise source.error(element, f"the folder '{path.name}' has no {name}; give the path of the SDF file")
    return (path / name).resolve()


def _order(entry: tuple[str, str]) -> list[int]:
    return [int(part) for part in entry[0].split(".") if part.isascii() and part.isdigit()]
