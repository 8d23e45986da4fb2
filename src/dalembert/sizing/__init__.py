"""Sizing: what motions and gravity require of motors and gears, and which ones of a catalogue suffice.

In: a `Robot`, motions. Out: torques, speeds and powers of each motor, and drives that give them. Read in this order:
`demand`, `motion`, `drives`; `sizing`, all of it together.
"""

from .demand import Course, Demand
from .drives import Catalogue, Drive, Gear, Motor, choose, drive, read_catalogue
from .motion import Efforts, efforts, standard_motion
from .sizing import Sizing, size

__all__ = [
    "Catalogue", "Course", "Demand", "Drive", "Efforts", "Gear", "Motor", "Sizing", "choose", "drive", "efforts",
    "read_catalogue", "size", "standard_motion",
]  # fmt: skip
