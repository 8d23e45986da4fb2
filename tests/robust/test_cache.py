"""The folder of compiled code: whatever happens to it, the answer is right, and a warning says what is wrong."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from dalembert.backends import cache
from dalembert.backends.llvm import kernel
from robust.machines import robot, tree


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder in use."""
    path = tmp_path / "cache"
    monkeypatch.setenv("DALEMBERT_CACHE", str(path))
    yield path
    cache._directory.cache_clear()


@pytest.fixture
def compilations(monkeypatch):
    """Counts what is compiled."""
    done = []
    compile_object = kernel.target.compile_object
    monkeypatch.setattr(kernel.target, "compile_object", lambda text: done.append(text) or compile_object(text))
    return done


def evaluate() -> None:
    """A new robot computes; the answer must be right."""
    q = robot("tree").neutral()
    assert np.array_equal(tree().gravity(q), robot("tree").gravity(q))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.fixture(autouse=True)
def reference():
    """Made before the cache is tampered with."""
    r = robot("tree")
    r.gravity(r.neutral())
    r.potential_energy(r.neutral())


def quietly() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate()


def test_second_robot_compiles_nothing(folder, compilations):
    quietly()
    assert len(compilations) == 1 and len(entries(folder)) == 1
    quietly()
    assert len(compilations) == 1 and len(entries(folder)) == 1


def test_the_folder_is_private_and_entries_too(folder):
    quietly()
    assert folder.stat().st_mode & 0o777 == 0o700
    (entry,) = entries(folder)
    assert entry.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("setting", ["off", "OFF", "0", "no", "false"])
def test_switched_off(setting, tmp_path, monkeypatch, compilations):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DALEMBERT_CACHE", setting)
    quietly()
    quietly()
    assert len(compilations) == 2 and not list(tmp_path.iterdir())


def spots() -> list[float]:
    """Where an entry is damaged: in the magic word, the checksum, the facts, the code, at the end."""
    return [0.0, 0.003, 0.006, 0.01, 0.3, 0.6, 0.999]


@pytest.mark.parametrize("spot", spots())
def test_flipped_bits(folder, compilations, spot):
    quietly()
    (entry,) = entries(folder)
    data = bytearray(entry.read_bytes())
    data[int(spot * len(data))] ^= 1 << int(7 * spot)
    entry.write_bytes(data)
    with pytest.warns(UserWarning, match="is damaged and is compiled again"):
        evaluate()
    assert len(compilations) == 2
    quietly()  # it was replaced
    assert len(compilations) == 2


@pytest.mark.parametrize("length", [0, 1, 18, 19, 40, 51, 60, 1000, -1])
def test_truncated(folder, length):
    quietly()
    (entry,) = entries(folder)
    entry.write_bytes(entry.read_bytes()[:length])
    with pytest.warns(UserWarning, match="damaged"):
        evaluate()
    quietly()


def test_killed_in_mid_write(folder):
    """What a killed process leaves behind is never taken for an entry."""
    quietly()
    (entry,) = entries(folder)
    entry.rename(folder / ".new-abc")
    (folder / ".new-def").write_bytes(b"half")
    quietly()
    assert entry.exists()


def test_another_entry_under_this_name(folder):
    """Whole and well, but of another function: not used."""
    quietly()
    (entry,) = entries(folder)
    data = entry.read_bytes()
    entry.unlink()
    r = tree()
    r.potential_energy(r.neutral())
    (other,) = entries(folder)
    other.write_bytes(data)
    with pytest.warns(UserWarning, match="damaged"):
        assert tree().potential_energy(r.neutral()) == robot("tree").potential_energy(r.neutral())


def test_changed_algorithms_are_compiled_anew(folder, compilations, monkeypatch):
    quietly()
    monkeypatch.setattr("dalembert.execute.program.own_code", lambda *rooms: "other sources")
    quietly()
    assert len(compilations) == 2 and len(entries(folder)) == 2


def test_another_processor_has_its_own_entries(folder, compilations, monkeypatch):
    quietly()
    monkeypatch.setattr(kernel.target, "description", lambda: "another processor")
    quietly()
    assert len(compilations) == 2 and len(entries(folder)) == 2


def test_an_entry_that_is_a_folder(folder, compilations):
    quietly()
    (entry,) = entries(folder)
    entry.unlink()
    entry.mkdir()
    quietly()
    assert len(compilations) == 2


@pytest.mark.parametrize("function", ["write", "replace", "open"])
def test_full_disk(folder, monkeypatch, function):
    def full(*arguments, **keywords):
        raise OSError(errno.ENOSPC, "No space left on device")

    class Full:
        def __init__(self, handle, mode):
            os.close(handle)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        write = full

    name = {"write": "fdopen", "replace": "replace", "open": "open"}[function]
    original = getattr(os, name)

    def opened(path, flags, *rest, **keywords):
        return full() if flags & os.O_CREAT else original(path, flags, *rest, **keywords)

    monkeypatch.setattr(cache.os, name, {"write": Full, "replace": full, "open": opened}[function])
    quietly()
    monkeypatch.undo()
    assert not entries(folder), "nothing half-written stays behind"


def test_folder_removed_meanwhile(folder, compilations):
    quietly()
    (entry,) = entries(folder)
    entry.unlink()
    folder.rmdir()
    quietly()
    assert len(compilations) == 2
