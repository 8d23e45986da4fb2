"""Graphs to native code through LLVM: one-state and SIMD batch kernels, threads, disk cache, the fast call from Python.

Data flow: plan (memory and steps) → emit (IR) → target (object code) → cache → kernel (calls).
"""
