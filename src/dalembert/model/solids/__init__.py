"""Solids: mass, centre of mass and inertia of shapes and links at a density."""

from .properties import MassProperties, mass_properties

__all__ = ["MassProperties", "mass_properties"]
