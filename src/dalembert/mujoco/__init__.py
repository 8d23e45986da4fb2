"""MuJoCo's model of contact: soft constraints, solved for together at the level of accelerations.

In goes a `Model` with what its MJCF file states (`model.mujoco`) and a `Contact(model="mujoco")`; out come, for a state
and the other forces, accelerations and constraint forces equal to those of `mj_forward`. Only that model of contact
imports this room. Read in this order:

    candidates, weights                             pairs of shapes that may touch, their parameters and scales
    points → boxes, capsule_box, convex, hulls      contact points of two shapes, by kind
    sides, polygons                                 what `convex` needs: sides of solids, their common polygon
    heights → expansion                             height fields: prisms below a shape
    rows, joints → solver                           constraint rows and their laws; the convex problem
    gathering → groups                              many pairs: those that touch are gathered into slots
    constraints                                     everything together: what a simulation holds
"""

from .constraints import MujocoConstraints, mujoco_constraints

__all__ = ["MujocoConstraints", "mujoco_constraints"]
