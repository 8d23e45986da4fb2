"""Backends turn a traced function into something that runs: each backend is one file or folder and imports only graph.

`interpreter` defines what every operation means; all others agree with it on one list of expressions
(tests/compiler/backends/expressions.py). Backends are imported by name, when used.
"""
