"""Rigid-body dynamics and geometry on plain scalars. It does not know that it is traced.

In: a `Model` and one state, of floats or traced scalars. Out: arrays of the same kind of scalar.

Read in this order:

    algorithms    one algorithm per file: `rnea`, `crba`, `aba` first
    collision     signed distances between shapes, with witness points and normals

The heights of a terrain are a user's function, which `collision.ground` traces: it alone imports the compiler.
"""
