"""Nearest points of points, segments and boxes: closed forms without branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, maximum, minimum, sqrt, where
from dalembert.spatial.vectors import cross, dot

TOUCHING = 1e-24  # [m²] squared distance below which two points are one, and have no direction between them
PARALLEL = 1e-12  # squared sine of the angle below which two segments are parallel
UP = np.array([0.0, 0.0, 1.0])


def unit(v: np.ndarray, otherwise: np.ndarray = UP) -> tuple[Any, np.ndarray]:
    """Length and direction of a vector (3,); of one without length `otherwise`, with finite slopes."""
    square = dot(v, v)
    short = square < TOUCHING
    length = sqrt(where(short, 1.0, square))
    return where(short, 0.0, length), where(short, otherwise, v / length)


def on_segment(point: np.ndarray, centre: np.ndarray, half: np.ndarray) -> np.ndarray:
    """The point nearest to another one on the segment from centre − half to centre + half."""
    square = dot(half, half)
    t = dot(point - centre, half) / maximum(square, TOUCHING)
    return centre + clip(t, -1.0, 1.0) * half


def between_segments(
    centre_a: np.ndarray, half_a: np.ndarray, centre_b: np.ndarray, half_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of two segments, as of `on_segment`.

    They lie inside of both, or one of them is an end: of all five pairs the nearest is taken, the first of equal ones.
    """
    r = centre_a - centre_b
    aa, bb, ab = dot(half_a, half_a), dot(half_b, half_b), dot(half_a, half_b)
    ra, rb = dot(r, half_a), dot(r, half_b)
    determinant = aa * bb - ab * ab
    crossing = determinant > PARALLEL * aa * bb
    scale = 1.0 / where(crossing, determinant, 1.0)
    s, t = (ab * rb - bb * ra) * scale, (aa * rb - ab * ra) * scale
    inside = logical_and(crossing, logical_and(absolute(s) <= 1.0, absolute(t) <= 1.0))
    a, b = centre_a + where(inside, s, 0.0) * half_a, centre_b + where(inside, t, 0.0) * half_b
    pairs = [(end, on_segment(end, centre_b, half_b)) for end in (centre_a + half_a, centre_a - half_a)]
    pairs += [(on_segment(end, centre_a, half_a), end) for end in (centre_b + half_b, centre_b - half_b)]
    best = where(inside, dot(a - b, a - b), np.inf)
    for p, q in pairs:
        square = dot(p - q, p - q)
        closer = square < best
        a, b, best = where(closer, p, a), where(closer, q, b), minimum(square, best)
    return a, b


def cut(low: Any, high: Any, at_start: Any, at_end: Any) -> tuple[Any, Any]:
    """The part [low, high] of a segment on the inner side of one more half-plane; low > high where nothing is left.

    at_start, at_end: how far its ends are inside of it.
    """
    change = at_start - at_end
    t = at_start / where(change == 0.0, 1.0, change)
    outside = logical_and(at_start < 0.0, at_end < 0.0)
    entering, leaving = logical_and(at_start < 0.0, at_end >= 0.0), logical_and(at_start >= 0.0, at_end < 0.0)
    low = where(outside, 2.0, where(entering, maximum(low, t), low))
    return low, where(leaving, minimum(high, t), high)


def crossing_normal(half_a: np.ndarray, half_b: np.ndarray) -> np.ndarray:
    """A unit vector across two segments: what separates them where they meet."""
    across = cross(half_a, half_b)
    square = dot(across, across)
    parallel = square <= PARALLEL * dot(half_a, half_a) * dot(half_b, half_b) + TOUCHING**2
    return where(parallel, any_across(half_a), across / sqrt(where(parallel, 1.0, square)))


def any_across(v: np.ndarray) -> np.ndarray:
    """A unit vector across v; `UP` where v has no length."""
    x, y, z = v
    flat = absolute(z) * absolute(z) < 0.5 * dot(v, v)
    w = np.array([where(flat, -y, 0.0), where(flat, x, -z), where(flat, 0.0, y)])
    square = dot(w, w)
    short = square < TOUCHING
    return where(short, UP, w / sqrt(where(short, 1.0, square)))


def from_box(point: np.ndarray, half: np.ndarray) -> tuple[Any, np.ndarray]:
    """Signed distance of a point from a box with half edges (3,) about the origin, and the outward normal there.

    Inside it is that of the nearest face.
    """
    excess = [absolute(x) - h for x, h in zip(point, half, strict=True)]
    signs = [where(x < 0.0, -1.0, 1.0) for x in point]
    outward = np.array([s * maximum(e, 0.0) for s, e in zip(signs, excess, strict=True)])
    depth = maximum(maximum(excess[0], excess[1]), excess[2])
    face_x = excess[0] >= maximum(excess[1], excess[2])
    face_y = excess[1] >= excess[2]
    face = np.array([
        where(face_x, signs[0], 0.0),
        where(face_x, 0.0, where(face_y, signs[1], 0.0)),
        where(face_x, 0.0, where(face_y, 0.0, signs[2])),
    ])  # fmt: skip
    length, direction = unit(outward, face)
    outside = depth > 0.0
    return where(outside, length, depth), where(outside, direction, face)


def from_cylinder(point: np.ndarray, radius: Any, half: Any) -> tuple[Any, np.ndarray]:
    """Signed distance of a point from a cylinder about z, from −half to half, and the outward normal there.

    Inside it is that of the nearest side or end; on the axis that along x.
    """
    x, y, z = point
    square = x * x + y * y
    on_axis = square < TOUCHING
    r = sqrt(where(on_axis, 1.0, square))
    out = np.array([where(on_axis, 1.0, x / r), where(on_axis, 0.0, y / r), 0.0])
    up = np.array([0.0, 0.0, where(z < 0.0, -1.0, 1.0)])
    beyond_side, beyond_end = where(on_axis, 0.0, r) - radius, absolute(z) - half
    sideways = beyond_side >= beyond_end
    nearest = where(sideways, out, up)
    length, direction = unit(maximum(beyond_side, 0.0) * out + maximum(beyond_end, 0.0) * up, nearest)
    depth = maximum(beyond_side, beyond_end)
    outside = depth > 0.0
    return where(outside, length, depth), where(outside, direction, nearest)


def segment_near_box(centre: np.ndarray, half: np.ndarray, size: np.ndarray) -> Any:
    """The t in [−1, 1] for which centre + t half is nearest to a box with half edges `size` about the origin.

    Half the slope of the squared distance, Σ half_i · excess_i(t), rises with t and is straight between the places
    where the line goes through the planes of the faces. Its zero lies between the last of these (and of the ends) where
    it is not above 0 and the first where it is not below.
    """

    def slope(t: Any) -> Any:
        x = centre + t * half
        return dot(half, x - np.array([clip(xi, -s, s) for xi, s in zip(x, size, strict=True)]))

    left: Any = -1.0
    right: Any = 1.0
    at_left, at_right = slope(-1.0), slope(1.0)
    for c, h, s in zip(centre, half, size, strict=True):
        for side in (-s, s):
            steep = absolute(h) > 1e-150
            t = clip((side - c) / where(steep, h, 1.0), -1.0, 1.0)
            rise = slope(t)
            before = logical_and(rise <= 0.0, t > left)
            after = logical_and(rise >= 0.0, t < right)
            left, at_left = where(before, t, left), where(before, rise, at_left)
            right, at_right = where(after, t, right), where(after, rise, at_right)
    span = at_right - at_left
    straight = span > 0.0
    t = left - at_left * (right - left) / where(straight, span, 1.0)
    middle = 0.5 * (left + right)  # inside the box there is no nearest point
    return where(
        at_left >= 0.0,
        where(at_right <= 0.0, middle, left),
        where(at_right <= 0.0, right, where(straight, clip(t, left, right), middle)),
    )
