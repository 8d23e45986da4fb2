"""The rasteriser: triangles → the nearest one at each sample, their shadow map, and the shaded picture.

Procedures in the sense of `backends.llvm.procedures`: compiled, or run by Python with the same result. A camera has the
axes right, down, forward; a triangle's point at the ray r = (x, y, 1) has weights w_i = (p_j × p_k)·r / det(p_0, p_1,
p_2) ≥ 0, whose sum is 1 / depth, also where a corner is behind the camera. A pixel has four samples on a turned grid.
"""

from __future__ import annotations

from math import floor, sqrt

from dalembert.compiler.execute.procedures import F32, F64, I32, U8

NEAR = 1e-3  # [m] in front of the camera: the nearest that is drawn
ROUNDED = 1e-3  # [pixels] of places in the picture
WIDE = 8  # samples: of wider triangles, the ends of each row are computed
EMPTY = -1e30  # height in the shadow map where nothing stands
TAPS = 16  # samples of the shadow map for one pixel
TILE = 5  # bits of a texel's number within a tile of the shadow map
MARGIN = 9  # texels
WIDEST = 8.0  # texels: radius of the widest penumbra
GLOSS = 0.22
SHINE = 0.60  # share of the light that comes from the lamp
FILL = 0.10  # and from the camera
BRIGHT, DIM = 0.42, 0.16  # light from above and from below
SUN = 0.05  # width of the lamp, seen from the scene [rad]


def place(
    local: F32, normal: F32, owner: I32, poses: F64, view: F64, focal: float, light: F64, seen: F64, screen: F32,
    lit: F32, turned: F32, count: int,
):  # fmt: skip
    """Vertices in the camera's frame [m], in the picture [pixels], in the shadow map [texels, m]; normals in the world.

    poses: of each owner a matrix (9), a place (3), the matrix of its normals (9). view, light: axes (9), origin (3).
    """
    for k in range(count):
        i, b = 3 * k, 21 * owner[k]
        x, y, z = local[i], local[i + 1], local[i + 2]
        wx = poses[b] * x + poses[b + 1] * y + poses[b + 2] * z + poses[b + 9]
        wy = poses[b + 3] * x + poses[b + 4] * y + poses[b + 5] * z + poses[b + 10]
        wz = poses[b + 6] * x + poses[b + 7] * y + poses[b + 8] * z + poses[b + 11]
        x, y, z = wx - view[9], wy - view[10], wz - view[11]
        seen[i] = view[0] * x + view[1] * y + view[2] * z
        seen[i + 1] = view[3] * x + view[4] * y + view[5] * z
        seen[i + 2] = view[6] * x + view[7] * y + view[8] * z
        nearness = focal / max(seen[i + 2], NEAR)
        screen[2 * k], screen[2 * k + 1] = nearness * seen[i], nearness * seen[i + 1]
        x, y, z = wx - light[9], wy - light[10], wz - light[11]
        lit[i] = light[0] * x + light[1] * y + light[2] * z
        lit[i + 1] = light[3] * x + light[4] * y + light[5] * z
        lit[i + 2] = light[6] * x + light[7] * y + light[8] * z
        x, y, z = normal[i], normal[i + 1], normal[i + 2]
        turned[i] = poses[b + 12] * x + poses[b + 13] * y + poses[b + 14] * z
        turned[i + 1] = poses[b + 15] * x + poses[b + 16] * y + poses[b + 17] * z
        turned[i + 2] = poses[b + 18] * x + poses[b + 19] * y + poses[b + 20] * z


def span(begin: int, end: int, r: float, slope: float, slack: float):
    """The columns from `begin` to `end` where r + slope · column ≥ −slack."""
    if slope > 1e-12:
        begin = max(begin, int(floor(min(max((-slack - r) / slope, -1.0), 1e6))))
    elif slope < -1e-12:
        end = min(end, int(floor(min(max((-slack - r) / slope, -1.0), 1e6))) + 1)
    return begin, end


def weights(p: F64, i: int, j: int, k: int):
    """The rows (p_j × p_k) of three corners at places i, j, k of p, and det(p_0, p_1, p_2)."""
    x0, y0, z0 = p[i], p[i + 1], p[i + 2]
    x1, y1, z1 = p[j], p[j + 1], p[j + 2]
    x2, y2, z2 = p[k], p[k + 1], p[k + 2]
    ax, ay, az = y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2
    bx, by, bz = y2 * z0 - z2 * y0, z2 * x0 - x2 * z0, x2 * y0 - y2 * x0
    cx, cy, cz = y0 * z1 - z0 * y1, z0 * x1 - x0 * z1, x0 * y1 - y0 * x1
    return ax, ay, az, bx, by, bz, cx, cy, cz, x0 * ax + y0 * ay + z0 * az


def bounds(p: F64, screen: F32, i: int, j: int, k: int, cx: float, cy: float, width: int, height: int):
    """Columns and rows of samples around a triangle; the last below the first where there are none."""
    if min(p[3 * i + 2], p[3 * j + 2], p[3 * k + 2]) <= NEAR:
        far = max(p[3 * i + 2], p[3 * j + 2], p[3 * k + 2])
        return 0, 0, width - 1 if far > NEAR else -1, height - 1
    x0, x1, x2 = screen[2 * i], screen[2 * j], screen[2 * k]
    y0, y1, y2 = screen[2 * i + 1], screen[2 * j + 1], screen[2 * k + 1]
    left = max(-floor(0.75 - 2.0 * (cx + min(x0, x1, x2)) + ROUNDED), 0.0)
    top = max(-floor(0.75 - 2.0 * (cy + min(y0, y1, y2)) + ROUNDED), 0.0)
    right = min(floor(2.0 * (cx + max(x0, x1, x2)) - 0.25 + ROUNDED), width - 1.0)
    bottom = min(floor(2.0 * (cy + max(y0, y1, y2)) - 0.25 + ROUNDED), height - 1.0)
    if left <= right and top <= bottom:  # not so of what is not a number
        return int(left), int(top), int(right), int(bottom)
    return 0, 0, -1, -1


def cover(
    triangles: I32, seen: F64, screen: F32, focal: float, cx: float, cy: float, width: int, height: int, depth: F32,
    index: I32, first: int, last: int,
):  # fmt: skip
    """The nearest of the triangles first … last − 1 at each sample: its number, and 1 / depth [1/m]."""
    for n in range(first, last):
        i, j, k = triangles[3 * n], triangles[3 * n + 1], triangles[3 * n + 2]
        left, top, right, bottom = bounds(seen, screen, i, j, k, cx, cy, width, height)
        if left > right or top > bottom:
            continue
        ax, ay, az, bx, by, bz, gx, gy, gz, det = weights(seen, 3 * i, 3 * j, 3 * k)
        if abs(det) < 1e-24:
            continue
        s = 1.0 / det
        h = s / focal
        a, b, c = 0.5 * ax * h, 0.5 * bx * h, 0.5 * gx * h
        ay, by, gy = ay * h, by * h, gy * h
        ac, bc, gc = az * s - 2.0 * a * cx - ay * cy, bz * s - 2.0 * b * cx - by * cy, gz * s - 2.0 * c * cx - gy * cy
        for t in range(top, bottom + 1):
            x = 0.75 - 0.5 * (t & 1)  # of the first sample of the row, in half pixels
            y = 0.5 * t + 0.125
            ra, rb, rc = a * x + ay * y + ac, b * x + by * y + bc, c * x + gy * y + gc
            begin, end = left, right + 1
            if right - left > WIDE:
                begin, end = span(begin, end, ra, a, 0.25 * abs(ay))
                begin, end = span(begin, end, rb, b, 0.25 * abs(by))
                begin, end = span(begin, end, rc, c, 0.25 * abs(gy))
            for q in range(begin, end):
                dy = 0.25 * (q & 1)
                wa, wb, wc = ra + a * q + ay * dy, rb + b * q + by * dy, rc + c * q + gy * dy
                if min(wa, wb, wc) >= 0.0:
                    nearness = wa + wb + wc
                    if nearness > depth[t * width + q] and nearness * NEAR < 1.0:
                        depth[t * width + q] = nearness
                        index[t * width + q] = n


def mark(tiles: U8, size: int, left: int, top: int, right: int, bottom: int):
    """Note the tiles of the shadow map in which, or near which, something stands."""
    for t in range(max(top - MARGIN, 0) >> TILE, (min(bottom + MARGIN, size - 1) >> TILE) + 1):
        for q in range(max(left - MARGIN, 0) >> TILE, (min(right + MARGIN, size - 1) >> TILE) + 1):
            tiles[t * (size >> TILE) + q] = 1


def cast(triangles: I32, lit: F32, size: int, heights: F32, tiles: U8, first: int, last: int):
    """The shadow map (size, size): the largest height towards the light at the middle of each texel."""
    for n in range(first, last):
        i, j, k = 3 * triangles[3 * n], 3 * triangles[3 * n + 1], 3 * triangles[3 * n + 2]
        u0, v0, u1, v1, u2, v2 = lit[i], lit[i + 1], lit[j], lit[j + 1], lit[k], lit[k + 1]
        left = max(-floor(-min(u0, u1, u2)), 0.0)
        top = max(-floor(-min(v0, v1, v2)), 0.0)
        right = min(floor(max(u0, u1, u2)), size - 1.0)
        bottom = min(floor(max(v0, v1, v2)), size - 1.0)
        area = (u1 - u0) * (v2 - v0) - (v1 - v0) * (u2 - u0)
        if not (left <= right and top <= bottom) or abs(area) < 1e-12:
            continue
        mark(tiles, size, int(left), int(top), int(right), int(bottom))
        s = 1.0 / area
        b, by = (v2 - v0) * s, (u0 - u2) * s
        c, cy = (v0 - v1) * s, (u1 - u0) * s
        b0, c0 = -b * u0 - by * v0, -c * u0 - cy * v0
        h0, h1, h2 = lit[i + 2], lit[j + 2] - lit[i + 2], lit[k + 2] - lit[i + 2]
        for t in range(int(top), int(bottom) + 1):
            rb, rc = b0 + by * t, c0 + cy * t
            begin, end = int(left), int(right) + 1
            if right - left > WIDE:
                begin, end = span(begin, end, rb, b, 0.0)
                begin, end = span(begin, end, rc, c, 0.0)
                begin, end = span(begin, end, 1.0 - rb - rc, -b - c, 0.0)
            for q in range(begin, end):
                wb, wc = rb + b * q, rc + c * q
                if min(wb, wc, 1.0 - wb - wc) >= 0.0:
                    h = h0 + wb * h1 + wc * h2
                    if h > heights[t * size + q]:
                        heights[t * size + q] = h


def sunlit(heights: F32, size: int, taps: F64, first: int, last: int, u: float, v: float, h: float, radius: float):
    """The share of the lamp that reaches a point of the shadow map at height h, from taps first … last − 1 around."""
    free, among = 0.0, 0.0
    for n in range(first, last):
        p, q = int(u + radius * taps[2 * n] + 0.5), int(v + radius * taps[2 * n + 1] + 0.5)
        among += 1.0
        if p < 0 or q < 0 or p >= size or q >= size:
            free += 1.0
        elif heights[q * size + p] <= h:
            free += 1.0
    return free / among


def on_floor(heights: F32, tiles: U8, size: int, taps: F64, u: float, v: float, h: float, texel: float):
    """The share of the lamp that reaches the floor; the penumbra is as wide as what stands in between is far above."""
    if not (0.0 <= u < size and 0.0 <= v < size):
        return 1.0
    if tiles[(int(v) >> TILE) * (size >> TILE) + (int(u) >> TILE)] == 0:
        return 1.0
    above, among = 0.0, 0.0
    for n in range(TAPS):
        p, q = int(u + 5.0 * taps[2 * n] + 0.5), int(v + 5.0 * taps[2 * n + 1] + 0.5)
        if 0 <= p < size and 0 <= q < size:
            if heights[q * size + p] > h:
                above += heights[q * size + p] - h
                among += 1.0
    if among == 0.0:
        return 1.0
    radius = min(max(SUN * above / (among * texel), 1.2), WIDEST)
    return sunlit(heights, size, taps, 0, TAPS, u, v, h, radius)


def alike(a: int, b: int, c: int, d: int, triangles: I32, turned: F32, colors: I32):
    """Whether four triangles are parts of one smooth surface of one colour."""
    if a == b and b == c and c == d:
        return 1
    if colors[a] != colors[b] or colors[b] != colors[c] or colors[c] != colors[d]:
        return 0
    i, j, k, m = 3 * triangles[3 * a], 3 * triangles[3 * b], 3 * triangles[3 * c], 3 * triangles[3 * d]
    x, y, z = turned[i], turned[i + 1], turned[i + 2]
    least = x * turned[j] + y * turned[j + 1] + z * turned[j + 2]
    least = min(least, x * turned[k] + y * turned[k + 1] + z * turned[k + 2])
    least = min(least, x * turned[m] + y * turned[m + 1] + z * turned[m + 2])
    return 1 if least > 0.9 * (x * x + y * y + z * z) else 0


def surface(
    n: int, x: float, y: float, first: int, last: int, triangles: I32, seen: F64, lit: F32, turned: F32, colors: I32,
    palette: F32, view: F64, light: F64, heights: F32, size: int, texel: float, taps: F64,
):  # fmt: skip
    """Red, green, blue and opacity of triangle n at the ray (x, y, 1) of the camera, in linear light."""
    i, j, k = 3 * triangles[3 * n], 3 * triangles[3 * n + 1], 3 * triangles[3 * n + 2]
    ax, ay, az, bx, by, bz, cx, cy, cz, det = weights(seen, i, j, k)
    a, b, c = ax * x + ay * y + az, bx * x + by * y + bz, cx * x + cy * y + cz
    whole = 1.0 / (a + b + c)
    a, b, c = a * whole, b * whole, c * whole
    side = -1.0 if det > 0.0 else 1.0  # seen from behind
    nx = side * (a * turned[i] + b * turned[j] + c * turned[k])
    ny = side * (a * turned[i + 1] + b * turned[j + 1] + c * turned[k + 1])
    nz = side * (a * turned[i + 2] + b * turned[j + 2] + c * turned[k + 2])
    s = 1.0 / sqrt(nx * nx + ny * ny + nz * nz + 1e-30)
    nx, ny, nz = nx * s, ny * s, nz * s
    s = -1.0 / sqrt(x * x + y * y + 1.0)
    ex = view[0] * x + view[3] * y + view[6]
    ey = view[1] * x + view[4] * y + view[7]
    ez = view[2] * x + view[5] * y + view[8]
    ex, ey, ez = ex * s, ey * s, ez * s  # towards the eye
    sun = nx * light[6] + ny * light[7] + nz * light[8]
    gloss = 0.0
    if sun > 0.0 and size > 0:
        off = 1.6 * texel  # along the normal, so that a surface does not shade itself
        u = a * lit[i] + b * lit[j] + c * lit[k] + off * (light[0] * nx + light[1] * ny + light[2] * nz)
        v = a * lit[i + 1] + b * lit[j + 1] + c * lit[k + 1] + off * (light[3] * nx + light[4] * ny + light[5] * nz)
        h = a * lit[i + 2] + b * lit[j + 2] + c * lit[k + 2] + off * sun + 0.6 * texel
        sun *= sunlit(heights, size, taps, first, last, u, v, h, 1.7)
    if sun > 0.0:
        hx, hy, hz = ex + light[6], ey + light[7], ez + light[8]
        g = (nx * hx + ny * hy + nz * hz) / sqrt(hx * hx + hy * hy + hz * hz + 1e-30)
        g = max(g, 0.0) * g
        g *= g
        g *= g
        g *= g
        gloss = GLOSS * g * g * min(4.0 * sun, 1.0)
    sun = SHINE * max(sun, 0.0) + FILL * max(nx * ex + ny * ey + nz * ez, 0.0) + DIM + (BRIGHT - DIM) * (0.5 + 0.5 * nz)
    m = 5 * colors[n]
    gloss *= palette[m + 4]
    return palette[m] * sun + gloss, palette[m + 1] * sun + gloss, palette[m + 2] * sun + gloss, palette[m + 3]
