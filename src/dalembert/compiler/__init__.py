"""The compiler: Python functions of scalars become expression graphs, and graphs become what runs. It knows no robot.

In: a function of traced scalars, such as an algorithm with its robot filled in. Out: a `Program`, and the `Call` with
which users run it on arrays of any library.

Read in this order:

    graph       tracing, folding, sharing, differentiation, loops and scheduling of expressions
    backends    a graph becomes something that runs, or source text; `interpreter` defines each operation
    interop     arrays of CuPy, PyTorch and JAX
    execute     arguments checked, batches divided, machine code cached: the only room that runs compiled code
"""
