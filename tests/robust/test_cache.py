"""The folder of compiled code: whatever happens to it, the answer is right, and a warning says what is wrong."""

from __future__ import annotations

import errno
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from dalembert import cli, load
from dalembert.compiler.backends import cache
from dalembert.compiler.backends.llvm import kernel
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
    monkeypatch.setattr("dalembert.compiler.execute.program.own_code", lambda *rooms: "other sources")
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


def fill(folder: Path, count: int, size: int) -> list[str]:
    """Whole entries, the first of them not used for longest."""
    names = [cache.key(str(k)) for k in range(count)]
    for k, name in enumerate(names):
        cache.write(name, cache.CacheEntry(bytes(size), {}))
        os.utime(folder / name, (1e9 + k, 1e9 + k))
    return names


def test_what_was_not_used_for_longest_goes(folder, monkeypatch):
    names = fill(folder, 10, 100_000)
    assert cache.read(names[0]) is not None  # used now
    assert cache.shrink(0.45) == 6
    assert {path.name for path in entries(folder)} == {names[0], *names[7:]}


def test_a_write_keeps_the_limit(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0.5")
    fill(folder, 2 * cache.OFTEN, 100_000)
    held = cache.usage()
    assert held.limit == 0.5 and held.megabytes <= 0.5 + 0.1 * cache.OFTEN
    cache._bound(folder)
    assert 0 < cache.usage().megabytes <= 0.5 * cache.ROOM


def test_only_entries_are_removed(folder, monkeypatch):
    """Someone may point the cache at a folder that holds other things."""
    names = fill(folder, 3, 1000)
    others = [folder / "notes.txt", folder / ("g" * 64), folder / (".new-" + "a" * 8)]
    for path in others:
        path.write_text("mine")
    (folder / names[0]).unlink()
    (folder / names[0]).mkdir()
    assert cache.usage().entries == 2 and cache.shrink(0.0) == 2
    assert all(path.exists() for path in others), "a new temporary file may be in use"
    os.utime(others[2], (0, 0))
    assert cache.usage().entries == 0 and not others[2].exists()


@pytest.mark.parametrize("text", ["much", "-1", "nan"])
def test_a_limit_that_is_none_is_named(folder, monkeypatch, text):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", text)
    with pytest.warns(UserWarning, match=f"DALEMBERT_CACHE_SIZE is '{text}', expected megabytes"):
        assert cache.limit() == cache.LIMIT


def test_command_shows_checks_and_clears(folder, capsys):
    names = fill(folder, 3, 1000)
    (folder / names[1]).write_bytes(b"damaged")
    assert cli.main(["cache"]) == 0
    assert "3 programs, 0.0 MB of at most 1000 MB" in capsys.readouterr().out.replace("\n", "")
    assert cli.main(["cache", "--check", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["damaged"] == [names[1]]
    assert cli.main(["cache", "--check"]) == 0
    assert "all programs are whole" in capsys.readouterr().out
    assert cli.main(["cache", "--clear", "--limit", "3"]) == 2
    assert cli.main(["cache", "--clear"]) == 0
    assert "2 programs removed" in capsys.readouterr().out and not entries(folder)


def test_command_with_the_cache_off(monkeypatch, capsys):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    assert cli.main(["cache", "--clear"]) == 0
    assert "The cache is off" in capsys.readouterr().out


def test_compile_ahead_of_time(folder, compilations, capsys):
    """A later robot takes all of it from the cache."""
    assert cli.main(["compile", "2r", "--for", "dynamics, jacobian, rollouts", "--frame", "tool", "--batch"]) == 0
    shown = capsys.readouterr().out
    assert "jacobian: " in shown and str(folder) in shown.replace("\n", "")
    before = len(compilations)
    r = load("2r")
    q, v = r.home()
    r.inverse_dynamics(q, v, v)
    r.jacobian(np.tile(q, (3, 1)), "tool")
    r.stepper(step=1e-3)(q, v, v)
    assert len(compilations) == before
    assert cli.main(["compile", "2r", "--for", "contat"]) == 2
    assert "did you mean 'contact'" in capsys.readouterr().err


def test_folder_removed_meanwhile(folder, compilations):
    quietly()
    (entry,) = entries(folder)
    entry.unlink()
    folder.rmdir()
    quietly()
    assert len(compilations) == 2
