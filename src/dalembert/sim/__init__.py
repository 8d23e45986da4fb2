"""Simulation: a model, forces and a torque law, integrated in time by compiled loops, with an energy ledger.

`system` holds the equations of motion and what drives them, `elements` the forces beside them, `integrators` one step
of each method, `run` what `simulate` does, `rollout` batches of motions and single steps.
"""
