"""`Robot`, what people hold: a model and its compiled functions.

In: a `Model`. Out: numbers, from methods that are compiled for this robot when they are first called.

Read in this order: `robot`, the class; its quantities come from `dalembert.quantities`, one family per file. The other
files are methods that open a room above, which is loaded when the method is called:

    compiling                compile, source, export, operations
    simulation, rollouts     simulate, contact_dynamics, raycast; rollout, stepper
    viewing                  view, render, video
    contacts                 linearize, equilibrium, also in contact
    rooms                    audit, sizing, close_loops, equations, optimal_control, study
"""

from .robot import Robot

__all__ = ["Robot"]
