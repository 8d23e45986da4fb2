"""Films of motions: frames drawn on several threads, in order, and written as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from dalembert.compiler.execute.threads import limit
from dalembert.errors import DalembertError
from dalembert.progress import Progress

from .files import SAMPLED, Film, film_kind, usual_rate, write_film
from .motion import MotionPictures

LONGEST = 100_000  # frames of a film


def film(
    pictures: MotionPictures,
    path: Any,
    fps: float | None = None,
    speed: float = 1.0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Film:
    """See `Robot.video`."""
    kind = film_kind(path)
    rate = usual_rate(kind) if fps is None else positive("fps", fps)
    span = float(pictures.t[-1] - pictures.t[0])
    count = round(span * rate / positive("speed", speed)) + 1
    if count > LONGEST:
        raise DalembertError(
            f"video: {count} frames of {span:g} s, at most {LONGEST}: give a higher speed, or a lower fps"
        )
    times = pictures.t[0] + np.minimum(np.arange(count) * speed / rate, span)
    q = pictures.between(times)
    with Progress("drawing a film", count, "frames", progress) as task:
        frames = _in_order(pictures, times, q, limit(threads), task)
        some = np.unique(np.linspace(0, count - 1, min(SAMPLED, count) if kind == ".gif" else 0).astype(int))
        sampled = (pictures.of(times[k], q[k]) for k in some)
        return write_film(path, kind, frames, count, rate, pictures.options.size, sampled)


def _in_order(
    pictures: MotionPictures, times: np.ndarray, q: np.ndarray, threads: int, task: Progress
) -> Iterator[np.ndarray]:
    """The frames one after the other; a few are drawn ahead."""
    pictures.drawn.scene.drawing()  # made once, before threads ask for it
    with ThreadPoolExecutor(threads, "dalembert-film") as pool:
        waiting: deque[Future[np.ndarray]] = deque()
        for k in range(len(times)):
            waiting.append(pool.submit(pictures.of, float(times[k]), q[k]))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
                task.show(k - 2 * threads)
        while waiting:
            yield waiting.popleft().result()


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise DalembertError(f"video: {name} is {value!r}, expected a number above 0")
    if not (np.isfinite(value) and value > 0.0):
        raise DalembertError(f"video: {name} is {value!r}, expected a finite number above 0")
    return float(value)
