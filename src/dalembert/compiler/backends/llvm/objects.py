"""External needs of an object file: the undefined symbols of ELF (Linux), Mach-O (macOS) and COFF (Windows)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

MARKS = {"_fltused"}  # Windows' mark for "this code uses floating point", which is never called
# All that kernels may call. What else turned up would be a change of the emitter, or of LLVM, that must be examined.
# fma, rint: of processors without such an instruction; __chkstk: large stack frames on Windows.
EXPECTED = {"sin", "cos", "fma", "fmaf", "rint", "rintf", "memset", "memcpy", "malloc", "free", "__chkstk"}


def undefined(code: bytes) -> set[str]:
    """Names of the functions and data that the object takes from elsewhere, as C spells them."""
    if code[:4] == b"\x7fELF":
        return {name for name in _elf(code) if name}
    if code[:4] == b"\xcf\xfa\xed\xfe":
        return {name.removeprefix("_") for name in _macho(code)}
    return set(_coff(code)) - MARKS


def _text(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()


def _elf(code: bytes) -> Iterator[str]:
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections + k * size) for k in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in headers:
        if kind != 2:  # SHT_SYMTAB
            continue
        names = headers[link][4]
        for at in range(offset, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if section == 0:
                yield _text(code, names + name)


def _macho(code: bytes) -> Iterator[str]:
    (commands,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:  # LC_SYMTAB
            symbols, count, names, _ = struct.unpack_from("<IIII", code, at + 8)
            for k in range(count):
                name, kind, _, _, _ = struct.unpack_from("<IBBHQ", code, symbols + 16 * k)
                if kind & 0x0E == 0 and kind & 1:  # N_UNDF, N_EXT
                    yield _text(code, names + name)
        at += size


def _coff(code: bytes) -> Iterator[str]:
    table, count = struct.unpack_from("<II", code, 8)
    names, k = table + 18 * count, 0
    while k < count:
        at = table + 18 * k
        short, long, value, section, _, storage, extra = struct.unpack_from("<IIIhHBB", code, at)
        if section == 0 and storage == 2 and value == 0:  # external, not defined here
            yield code[at : at + 8].rstrip(b"\0").decode() if short else _text(code, names + long)
        k += 1 + extra
