"""Films: as many frames as the motion and the rate ask for, the same on one thread and on several."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from dalembert import DalembertError, load

SMALL = {"size": (64, 48), "progress": False}


@pytest.fixture(scope="module")
def run():
    robot = load("acrobot")
    return robot.simulate([1.0, 0.5], [0.0, 0.0], 0.5, record=0.05)


@pytest.mark.parametrize(("kind", "rate"), [("webp", 30), ("gif", 25), ("png", 30)])
def test_films(run, tmp_path, kind, rate):
    from PIL import Image

    film = run.video(tmp_path / f"film.{kind}", **SMALL)
    assert film.frames == round(0.5 * rate) + 1 and film.rate == rate and film.path == tmp_path / f"film.{kind}"
    with Image.open(io.BytesIO(film.data)) as opened:
        assert opened.size == (64, 48) and 2 <= opened.n_frames <= film.frames
        opened.seek(0)
        first = np.asarray(opened.convert("RGB")).astype(int)
    assert np.abs(first - run.render(0.0, size=(64, 48))).mean() < 6  # but for compression
    assert f"image/{kind};base64" in film._repr_html_() and "frames, 64 × 48" in repr(film)


def test_threads_do_not_matter(run, tmp_path):
    one = run.video(tmp_path / "one.png", threads=1, **SMALL)
    many = run.video(tmp_path / "many.png", threads=3, **SMALL)
    assert one.data == many.data


def test_speed_and_rate(run):
    assert run.video(fps=10, speed=0.5, **SMALL).frames == 11
    assert run.video(fps=10, speed=5.0, **SMALL).frames == 2


def test_without_a_path_the_film_is_in_memory(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    film = run.video(fps=5, **SMALL)
    assert film.path is None and film.kind == ".webp" and film.data[:4] == b"RIFF"


def test_mp4(run, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    film = run.video(tmp_path / "film.mp4", size=(65, 47), progress=False)  # odd edges are padded
    assert film.data[4:8] == b"ftyp" and "video/mp4" in film._repr_html_()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "x.avi"}, "unknown ending"),
        ({"fps": 0.0}, "above 0"),
        ({"speed": np.inf}, "above 0"),
        ({"speed": "fast"}, "above 0"),
        ({"speed": 1e-9}, "higher speed"),
        ({"threads": 0}, "threads"),
        ({"trails": ("hand",)}, "hand"),
    ],
)
def test_bad_options(run, options, words):
    with pytest.raises(DalembertError, match=words):
        run.video(**{**SMALL, **options})


def test_missing_libraries_are_named_and_files_stay(run, tmp_path, monkeypatch):
    old = tmp_path / "film.gif"
    old.write_bytes(b"old")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DalembertError, match=r"dalembert\[pictures\]"):
        run.video(old, **SMALL)
    assert old.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(DalembertError, match=r"dalembert\[video\]"):
        run.video(tmp_path / "film.mp4", **SMALL)
