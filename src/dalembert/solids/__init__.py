"""Solids: volume, centre of mass and inertia of shapes; surfaces of meshes."""

from .properties import MassProperties, mass_properties

__all__ = ["MassProperties", "mass_properties"]
