"""The robot as data: a frozen `Model` of bodies, joints and frames, the joint types, and the builder.

Joints are polymorphic (`pose`, `subspace`, `bias`, `integrate`, `difference`); algorithms never ask which kind.
"""

from .builder import ModelBuilder
from .joints import KINDS, Coupled, Joint
from .model import Body, Frame, Model, Part

__all__ = ["KINDS", "Body", "Coupled", "Frame", "Joint", "Model", "ModelBuilder", "Part"]
