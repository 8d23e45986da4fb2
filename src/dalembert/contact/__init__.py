"""Contact laws: which shapes may touch, what they are made of, and the forces between them.

In the order of reading:

    contact, materials, laws     settings as people write them; which numbers hold between two shapes
    planes                       the ground: that which is stated, or a plane of the robot's file
    touching, file_pairs         pairs of shapes that may touch: those asked for, or those of an MJCF file
    candidates → meshes          which points of a robot may touch, with gap and normal; meshes as convex hulls
    raycast                      rays against the shapes of a robot and the ground
    rows                         velocities of touching points as rows of the robot's velocities
    compliant                    forces of springs and smooth friction

Rigid contact is solved in time steps (`sim.system.contact_step`). Where candidates are many, a step finds those few
that may touch in it:

    gathering, clearance         candidates in slots, in every state others; what is out of reach of the ground
    bounds, scene                pairs whose bounds come near each other, of loose bodies and of links

    solver                       impulses that put contacts, stops and dry friction on their laws
    support                      zero-moment point and support polygon

MuJoCo's model of contact is a room of its own: `dalembert.mujoco`.
"""

from .candidates import Patch, candidates
from .contact import Contact
from .laws import ContactLaw
from .materials import MATERIALS, Material

__all__ = ["MATERIALS", "Contact", "ContactLaw", "Material", "Patch", "candidates"]
