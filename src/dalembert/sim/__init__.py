"""Simulation: a model, forces and a torque law, integrated in time by compiled loops, with an energy ledger.

`simulate` gives a `Run`; `rollout` many short motions at once. An integrator is data (`tableaux`) or a residual
(`implicit`, `variational`); an engine repeats its step in compiled code; elements add forces and states.
"""
