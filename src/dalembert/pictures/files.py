"""Pictures and films as files and in notebooks."""

from __future__ import annotations

import base64
import os
import struct
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing

STILLS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tiff")
FILMS = (".mp4", ".gif", ".webp", ".png")
PILLOW = "needs Pillow: pip install 'dalembert[pictures]', or write a .png"
SAMPLED = 8  # frames from which the palette of a GIF is made
QUALITY = 72  # of WebP


def write_picture(path: str | os.PathLike[str], picture: np.ndarray) -> None:
    """Write a picture (height, width, 3) of bytes; .png needs no other library."""
    ending = _ending(path, STILLS, "render")
    with replacing(path) as temporary:
        if ending == ".png":
            temporary.write_bytes(png(picture))
        else:
            _image(picture, f"render: {ending}").save(temporary, quality=90)


def png(picture: np.ndarray) -> bytes:
    """A picture (height, width, 3) as a PNG file; the same bytes for the same picture."""
    height, width, _ = picture.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = picture.reshape(height, -1)
    rows[1:, 1:] -= picture[:-1].reshape(height - 1, 3 * width)  # filter 2: differences to the row above
    rows[1:, 0] = 2
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    blocks = [struct.pack(">I", len(x)) + name + x + struct.pack(">I", zlib.crc32(name + x)) for name, x in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(blocks)


class Film:
    """A film that was drawn: its file at `path` or, without one, its bytes as `data`. A notebook shows it.

    kind: ".mp4", ".gif", ".webp" or ".png"; frames, rate [1/s] and size (width, height) of it.
    """

    def __init__(self, path: Path | None, data: bytes | None, kind: str, frames: int, rate: float, size: Any) -> None:
        self.path, self._data, self.kind, self.frames, self.rate, self.size = path, data, kind, frames, rate, size

    @property
    def data(self) -> bytes:
        """The film as the bytes of a file of its kind."""
        return self._data if self._data is not None else Path(str(self.path)).read_bytes()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else repr(str(self.path))
        return f"<Film of {self.frames} frames, {self.size[0]} × {self.size[1]}, {self.rate:g}/s, {where}>"

    def _repr_html_(self) -> str:
        """In a notebook: the film itself, inside the page."""
        text, width = base64.b64encode(self.data).decode(), self.size[0]
        if self.kind == ".mp4":
            return (
                f'<video width="{width}" controls autoplay loop muted playsinline '
                f'src="data:video/mp4;base64,{text}"></video>'
            )
        return f'<img width="{width}" src="data:image/{self.kind[1:]};base64,{text}">'


def film_kind(path: str | os.PathLike[str] | None) -> str:
    """The kind of a film by its name; without one .mp4 where that can be written, else .webp."""
    if path is not None:
        return _ending(path, FILMS, "video")
    return ".mp4" if _ffmpeg() else ".webp"


def usual_rate(kind: str) -> float:
    """Frames per second; a GIF counts whole hundredths of a second."""
    return 25.0 if kind == ".gif" else 30.0


def write_film(
    path: str | os.PathLike[str] | None, kind: str, frames: Iterable[np.ndarray], count: int, rate: float,
    size: tuple[int, int], sampled: Iterable[np.ndarray],
) -> Film:  # fmt: skip
    """Write the frames as they come. sampled: some of them, for the palette of a GIF."""
    if kind == ".mp4":
        if (program := _ffmpeg()) is None:
            raise DalembertError("video: .mp4 needs imageio-ffmpeg: pip install 'dalembert[video]', or write a .webp")
        write = partial(_encode, program, rate=rate, size=size)
    else:
        write = partial(_animate, kind=kind, rate=rate, sampled=sampled)
    if path is not None:
        with replacing(path) as temporary:
            write(temporary, frames)
        return Film(Path(path), None, kind, count, rate, size)
    with TemporaryDirectory() as folder:
        file = Path(folder, f"film{kind}")
        write(file, frames)
        return Film(None, file.read_bytes(), kind, count, rate, size)


def _animate(file: Path, frames: Iterable[np.ndarray], kind: str, rate: float, sampled: Iterable[np.ndarray]) -> None:
    """A moving picture that begins again at its end, by Pillow."""
    images: Iterator[Any] = (_image(frame, f"video: {kind}") for frame in frames)
    options: dict[str, Any] = {"save_all": True, "loop": 0, "duration": 1000.0 / rate}
    if kind == ".gif":
        palette = _palette(list(sampled))
        images = (image.quantize(palette=palette, dither=0) for image in images)
        options |= {"duration": 10 * max(round(100.0 / rate), 2), "optimize": False}
    elif kind == ".webp":
        options |= {"duration": round(1000.0 / rate), "quality": QUALITY, "method": 2}
    first = next(images)
    others = list(images) if kind == ".png" else images  # Pillow goes through those of a PNG twice
    first.save(file, kind[1:].upper(), append_images=others, **options)


def _palette(frames: list[np.ndarray]) -> Any:
    """A picture with the 256 colours that suit these frames."""
    Image = _pillow("video: .gif")
    return Image.fromarray(np.concatenate(frames)).quantize(256, method=Image.Quantize.MEDIANCUT)


def _encode(program: str, file: Path, frames: Iterable[np.ndarray], rate: float, size: tuple[int, int]) -> None:
    """H.264 by ffmpeg in a process of its own; odd edges are padded, which the format asks for."""
    width, height = size
    command = [
        program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r",
        f"{rate:g}", "-i", "-", "-an", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:v", "libx264", "-preset",
        "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(file),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stderr is not None
    try:
        for frame in frames:
            process.stdin.write(frame.tobytes())
        process.stdin.close()
    except BrokenPipeError:
        pass
    except BaseException:
        process.kill()
        process.wait()
        process.stderr.close()
        raise
    message = process.stderr.read().decode(errors="replace").strip()
    process.stderr.close()
    if process.wait():
        raise DalembertError(f"video: ffmpeg could not write the film: {message.splitlines()[-1] if message else '?'}")


def _ffmpeg() -> str | None:
    """The ffmpeg that imageio-ffmpeg brings."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None


def _image(picture: np.ndarray, what: str) -> Any:
    return _pillow(what).fromarray(picture)


def _pillow(what: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise DalembertError(f"{what} {PILLOW}") from None
    return Image


def _ending(path: str | os.PathLike[str], endings: tuple[str, ...], what: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise unknown("ending", ending, endings, f"{what}: {os.fspath(path)!r}")
    return ending
