"""URDF files → Model: links, joints, mimics, shapes, loops, and the words of `<dalembert>`."""

from .reader import read_urdf

__all__ = ["read_urdf"]
