"""The rasteriser beside rays through the same triangles, beside Python on the same text, and in odd cases."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.pictures import kernels, shading
from dalembert.pictures.camera import Camera
from dalembert.pictures.rasterizer import BYTES, MAP, SPREAD, Drawing, Rasterizer, Stage
from dalembert.pictures.scene import pose_rows
from tolerances import RECURSION, SINGLE

SIZE = (48, 36)
ON_EDGE = 1e-6  # weights of rays that pass this near an edge may fall to either side


def soup(seed: int, count: int, reach: float = 0.7) -> Drawing:
    """Triangles here and there."""
    rng = np.random.default_rng(seed)
    vertices = (rng.uniform(-1, 1, (count, 1, 3)) + rng.uniform(-reach, reach, (count, 3, 3))).reshape(-1, 3)
    normals = rng.normal(size=vertices.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    triangles = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    palette = np.column_stack([rng.uniform(0, 1, (4, 3)), np.ones(4), np.ones(4)]).astype(np.float32)
    return Drawing(
        vertices.astype(np.float32), normals.astype(np.float32), np.zeros(3 * count, np.int32), triangles, count,
        rng.integers(0, 4, count).astype(np.int32), palette,
    )  # fmt: skip


def shot_at(azimuth: float = 20.0, distance: float = 4.0):
    return Camera(azimuth, 15.0, distance, (0, 0, 0)).placed(np.zeros(3), 1.0, SIZE)


def rays(shot):
    """Directions in the camera's frame (2h, 2w, 3) of the samples."""
    s, t = np.meshgrid(np.arange(2 * SIZE[0]), np.arange(2 * SIZE[1]))
    x = 0.5 * s + 0.25 + np.where(t % 2 == 0, 0.125, -0.125) - 0.5 * SIZE[0]
    y = 0.5 * t + 0.25 + np.where(s % 2 == 0, -0.125, 0.125) - 0.5 * SIZE[1]
    return np.stack([x / shot.focal, y / shot.focal, np.ones_like(x)], axis=-1)


def nearest(corners, directions):
    """(nearness, number, whether a ray passes an edge of a triangle that matters) by Möller and Trumbore."""
    best, number = np.zeros(directions.shape[:2]), np.full(directions.shape[:2], -1)
    doubtful = np.zeros(directions.shape[:2], bool)
    for n, (a, b, c) in enumerate(corners.astype(float)):
        u, v = b - a, c - a
        p = np.cross(directions, v)
        det = p @ u
        with np.errstate(divide="ignore", invalid="ignore"):
            beta = np.einsum("ijk,k->ij", p, -a) / det
            gamma = directions @ np.cross(-a, u) / det
            far = np.dot(v, np.cross(-a, u)) / det
        weights = np.stack([beta, gamma, 1.0 - beta - gamma])
        nearness = np.where(far > kernels.NEAR, 1.0 / far, 0.0)
        doubtful |= (np.abs(weights).min(axis=0) < ON_EDGE) & (nearness >= best)
        hit = (weights.min(axis=0) >= 0.0) & (nearness > best)
        best, number = np.where(hit, nearness, best), np.where(hit, n, number)
    return best, number, doubtful


@pytest.mark.parametrize(("seed", "distance"), [(0, 4.0), (1, 2.0), (2, 0.6), (3, 0.05)])
def test_the_nearest_triangle_is_that_of_the_rays(seed, distance):
    """From far away, and with the eye among the triangles, some of which are partly behind it."""
    drawing, shot = soup(seed, 60), shot_at(distance=distance)
    rasterizer = Rasterizer(drawing, Stage(np.zeros(3), 2.0, None), SIZE)
    rasterizer.picture(pose_rows(np.eye(4))[None], shot)
    seen = (drawing.vertices.astype(float) - shot.eye) @ shot.axes.T
    depth, number, doubtful = nearest(seen[drawing.triangles], rays(shot))
    sure = ~doubtful
    assert sure.mean() > 0.99 and (number >= 0).mean() > 0.2
    np.testing.assert_array_equal(rasterizer._index[sure], number[sure])
    np.testing.assert_allclose(rasterizer._depth[sure], depth[sure], rtol=SINGLE)


def test_python_draws_the_same_picture(monkeypatch):
    """The text of the kernels is their meaning: also of shadows, floor, translucent triangles and the last bytes."""
    drawing = soup(5, 12)
    palette = drawing.palette.copy()
    palette[0, 3] = 0.4
    order = np.argsort(drawing.colors == 0, kind="stable")
    drawing = Drawing(
        drawing.vertices, drawing.normals, drawing.owners, drawing.triangles[order],
        int(np.count_nonzero(drawing.colors != 0)), drawing.colors[order], palette,
    )  # fmt: skip
    assert 0 < drawing.opaque < 12
    stage, shot, rows = Stage(np.zeros(3), 2.0, -0.8), shot_at(), pose_rows(np.eye(4))[None]
    monkeypatch.setattr("dalembert.pictures.rasterizer.MAP", 64)
    compiled = Rasterizer(drawing, stage, SIZE).picture(rows, shot)

    class Plain:
        def __getattr__(self, name):
            function = getattr(shading, name)
            return lambda *given: function(*(x.reshape(-1) if isinstance(x, np.ndarray) else x for x in given))

    monkeypatch.setattr("dalembert.pictures.rasterizer.passes", Plain())
    with np.errstate(all="ignore"):
        plain = Rasterizer(drawing, stage, SIZE).picture(rows, shot)
    assert np.abs(compiled.astype(int) - plain).max() <= 1
    assert len(np.unique(plain.reshape(-1, 3), axis=0)) > 50


def test_a_ball_covers_its_disc():
    """The silhouette of a ball of radius r at distance d: a circle of angle asin(r/d)."""
    from dalembert.pictures import Scene
    from dalembert.shapes import Sphere

    scene = Scene().shape(Sphere(0.5), np.eye(4))
    shot = Camera(0.0, 0.0, 3.0, (0, 0, 0)).placed(np.zeros(3), 1.0, (400, 400))
    rasterizer = Rasterizer(scene.drawing(), Stage(np.zeros(3), 1.0, None), (400, 400))
    rasterizer.picture(np.array(scene.owners), shot)
    radius = shot.focal * np.tan(np.arcsin(0.5 / 3.0))
    pixels = np.count_nonzero(rasterizer._index >= 0) / 4.0
    assert pixels == pytest.approx(np.pi * radius**2, rel=ROUND)


ROUND = 0.02  # a ball is drawn with 32 sides: its disc is that much smaller


def test_shadows_lie_where_the_lamp_puts_them():
    """The floor is darkest below a plate along the lamp's rays, and as bright as without it elsewhere."""
    from dalembert.pictures import Scene
    from dalembert.pictures.rasterizer import LIGHT
    from dalembert.shapes import Box

    plate = Scene().shape(Box(np.array([0.4, 0.4, 0.01])), np.eye(4) + 0.5 * np.eye(4, k=1)[[3, 3, 2, 3]])
    camera = Camera(0.0, 89.0, 6.0, (0, 0, 0))
    shot = camera.placed(np.zeros(3), 1.0, (201, 201))
    with_shadow = plate.picture(shot, (201, 201)).astype(int)
    without = plate.picture(shot, (201, 201), shadows=False).astype(int)
    fallen = -0.5 * LIGHT / LIGHT[2]
    (x, y), _ = shot.project([*fallen[:2], 0.0])
    darker = (without - with_shadow).sum(axis=2)
    assert darker[round(y), round(x)] > 100
    assert darker[10, 10] == 0 and darker.min() >= -3
    dark_x, dark_y = np.mean(np.argwhere(darker > 100), axis=0)[::-1]
    assert abs(dark_x - x) < 8 and abs(dark_y - y) < 8


def test_no_triangles_and_numbers_that_are_none():
    """Nothing to draw, corners at one point, far beyond single precision, and NaN: a picture all the same."""
    empty = soup(0, 0)
    picture = Rasterizer(empty, Stage(np.zeros(3), 1.0, 0.0), SIZE).picture(pose_rows(np.eye(4))[None], shot_at())
    assert picture.shape == (36, 48, 3)
    bad = soup(0, 6)
    bad.vertices[0] = np.nan
    bad.vertices[3:6] = 1e30
    bad.vertices[6] = np.inf
    bad.vertices[9:12] = 0.1
    Rasterizer(bad, Stage(np.zeros(3), 1.0, 0.0), SIZE).picture(pose_rows(np.eye(4))[None], shot_at())


def test_tables():
    """Bytes rise from 0 to 255; taps fill the unit disc, each four around its middle."""
    assert BYTES[0] == 0 and BYTES[-1] == 255 and np.all(np.diff(BYTES.astype(int)) >= 0)
    assert np.linalg.norm(SPREAD, axis=1).max() < 1.0 and MAP % (1 << kernels.TILE) == 0
    assert np.abs(SPREAD.reshape(4, 4, 2).mean(axis=1)).max() < 0.35
    assert RECURSION < SINGLE
