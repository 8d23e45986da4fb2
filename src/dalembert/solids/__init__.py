"""Solids: volume, centre of mass and inertia of shapes, and stated inertias held against the shapes of links."""

from .audit import check_inertia
from .properties import MassProperties, mass_properties

__all__ = ["MassProperties", "check_inertia", "mass_properties"]
