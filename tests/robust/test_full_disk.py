"""A disk that fills up: an error that names the file, the older file as it was, and nothing left beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from dalembert import DalembertError, cli, load, load_run
from dalembert.files import replacing, write_text
from dalembert.tables import FORMATS, write_table

resource = pytest.importorskip("resource")


@contextmanager
def full_disk(room: int = 256) -> Iterator[None]:
    """No file of this process may grow beyond `room` bytes, whoever writes it: the same as a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("ending", FORMATS)
def test_tables(tmp_path, ending) -> None:
    if library := {".parquet": "pyarrow", ".h5": "h5py", ".mcap": "mcap"}.get(ending):
        pytest.importorskip(library)
    file, noise = tmp_path / f"run{ending}", np.random.default_rng(1).normal(size=5000)
    file.write_text("older")
    with full_disk(), pytest.raises(DalembertError, match=r"run\.\w+: cannot be written"):
        write_table(file, {"t": np.arange(5000.0), "x": noise})
    assert os.listdir(tmp_path) == [file.name] and file.read_text() == "older"
    write_table(file, {"t": np.arange(5000.0), "x": noise})
    assert os.listdir(tmp_path) == [file.name] and file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["report", "2r", "--no-scene", "--out"], "page.html"),
        (["convert", "2r"], "arm.urdf"),
        (["simulate", "2r", "--duration", "0.1", "--plot"], "run.png"),
        (["simulate", "2r", "--duration", "0.1", "--out"], "run.npz"),
        (["torques", "2r", "--out"], "torques.csv"),
        (["equations", "2r", "--out"], "arm.tex"),
        (["audit", "2r", "--sarif"], "audit.json"),
    ],
    ids=lambda x: x[0] if isinstance(x, list) else x,
)
def test_commands(tmp_path, capsys, arguments, name) -> None:
    """Exit code 2, one line, and the older file of that name survives."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    pytest.importorskip("sympy")
    file = tmp_path / name
    file.write_text("older")
    with full_disk():
        code = cli.main([*arguments, str(file)])
    assert code == 2 and f"{name}: cannot be written: File too large" in capsys.readouterr().err
    assert os.listdir(tmp_path) == [name] and file.read_text() == "older"


def test_exported_code(tmp_path) -> None:
    (tmp_path / "inverse_dynamics.c").write_text("older")
    with full_disk(), pytest.raises(DalembertError, match="cannot be written"):
        load("2r").export("inverse_dynamics", "c", tmp_path)
    assert all(not file.name.startswith(".") for file in tmp_path.iterdir())
    assert (tmp_path / "inverse_dynamics.c").read_text() == "older"


def test_an_error_in_between_leaves_the_older_file(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("older")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["a.txt"] and (tmp_path / "a.txt").read_text() == "older"


def test_links_permissions_and_devices_stay(tmp_path) -> None:
    (tmp_path / "real.txt").write_text("older")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "newer")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "newer"
    assert (tmp_path / "real.txt").stat().st_mode & 0o777 == 0o640
    os.mkfifo(tmp_path / "pipe.txt")
    reader = os.open(tmp_path / "pipe.txt", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe.txt", "through")
    assert os.read(reader, 100) == b"through" and (tmp_path / "pipe.txt").is_fifo()
    os.close(reader)


def test_long_names(tmp_path) -> None:
    name = "ä" * 120 + ".npz"
    run = load("2r").simulate([0.1, 0.2], [0.0, 0.0], 0.02)
    run.save(tmp_path / name)
    np.testing.assert_array_equal(load_run(tmp_path / name).q, run.q)
