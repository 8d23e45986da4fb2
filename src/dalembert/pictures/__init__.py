"""Pictures and films by a rasteriser of our own: no display, no graphics processor, no system package.

In the order of reading: `camera`; `looks` (surfaces with normals and colours); `scene` (things in their places);
`bodies` (robots, forces, trails as a scene); `motion` (`Robot.render`, pictures along a motion); `film`, `files`.
Below: `rasterizer` runs the compiled passes of `kernels` and `shading`.
"""

from .camera import Camera
from .files import Film
from .scene import Scene

__all__ = ["Camera", "Film", "Scene"]
