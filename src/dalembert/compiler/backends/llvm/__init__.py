"""Graphs to native code through LLVM: one-state and SIMD batch kernels, threads, disk cache, the fast call from Python.

Data flow: plan (memory and steps) → emit (IR) → target (object code) → cache → kernel (calls).

In the order of reading:

    steps, packs, units → plan     operations in order, fused, in waves, like ones on lanes; parts, and memory
    ir, elementary                 the writer of IR text, and elementary functions on vectors
    emit, layout → parts → part_writer     kernels and their memory; a function for each part; each operation
    compounds: items, visits, product, weights                   loops and calls inside a function, and their memory
    rare                           branches that are compiled when they are taken
    tiles                          row-major arrays to vectors across states, and back
    compilation, target, objects, kernel     object code, what it needs from outside, and how it is kept and called
    tables, text → arguments → builtin → fastcall     the call from Python
    stages → stages_*              linear-quadratic problems in stages, for optimal control
    procedures → procedure_values  loops over arrays in plain Python, for what no graph states: pictures
"""
