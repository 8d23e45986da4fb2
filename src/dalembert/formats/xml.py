"""Hardened XML: bytes from a file or a string become an element tree, or one clear error.

No DOCTYPE, so no entities; nothing is fetched; size and depth are bounded before anything walks the tree.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from lxml import etree

from dalembert.errors import DalembertError

MAX_BYTES = 64 * 2**20
"""Largest file that is parsed [bytes]; robot descriptions stay under 1 MB, meshes are separate files."""
MAX_DEPTH = 100
"""Deepest nesting of elements unless the format nests bodies; URDF needs 6, simulator extensions inside it about 15."""

LARGEST = 1e30
"""Largest number that can be a length, mass, inertia or coefficient in SI; more would only overflow later."""

STRING, BYTES = "<string>", "<bytes>"
"""Labels of text that did not come from a file."""

LIKE = 0.65
"""Ratio of difflib from which words are alike: "xzy" and "xyz", "limits" and "limit"; no vendors' extensions."""

UNEXPANDED = "is an unexpanded xacro expression; name the file .urdf.xacro, or expand it first: xacro in > out.urdf"

# Python's float() also takes "nan", "1_000" and blanks; a robot file must not.
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)
_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?(?P<before>\s*)<\?xml\s+version\s*=\s*["'](?P<version>[^"'?]*)["']"""
    rb"""(?:\s+encoding\s*=\s*["'](?P<encoding>[^"'?]*)["'])?[^>]*\?>"""
)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Document:
    """A parsed file: its label for messages, its root element, and the folder it lies in (None: text)."""

    label: str
    root: etree._Element
    folder: Path | None = None

    def where(self, element: etree._Element) -> str:
        """File, line and element, as in "arm.urdf:12 <joint name='elbow'>"."""
        name = element.get("name")
        tag = f"<{tag_of(element)} name='{_clip(name)}'>" if name is not None else f"<{tag_of(element)}>"
        return f"{self.label}:{element.sourceline} {tag}"

    def error(self, element: etree._Element, message: str) -> DalembertError:
        """The error of one element, with its place in front."""
        return DalembertError(f"{self.where(element)}: {message}")

    def text(self, element: etree._Element, attribute: str) -> str:
        """A required attribute that must not be blank."""
        value = element.get(attribute)
        if value is None or not value.strip():
            state = "is missing" if value is None else "is empty"
            raise self.error(element, f"attribute '{attribute}' {state}; write {attribute}=\"…\"")
        return value

    def number(
        self, element: etree._Element, attribute: str, default: float | None = None, *, largest: float = LARGEST
    ) -> float:
        """A finite number; `default` when the attribute is absent, an error when there is none."""
        value = element.get(attribute)
        if value is None and default is not None:
            return default
        return self._float(element, attribute, self.text(element, attribute).strip(), largest)

    def triple(self, element: etree._Element, attribute: str) -> tuple[float, float, float]:
        """Three finite numbers separated by white space; (0, 0, 0) when the attribute is absent."""
        if element.get(attribute) is None:
            return 0.0, 0.0, 0.0
        x, y, z = self.numbers(element, attribute, 3)
        return x, y, z

    def numbers(
        self, element: etree._Element, attribute: str, count: int | None = None, *, largest: float = LARGEST
    ) -> tuple[float, ...]:
        """`count` finite numbers separated by white space; one or more if count is None."""
        value = self.text(element, attribute) if count is None else element.get(attribute, "")
        words = value.split()
        if count is not None and len(words) != count:
            what = UNEXPANDED if _is_xacro(value) else f"has {len(words)} numbers, expected {count}"
            raise self.error(element, f'attribute {attribute}="{_clip(value)}" {what}')
        return tuple(self._float(element, attribute, word, largest) for word in words)

    def _float(self, element: etree._Element, attribute: str, word: str, largest: float = LARGEST) -> float:
        return self.real(element, f"attribute {attribute}", word, largest)

    def real(self, element: etree._Element, what: str, word: str, largest: float = LARGEST) -> float:
        """A finite number from one word; `what` says in the error which number it is."""
        if len(word) > 400 or not _NUMBER.match(word):
            if _NOT_FINITE.match(word):
                cure = "is not finite; write a finite number (for no limit leave it out)"
            elif _is_xacro(word):
                cure = UNEXPANDED
            else:
                cure = "is not a number; write it like 0.25 or -1e-3"
            raise self.error(element, f"{what}: '{_clip(word)}' {cure}")
        value = float(word)
        if abs(value) > largest:
            raise self.error(element, f"{what}: {_clip(word)} is too large, expected at most {largest:g}")
        return value


def _is_xacro(text: str) -> bool:
    return "${" in text or "$(" in text


def tag_of(element: etree._Element) -> str:
    """The element's name without its namespace."""
    tag = str(element.tag)
    return tag.rpartition("}")[2] if tag[0] == "{" else tag


def children(element: etree._Element) -> Iterator[etree._Element]:
    """The child elements: comments and processing instructions are skipped."""
    return element.iterchildren("*")


def parse(
    source: str | bytes | os.PathLike[str], *, size_limit: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> Document:
    """Parse a path, or XML text given as a string that starts with "<".

    Raises DalembertError for anything that is not one well-formed, DOCTYPE-free XML document.
    """
    label, data = _bytes_of(source, size_limit)
    if not data.strip():
        raise DalembertError(f"{label}: the file is empty; export the robot description again")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:1024]:
        raise DalembertError(f"{label}: not UTF-8 text (binary data or UTF-16); save the file as UTF-8 XML")
    _refuse_doctype(label, data)
    root = _root(label, _without_odd_declaration(data), force_utf8=isinstance(source, str) and is_xml(source))
    if root.getroottree().docinfo.doctype:
        raise _doctype_error(label)
    _refuse_depth(label, root, max_depth)
    return Document(label, root, None if label in (STRING, BYTES) else Path(label).parent)


def is_xml(source: str) -> bool:
    """Whether a string is XML text rather than a path."""
    return source.lstrip("\ufeff \t\r\n").startswith("<")


def root_tag(text: str) -> str:
    """The name of the first element in XML text, behind declarations and comments; "" if there is none."""
    at = 0
    while True:
        at = text.find("<", at)
        closing = {"<?": "?>", "<!": "-->"}.get(text[at : at + 2])
        if at < 0 or closing is None:
            break
        at = text.find(closing, at + 2)
        if at < 0:
            break
    match = re.match(r"<([\w.-]+)", text[at : at + 100]) if at >= 0 else None
    return match.group(1) if match else ""


def _bytes_of(source: str | bytes | os.PathLike[str], size_limit: int) -> tuple[str, bytes]:
    """Label and content of a path or of text; refuses by size before anything is read or parsed."""
    if not isinstance(source, str) or not is_xml(source):
        return read_bytes(source, size_limit)
    try:
        data = source.lstrip("\ufeff \t\r\n").encode()
    except UnicodeEncodeError as error:
        raise DalembertError(f"{STRING}: the text holds characters that are not Unicode: {error}") from None
    if len(data) > size_limit:
        raise _size_error(STRING, len(data), size_limit)
    return STRING, data


def read_bytes(source: str | bytes | os.PathLike[str], size_limit: int) -> tuple[str, bytes]:
    """Label and content of a file, or of bytes."""
    if isinstance(source, bytes):
        label, data = BYTES, source
    elif isinstance(source, str | os.PathLike):
        label, data = str(source), _read(Path(source), size_limit)
    else:
        raise DalembertError(f"expected a path or XML text, got {type(source).__name__}")
    if len(data) > size_limit:
        raise _size_error(label, len(data), size_limit)
    return label, data


def _read(path: Path, size_limit: int) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or device could block or never end
            raise DalembertError(f"{path}: not a regular file; give the path of a robot description")
        if status.st_size > size_limit:
            raise _size_error(str(path), status.st_size, size_limit)
        with path.open("rb") as file:
            return file.read(size_limit + 1)
    except FileNotFoundError:
        raise DalembertError(f"{path}: no such file; check the path (working directory: {Path.cwd()})") from None
    except (OSError, ValueError) as error:
        if isinstance(error, DalembertError):
            raise
        raise DalembertError(f"{str(path)!r}: cannot be read: {error}") from None


def _size_error(label: str, size: int, limit: int) -> DalembertError:
    return DalembertError(
        f"{label}: {size} bytes is more than the {limit} that are accepted; keep meshes and data in separate files"
    )


def _doctype_error(label: str) -> DalembertError:
    return DalembertError(
        f"{label}: the file has a DOCTYPE, which robot files never need and which can hide entity bombs or "
        "external files; remove the <!DOCTYPE …> declaration"
    )


def _refuse_doctype(label: str, data: bytes) -> None:
    """Walk the prolog by hand, so that no entity declaration ever reaches the parser."""
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while True:
        while data[at : at + 1].isspace():
            at += 1
        closing = {b"<?": b"?>", b"<!": b"-->"}.get(data[at : at + 2])
        if data[at : at + 9].upper() == b"<!DOCTYPE":
            raise _doctype_error(label)
        end = data.find(closing, at + 2) if closing else -1
        if end < 0:
            return
        at = end + len(closing or b"")


def _without_odd_declaration(data: bytes) -> bytes:
    """The text without an XML declaration that is not the first thing in it, or whose version is not 1.x.

    Exporters write both, and it says nothing about the robot. Line breaks stay, so that lines keep their numbers.
    """
    match = _DECLARATION.match(data)
    if match is None or (not match["before"] and match["version"].startswith(b"1.")):
        return data
    encoding = (match["encoding"] or b"utf-8").lower()
    if encoding not in (b"utf-8", b"us-ascii", b"ascii"):
        return data
    return b"\n" * match[0].count(b"\n") + data[match.end() :]


def _parser(*, force_utf8: bool, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        recover=recover,
        encoding="utf-8" if force_utf8 else None,
    )


def _root(label: str, data: bytes, *, force_utf8: bool) -> etree._Element:
    parser = _parser(force_utf8=force_utf8)
    try:
        return etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError, LookupError) as error:
        log = list(parser.error_log)
        if log and all(entry.type_name == "NS_ERR_UNDEFINED_NAMESPACE" for entry in log):
            # Old simulator extensions use prefixes they never declare; the document is well-formed otherwise.
            return etree.fromstring(data, _parser(force_utf8=force_utf8, recover=True))
        line = f":{error.lineno}" if isinstance(error, etree.XMLSyntaxError) and error.lineno else ""
        reason = re.sub(r", line \d+, column \d+.*|\s+$", "", str(error), flags=re.DOTALL)
        raise DalembertError(
            f"{label}{line}: not well-formed XML: {reason}; correct the file or export it again"
        ) from None


def _refuse_depth(label: str, root: etree._Element, most: int) -> None:
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > most:
            raise DalembertError(f"{label}:{element.sourceline}: elements nest deeper than {most} levels")


def _clip(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def meant_by(word: str, known: Iterable[str]) -> str:
    """The known word that a misspelt one is meant to be; "" where none is similar."""
    matches = get_close_matches(word.lower(), sorted(known), n=1, cutoff=LIKE)
    return matches[0] if matches else ""
