"""Which folder holds compiled code, and when it is not to be trusted or cannot be used."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from robust import processes

CODE = """
import warnings, numpy as np
from dalembert import load
r = load("2r")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    torque = r.gravity([0.5, 0.3])
assert np.isfinite(torque).all() and abs(torque[0]) > 1e-3
for warning in seen:
    print(warning.message)
"""
HAS_OWNERS = hasattr(os, "chown") and os.name == "posix"
AS_ROOT = HAS_OWNERS and os.geteuid() == 0
NOBODY = 65534


def files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def test_xdg_cache_home(tmp_path):
    assert processes.run(CODE, XDG_CACHE_HOME=str(tmp_path), DALEMBERT_CACHE=None)[0] == ""
    assert files(tmp_path / "dalembert")


@pytest.mark.parametrize("xdg", [None, ""])
def test_home(tmp_path, xdg):
    assert processes.run(CODE, HOME=str(tmp_path), XDG_CACHE_HOME=xdg, DALEMBERT_CACHE=None)[0] == ""
    assert files(tmp_path / ".cache" / "dalembert")


def test_nobody_s_home(tmp_path):
    """A user without a home, as in some containers: nothing is stored, nothing is said."""
    code = f"import os, pwd\ndef nobody(uid): raise KeyError(uid)\npwd.getpwuid = nobody\nos.chdir({str(tmp_path)!r})\n"
    shown, _ = processes.run(code + CODE, HOME=None, XDG_CACHE_HOME=None, DALEMBERT_CACHE=None)
    assert shown == "" and not files(tmp_path)


def test_a_relative_base_is_no_base(tmp_path):
    code = f"import os\nos.chdir({str(tmp_path)!r})\n"
    assert processes.run(code + CODE, XDG_CACHE_HOME="here", DALEMBERT_CACHE=None)[0] == ""
    assert not files(tmp_path)


@pytest.mark.skipif(not HAS_OWNERS, reason="needs POSIX permissions")
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_folder_that_others_can_write(tmp_path, mode):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    shown, _ = processes.run(CODE, folder)
    assert "can be written by others and is not used: chmod 700" in shown and not files(folder)


@pytest.mark.skipif(not HAS_OWNERS, reason="needs POSIX permissions")
@pytest.mark.parametrize("way", ["pretended", "chown"])
def test_folder_of_another_user(tmp_path, way):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    code = CODE
    if way == "chown":
        if not AS_ROOT:
            pytest.skip("only root can give files away")
        os.chown(folder, NOBODY, NOBODY)
    else:
        code = "import os\nown = os.getuid()\nos.getuid = lambda: own + 1\n" + CODE
    shown, _ = processes.run(code, folder)
    assert "belongs to another user and is not used" in shown and not files(folder)


@pytest.mark.skipif(not AS_ROOT, reason="only root can give files away")
def test_entry_of_another_user(tmp_path):
    folder = tmp_path / "cache"
    processes.run(CODE, folder)
    before = {p.name: p.read_bytes() for p in files(folder)}
    for path in files(folder):
        os.chown(path, NOBODY, NOBODY)
    shown, _ = processes.run(CODE, folder)
    assert shown.count("belongs to another user and is not used; it is compiled again") == len(before) == 2
    assert {p.name: p.read_bytes() for p in files(folder)} == before
    assert all(p.stat().st_uid == os.geteuid() for p in files(folder)), "replaced by one's own"


@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_folder_that_cannot_be_made(tmp_path, place):
    path = tmp_path / "taken"
    path.write_text("not a folder")
    shown, _ = processes.run(CODE, path if place == "a file" else path / "cache")
    assert "cannot be used" in shown and path.read_text() == "not a folder"


def give_up_writing_anywhere():
    """From the next program on, root may write where others may (CAP_DAC_OVERRIDE, capabilities(7))."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
    if ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
        raise OSError("the right to write anywhere cannot be given up")


@pytest.mark.skipif(not HAS_OWNERS, reason="needs POSIX permissions")
@pytest.mark.skipif(AS_ROOT and sys.platform != "linux", reason="root may write anywhere")
def test_read_only_folder(tmp_path):
    """Entries in it are used; new ones are not stored, and nothing is said."""
    folder = tmp_path / "cache"
    processes.run(CODE, folder)
    before = files(folder)
    folder.chmod(0o500)
    code = (
        CODE
        + """
from dalembert.compiler.backends import cache
from dalembert.compiler.backends.llvm import kernel
compiled = []
compile_object = kernel.target.compile_object
kernel.target.compile_object = lambda text: compiled.append(text) or compile_object(text)
r = load("2r")
r.gravity([0.5, 0.3])
assert not compiled, "found in the folder"
r.bias([0.5, 0.3], [0.1, 0.2])
assert compiled, "not found"
print(cache.directory())
"""
    )
    first = give_up_writing_anywhere if AS_ROOT else None
    assert processes.run(code, folder, first=first)[0] == str(folder)
    assert sorted(files(folder)) == sorted(before)


def test_eight_processes_from_an_empty_folder(tmp_path):
    """All compile, all write, nobody reads half an entry."""
    folder = tmp_path / "cache"
    started = [processes.start(CODE, folder) for _ in range(8)]
    assert [processes.finish(p)[0] for p in started] == [""] * 8
    assert sorted(p.name for p in files(folder)) == [p.name for p in sorted(folder.iterdir())]
    assert len(files(folder)) == 2, "the function and the fast call"
    assert processes.run(CODE, folder)[0] == ""


def test_killed_while_it_writes(tmp_path):
    """The process dies in the middle of a write; the next one is right and stores the entry."""
    folder = tmp_path / "cache"
    dies = """
import os
def fdopen(handle, mode):
    os.write(handle, b"dalembert object 1")
    os._exit(3)
os.fdopen = fdopen
"""
    process = processes.start(dies + CODE, folder)
    process.communicate(timeout=120)
    assert process.returncode == 3 and len(files(folder)) == 1
    assert processes.run(CODE, folder)[0] == ""
    assert len(files(folder)) == 3
