"""Signed distances between shapes, with witness points and normals, on plain scalars."""
