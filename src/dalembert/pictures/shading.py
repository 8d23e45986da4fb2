"""The last pass of the rasteriser: the floor, the sky, and the picture from the samples that `kernels.cover` found."""

from __future__ import annotations

from math import floor, sqrt

from dalembert.compiler.execute.procedures import F32, F64, I32, U8, Procedures

from .kernels import TAPS, alike, cast, cover, on_floor, place, surface

LEVELS = 4096  # of linear light in the table that gives bytes
LIMIT = 1.6  # of linear light: what is brighter is white
SHADE = 0.52  # share of the floor's light that comes from the lamp


def backdrop(
    view: F64, focal: float, cx: float, cy: float, width: int, height: int, level: float, stage: F64, sky: F32,
    plain: F32, out: F32,
):  # fmt: skip
    """Linear colours of floor and sky (height, width, 3); stage: middle x, y, edge of a check, reach [m], has a floor.

    The floor, checked where its checks are larger than a pixel, fades into the sky. sky (6): above, at the horizon.
    plain (6): the two colours of checks.
    """
    for row in range(height):
        for column in range(width):
            r, g, b = 0.0, 0.0, 0.0
            for sample in range(4):
                x = (column + 0.375 + 0.5 * (sample & 1) - 0.25 * (sample >> 1) - cx) / focal
                y = (row + 0.125 + 0.5 * (sample >> 1) + 0.25 * (sample & 1) - cy) / focal
                dx = view[0] * x + view[3] * y + view[6]
                dy = view[1] * x + view[4] * y + view[7]
                dz = view[2] * x + view[5] * y + view[8]
                up = min(max(3.0 * dz / sqrt(dx * dx + dy * dy + dz * dz) + 0.1, 0.0), 1.0)
                sr, sg = sky[3] + up * (sky[0] - sky[3]), sky[4] + up * (sky[1] - sky[4])
                sb = sky[5] + up * (sky[2] - sky[5])
                if stage[4] > 0.0 and dz < -1e-9 and view[11] > level:
                    far = (level - view[11]) / dz
                    px, py = view[9] + far * dx, view[10] + far * dy
                    away = sqrt((px - stage[0]) * (px - stage[0]) + (py - stage[1]) * (py - stage[1])) / stage[3]
                    if away < 1.0:
                        odd = (int(floor(px / stage[2])) + int(floor(py / stage[2]))) & 1
                        fade = (1.0 - away * away) * (1.0 - away * away)
                        sr += fade * (plain[3 * odd] - sr)
                        sg += fade * (plain[3 * odd + 1] - sg)
                        sb += fade * (plain[3 * odd + 2] - sb)
                r, g, b = r + 0.25 * sr, g + 0.25 * sg, b + 0.25 * sb
            k = 3 * (row * width + column)
            out[k], out[k + 1], out[k + 2] = r, g, b


def floor_light(
    x: float, y: float, view: F64, level: float, stage: F64, light: F64, heights: F32, tiles: U8, size: int,
    texel: float, taps: F64,
):  # fmt: skip
    """By how much the shadow on the floor darkens the picture at the ray (x, y, 1): 1 in the light."""
    dx = view[0] * x + view[3] * y + view[6]
    dy = view[1] * x + view[4] * y + view[7]
    dz = view[2] * x + view[5] * y + view[8]
    if stage[4] <= 0.0 or dz > -1e-9 or view[11] <= level or size == 0:
        return 1.0
    far = (level - view[11]) / dz
    px, py = view[9] + far * dx, view[10] + far * dy
    away = sqrt((px - stage[0]) * (px - stage[0]) + (py - stage[1]) * (py - stage[1])) / stage[3]
    if away >= 1.0:
        return 1.0
    px, py, pz = px - light[9], py - light[10], level - light[11]
    u = light[0] * px + light[1] * py + light[2] * pz
    v = light[3] * px + light[4] * py + light[5] * pz
    h = light[6] * px + light[7] * py + light[8] * pz + 0.5 * texel
    return 1.0 - SHADE * (1.0 - away * away) * (1.0 - on_floor(heights, tiles, size, taps, u, v, h, texel))


def behind_floor(x: float, y: float, nearness: float, view: F64, level: float, stage: F64):
    """Whether the floor hides a point at the ray (x, y, 1), 1 / nearness [m] away along the axis of the camera."""
    dz = view[2] * x + view[5] * y + view[8]
    below = (view[11] - level) * nearness * (1.0 + 1e-5) + dz
    return 1 if stage[4] > 0.0 and view[11] > level and dz < 0.0 and below < 0.0 else 0


def shade(
    index: I32, depth: F32, above: I32, layered: int, triangles: I32, seen: F64, lit: F32, turned: F32, colors: I32,
    palette: F32, view: F64, focal: float, cx: float, cy: float, width: int, height: int, level: float, stage: F64,
    behind: F32, light: F64, heights: F32, tiles: U8, size: int, texel: float, taps: F64, table: U8, out: U8,
):  # fmt: skip
    """The picture (height, width, 3) in bytes. above: the translucent triangle before each sample, if layered.

    Four samples on one smooth surface are shaded as one.
    """
    for row in range(height):
        for column in range(width):
            n, pixel = 4 * row * width + 2 * column, 3 * (row * width + column)
            i, j, k, m = index[n], index[n + 1], index[n + 2 * width], index[n + 2 * width + 1]
            same = 0
            if min(i, j, k, m) >= 0:
                same = alike(i, j, k, m, triangles, turned, colors)
            count, share = 4, 0.25
            if same > 0 or max(i, j, k, m) < 0:
                count, share = 1, 1.0
            if layered > 0:
                count, share = 4, 0.25
            r, g, b, dark = 0.0, 0.0, 0.0, -1.0
            for sample in range(count):
                n = (2 * row + (sample >> 1)) * 2 * width + 2 * column + (sample & 1)
                x = (column + 0.375 + 0.5 * (sample & 1) - 0.25 * (sample >> 1) - cx) / focal
                y = (row + 0.125 + 0.5 * (sample >> 1) + 0.25 * (sample & 1) - cy) / focal
                hit = index[n]
                if hit >= 0:
                    if behind_floor(x, y, depth[n], view, level, stage) > 0:
                        hit = -1
                if hit < 0:
                    if dark < 0.0:
                        dark = floor_light(
                            (column + 0.5 - cx) / focal, (row + 0.5 - cy) / focal, view, level, stage, light,
                            heights, tiles, size, texel, taps,
                        )  # fmt: skip
                    sr, sg, sb = dark * behind[pixel], dark * behind[pixel + 1], dark * behind[pixel + 2]
                else:
                    sr, sg, sb, solid = surface(
                        hit, x, y, 0 if count == 1 else 4 * sample, TAPS if count == 1 else 4 * sample + 4, triangles,
                        seen, lit, turned, colors, palette, view, light, heights, size, texel, taps,
                    )  # fmt: skip
                if layered > 0:
                    if above[n] >= 0:
                        tr, tg, tb, solid = surface(
                            above[n], x, y, 4 * sample, 4 * sample + 4, triangles, seen, lit, turned, colors, palette,
                            view, light, heights, size, texel, taps,
                        )  # fmt: skip
                        sr, sg, sb = sr + solid * (tr - sr), sg + solid * (tg - sg), sb + solid * (tb - sb)
                r, g, b = r + share * sr, g + share * sg, b + share * sb
            top = (LEVELS - 1) / LIMIT
            out[pixel] = table[int(min(r * top, LEVELS - 1.0))]
            out[pixel + 1] = table[int(min(g * top, LEVELS - 1.0))]
            out[pixel + 2] = table[int(min(b * top, LEVELS - 1.0))]


passes = Procedures(place, cover, cast, backdrop, shade)
