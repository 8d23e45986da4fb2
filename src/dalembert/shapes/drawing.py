"""Surfaces of simple shapes as triangles, for the viewer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

AROUND = 32  # segments of a circle
GROUND = 20.0  # m: edge of the square that represents a plane

Triangles = tuple[np.ndarray, np.ndarray]  # vertices (n, 3) [m], triangles (m, 3), counter-clockwise from outside


def box(size: np.ndarray) -> Triangles:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    vertices = np.concatenate([corners[list(quad)] for quad in quads])  # apart, so that edges stay sharp
    return vertices, np.array([(4 * k, 4 * k + i, 4 * k + i + 1) for k in range(6) for i in (1, 2)])


def lathe(profile: list[tuple[float, float]]) -> Triangles:
    """Turn points (radius, height) about z; each step of the profile is a separate band, with sharp edges."""
    angles = np.linspace(0.0, 2 * np.pi, AROUND, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    vertices: list[np.ndarray] = []
    triangles: list[np.ndarray] = []
    for (r0, z0), (r1, z1) in pairwise(profile):
        first = AROUND * len(vertices)
        for r, z in ((r0, z0), (r1, z1)):
            vertices.append(np.column_stack([r * circle, np.full(AROUND, z)]))
        k, after = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
        if r0 > 0:
            triangles.append(np.stack([k, after, k + AROUND], axis=1) + first)
        if r1 > 0:
            triangles.append(np.stack([after, after + AROUND, k + AROUND], axis=1) + first)
    return np.concatenate(vertices), np.concatenate(triangles)


def ball(radii: np.ndarray) -> Triangles:
    heights = np.linspace(-np.pi / 2, np.pi / 2, AROUND // 2 + 1)
    vertices, triangles = _smooth([(np.cos(a), np.sin(a)) for a in heights])
    return vertices * radii, triangles


def capsule(radius: float, length: float) -> Triangles:
    arc = np.linspace(0.0, np.pi / 2, AROUND // 4 + 1)
    top = [(radius * np.cos(a), length / 2 + radius * np.sin(a)) for a in arc]
    return _smooth([*((r, -z) for r, z in reversed(top)), *top])


def _smooth(profile: list[tuple[float, float]]) -> Triangles:
    """Like `lathe`, with shared vertices between the bands."""
    angles = np.linspace(0.0, 2 * np.pi, AROUND, endpoint=False)
    rings = [np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(AROUND, z)]) for r, z in profile]
    k, after = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    band = np.concatenate([np.stack([k, after, k + AROUND], 1), np.stack([after, after + AROUND, k + AROUND], 1)])
    return np.concatenate(rings), np.concatenate([band + AROUND * row for row in range(len(profile) - 1)])


def ground(normal: np.ndarray) -> Triangles:
    n = normal / np.linalg.norm(normal)
    x = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    x = GROUND / 2 * x / np.linalg.norm(x)
    y = np.cross(n, x)
    return np.array([-x - y, x - y, x + y, y - x]), np.array([[0, 1, 2], [0, 2, 3]])
