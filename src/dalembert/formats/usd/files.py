"""Files of a stage: checked before USD opens them, so that bombs, rings and strange paths are errors with a name."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import LISTED, DalembertError

from ..ledger import Ledger

ENDINGS = (".usd", ".usda", ".usdc", ".usdz")
MAX_BYTES = 256 * 2**20  # of one file, and of what a .usdz holds: stages carry their meshes
MAX_LAYERS = 1000  # files of one stage
MAX_ENTRIES = 10_000  # of a .usdz
DENSEST = 1100  # items for each byte of a section of a binary file: the most that its compression can hold
MAX_NESTING = 500  # of braces in text
MAGIC = {b"PXR-USDC": "crate", b"#usda": "text", b"PK\x03\x04": "package"}
INSTALL = "USD needs OpenUSD: pip install 'dalembert[usd]'"


class OpenedStage(NamedTuple):
    """An opened stage, its file, and what USD said while it opened it."""

    stage: Any
    path: Path
    diagnostics: Any


def library() -> Any:
    """The module `pxr`, with its parts loaded."""
    try:
        import pxr
        from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade, UsdUtils  # noqa: F401
    except ImportError:
        raise DalembertError(INSTALL) from None
    return pxr


def open_stage(path: str | os.PathLike[str], ledger: Ledger) -> OpenedStage:
    """Open a file and all that it references, with missing files as warnings."""
    file = Path(path)
    _check(file, str(path))
    pxr = library()
    said = pxr.UsdUtils.CoalescingDiagnosticDelegate()
    with errors_named(file, str(path)):
        _crawl(pxr, file, str(path))
        stage = pxr.Usd.Stage.Open(str(file))
    _report_composition(pxr, stage, str(path), ledger)
    return OpenedStage(stage, file, said)


@contextmanager
def errors_named(file: Path, label: str) -> Iterator[None]:
    """Turn errors of USD's library, at whatever a damaged file makes it stumble, into one with a name."""
    try:
        yield
    except (library().Tf.ErrorException, UnicodeError, RuntimeError, OverflowError) as error:
        if isinstance(error, DalembertError):
            raise
        reason = _reason(error).removeprefix(f"{file.absolute()}:").removeprefix(f"{file}:")
        raise DalembertError(f"{label}: {reason}; export the file again") from None


def _check(file: Path, label: str) -> None:
    """Raise at a file that is none, too large, or not USD."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DalembertError(f"{label}: not a regular file; give the path of a USD file")
        if status.st_size > MAX_BYTES:
            raise DalembertError(f"{label}: {status.st_size} bytes is more than the {MAX_BYTES} that are accepted")
        with file.open("rb") as stream:
            head = stream.read(8)
    except FileNotFoundError:
        raise DalembertError(f"{label}: no such file; check the path (working directory: {Path.cwd()})") from None
    except (OSError, ValueError) as error:
        if isinstance(error, DalembertError):
            raise
        raise DalembertError(f"{label!r}: cannot be read: {error}") from None
    if not head.strip():
        raise DalembertError(f"{label}: the file is empty; export the stage again")
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    if kind is None:
        raise DalembertError(f"{label}: not USD: expected #usda, PXR-USDC or a .usdz package")
    if kind == "package":
        _check_package(file, label)
    elif kind == "crate":
        _check_crate(file.read_bytes(), label)
    elif kind == "text":
        _check_nesting(file.read_bytes(), label)


def _check_package(file: Path, label: str) -> None:
    """A .usdz holds plain files one after the other: nothing compressed, no paths that lead out of it."""
    try:
        with zipfile.ZipFile(file) as package:
            entries = package.infolist()
            for entry in entries:
                parts = re.split(r"[/\\]", entry.filename)
                if entry.filename.startswith(("/", "\\")) or ".." in parts or ":" in entry.filename:
                    raise DalembertError(
                        f"{label}: entry {entry.filename[:60]!r} leads out of the package; make it anew"
                    )
                if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                    raise DalembertError(
                        f"{label}: entry {entry.filename[:60]!r} is compressed or encrypted, which USDZ forbids; "
                        "make the package anew with usdzip"
                    )
            total = sum(entry.file_size for entry in entries)
            if total > MAX_BYTES or len(entries) > MAX_ENTRIES:
                raise DalembertError(
                    f"{label}: {len(entries)} files with {total} bytes, more than the {MAX_ENTRIES} files and "
                    f"{MAX_BYTES} bytes that are accepted"
                )
            for entry in entries:
                data = package.read(entry) if entry.filename.lower().endswith(ENDINGS) else b""
                inside = f"{label}[{entry.filename}]"
                if data.startswith(b"PXR-USDC"):
                    _check_crate(data, inside)
                elif data.startswith(b"#usda"):
                    _check_nesting(data, inside)
    except (zipfile.BadZipFile, OSError, NotImplementedError, EOFError) as error:
        raise DalembertError(f"{label}: not a .usdz package: {error}; export it again") from None


def _check_crate(data: bytes, label: str) -> None:
    """Raise at a binary file whose table of sections or counts cannot be: USD would make room for them first."""
    try:
        (start,) = struct.unpack_from("<q", data, 16)
        (count,) = struct.unpack_from("<Q", data, start) if start >= 24 else (0,)
        sections = [struct.unpack_from("<16sqq", data, start + 8 + 32 * k) for k in range(min(count, 64))]
        sound = 0 < count <= 64
        for name, at, size in sections:
            (items,) = struct.unpack_from("<Q", data, at) if size >= 8 and at >= 0 else (0,)
            sound &= at >= 0 and 0 <= size <= len(data) - at and items <= DENSEST * size
            if name.startswith(b"TOKENS"):
                sound &= struct.unpack_from("<Q", data, at + 8)[0] <= DENSEST * size
    except struct.error:
        sound = False
    if not sound:
        raise DalembertError(f"{label}: the table of its sections is damaged or cut off; export the file again")


def _check_nesting(text: bytes, label: str) -> None:
    letters = np.frombuffer(text, np.uint8)
    depth = sum(
        int(np.max(np.cumsum((letters == ord(opens)).astype(np.int64) - (letters == ord(closes))), initial=0))
        for opens, closes in ("{}", "[]", "()")
    )
    if depth > MAX_NESTING:
        raise DalembertError(f"{label}: braces nest {depth} deep, more than the {MAX_NESTING} that are accepted")


def _crawl(pxr: Any, file: Path, label: str) -> None:
    """Raise at references that lead far outside, or are too many or too large; networks are never asked."""
    waiting, seen, home = [file.resolve()], set(), file.resolve().parent.parent
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if len(seen) > MAX_LAYERS:
            raise DalembertError(f"{label}: more than {MAX_LAYERS} files reference each other; flatten the stage")
        if path != file.resolve():
            _check(path, str(path))
        layer = pxr.Sdf.Layer.FindOrOpen(str(path))
        for asset in layer.GetCompositionAssetDependencies() if layer else []:
            found = None if "://" in asset else layer.ComputeAbsolutePath(asset)
            if found and os.path.isfile(found):
                inside = Path(found).resolve()
                if not inside.is_relative_to(home):
                    cure = "lies outside the folder above the stage's; copy it beside the stage"
                    raise DalembertError(f"{path}: file '{asset[:80]}' {cure}")
                waiting.append(inside)


def _reason(error: Exception) -> str:
    """The first thing that USD says in an error, without the places in its own source."""
    try:
        said = str(error)
    except UnicodeError:
        return "it holds text that is not UTF-8"
    lines = re.findall(r"in file \S+ : '(.*?)'\n?(?=\t|\Z)", said, flags=re.DOTALL)
    text = " ".join((lines[0] if lines else said).split())
    text = re.sub(r"parse error matching .*", "it is not USD text from there on", text)
    return re.sub(r" See the OpenUSD FAQ.*", "", text)[:300].rstrip(" '.")


def _report_composition(pxr: Any, stage: Any, label: str, ledger: Ledger) -> None:
    """References that are missing are warnings; rings are errors."""
    missing: dict[str, str] = {}
    for error in stage.GetCompositionErrors():
        text = " ".join(str(error).split())
        if "Cycle" in type(error).__name__:
            raise DalembertError(f"{label}: {text[:300]}; remove the ring of references")
        missing.setdefault(re.sub(r"^In <[^>]*>: ", "", text), text)
    for what in list(missing)[: 4 * LISTED]:
        ledger.warning(label, what[:300].rstrip("."), "left out, with all that it holds")
