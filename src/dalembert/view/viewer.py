"""The viewer: a page on loopback with robots, their sliders, a run to play, and a target to drag."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.spatial import so3

from .contacts import ContactMarks
from .playback import Playback
from .scene import RobotScene
from .sliders import Sliders

RECORDED = 25.0  # frames per second of a recorded page
GAP = 0.4  # between robots side by side, of the size of the larger one
SWITCHES = {
    "frames": "frames",
    "com": "centre of mass",
    "inertia": "inertia ellipsoids",
    "reactions": "reaction forces",
    "names": "joint names",
    "collision": "collision shapes",
}


class Viewer:
    """Shows robots at `url` until `close()`; also as a context manager.

    robots: one or several, placed side by side. run: a `Run` or `Trajectory` of the first one to play. host: the
    address the page is served at; only this machine can open the default. port: 0 takes a free one.
    """

    def __init__(
        self, robots: Robot | Sequence[Robot], *, run: Any = None, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        viser = _viser()
        robots = list(robots) if isinstance(robots, Sequence) else [robots]
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a banner
            self.server = viser.ViserServer(host=host, port=_free_port(host, port), label="dalembert", verbose=False)
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)  # sharing would leave this machine
        self.server.scene.set_up_direction("+z")
        self.scenes: list[RobotScene] = []
        self._playback: Playback | None = None
        self.sliders: list[Sliders] = []
        for number, robot in enumerate(robots):
            self._add(robot, f"/{number}-{robot.name}", alone=len(robots) == 1)
        self._stand_side_by_side()
        self._add_ground()
        if run is not None:
            self._add_run(run)
        self._point_camera()

    @property
    def host(self) -> str:
        return self.server.get_host()

    @property
    def port(self) -> int:
        return self.server.get_port()

    @property
    def url(self) -> str:
        """Address to open in a browser."""
        return f"http://{self.host}:{self.port}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Things that could not be drawn, such as meshes that were not found."""
        return tuple(note for scene in self.scenes for note in scene.notes)

    def show(self, q: Any, robot: int = 0) -> None:
        """Move a robot, and its sliders, to q (nq,)."""
        scene = self.scenes[robot]
        q = np.asarray(q, float)
        if q.shape != (scene.robot.nq,):
            raise DalembertError(f"show: q has shape {q.shape}, expected ({scene.robot.nq},)")
        scene.show(q)
        self.sliders[robot].set(q)

    def reach(self, target: Any, frame: str, robot: int = 0) -> Any:
        """Bring a robot's frame to `target` (4, 4) [m] by inverse kinematics from the current pose; shows the nearest.

        Returns the `InverseKinematicsResult`, which says whether it was reached.
        """
        scene = self.scenes[robot]
        solution = scene.robot.inverse_kinematics(target, frame, start=scene.q, starts=1, check=False)
        self.show(solution.q, robot)
        return solution

    def close(self) -> None:
        """Stop serving."""
        if self._playback is not None:
            self._playback.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def wait(self) -> None:
        """Serve until interrupted (Ctrl-C)."""
        try:
            self.server.sleep_forever()
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer at {self.url}>"

    def _repr_html_(self) -> str:
        """In a notebook: the page itself."""
        return f'<iframe src="{self.url}" width="100%" height="520" style="border:0"></iframe>'

    def _add(self, robot: Robot, root: str, *, alone: bool) -> None:
        gui = self.server.gui
        scene = RobotScene(self.server, robot, root)
        self.scenes.append(scene)
        with gui.add_folder(robot.name):
            with gui.add_folder("show", expand_by_default=alone):
                for what, label in SWITCHES.items():
                    if what == "reactions" and robot.model.closures:  # they depend on the forces that close the loops
                        continue
                    box = gui.add_checkbox(label, False)
                    box.on_update(lambda event, what=what: scene.switch(what, event.target.value))
            with gui.add_folder("joints", expand_by_default=alone):
                self.sliders.append(Sliders(gui, robot, scene.show))
            if not robot.model.closures:
                self._add_target(robot, scene, root)
            if scene.notes:
                gui.add_markdown("**Not drawn**\n\n" + "\n".join(f"- {note}" for note in scene.notes[:8]))

    def _add_target(self, robot: Robot, scene: RobotScene, root: str) -> None:
        """A frame to drag: the joints follow by inverse kinematics, and the panel shows the remaining error."""
        gui = self.server.gui
        names = [frame.name for frame in robot.frames]
        with gui.add_folder("reach", expand_by_default=False):
            frame = gui.add_dropdown("frame", names, initial_value=names[-1])
            active = gui.add_checkbox("drag a target", False)
            said = gui.add_markdown("")
        handle: list[Any] = []

        def follow(_: Any) -> None:
            target = np.eye(4)
            target[:3, :3], target[:3, 3] = so3.from_quaternion(np.asarray(handle[0].wxyz)), handle[0].position
            solution = self.reach(target, frame.value, self.scenes.index(scene))
            left = f"{1000 * solution.position_error:.1f} mm, {np.degrees(solution.orientation_error):.1f}°"
            said.content = "reached" if solution.success else f"not reached: {left} are left"

        def toggle(_: Any) -> None:
            for control in handle:
                control.remove()
            handle.clear()
            if active.value:
                pose = robot.pose(scene.q, frame.value)
                control = self.server.scene.add_transform_controls(
                    f"{root}/target", scale=0.3 * scene.size, position=pose[:3, 3], wxyz=so3.to_quaternion(pose[:3, :3])
                )
                control.on_update(follow)
                handle.append(control)

        active.on_update(toggle)
        frame.on_update(toggle)

    def _add_run(self, run: Any) -> None:
        scene, sliders = self.scenes[0], self.sliders[0]
        touched = getattr(run, "contacts", None)
        marks = None if touched is None else ContactMarks(self.server.scene, scene.root, touched, scene.size)
        if marks is not None:
            scene.stand_in_world()

        def show(q: np.ndarray, sample: int) -> None:
            scene.show(q)
            sliders.set(q)
            if marks is not None:
                marks.show(sample)

        with self.server.gui.add_folder("run", order=-1.0):
            if marks is not None:
                box = self.server.gui.add_checkbox("contact forces", True)
                box.on_update(lambda event: marks.visible(event.target.value))
            self._playback = Playback(self.server.gui, run, scene.robot.model.freedom_names, show)
        show(run.q[0], 0)

    def _stand_side_by_side(self) -> None:
        """Robots along y, each on the ground, so far apart that they do not touch."""
        end, before = 0.0, 0.0
        for number, scene in enumerate(self.scenes):
            low, high = scene.points()[:, 1].min(), scene.points()[:, 1].max()
            y = end + GAP * max(before, scene.size) - low if number else 0.0
            scene.stand_at(0.0, y)
            end, before = y + high, scene.size

    def _add_ground(self) -> None:
        """A grid at height 0, just below the robots, whose cells are about a tenth of the largest one."""
        size = max(scene.size for scene in self.scenes)
        section = 10.0 ** round(np.log10(size))
        self.server.scene.add_grid(
            "/ground", cell_size=0.1 * section, section_size=section, infinite_grid=True,
            position=(0.0, 0.0, -1e-3 * section), cell_color=(225, 228, 232), section_color=(185, 190, 198),
            fade_distance=15.0 * section, fade_strength=2.0,
        )  # fmt: skip

    def _point_camera(self) -> None:
        points = np.concatenate([scene.points() for scene in self.scenes])
        low, high = points.min(axis=0), points.max(axis=0)
        middle, size = 0.5 * (low + high), float(np.linalg.norm(high - low)) or 1.0
        way = np.array([1.0, -1.0, 0.6]) if len(self.scenes) == 1 else np.array([1.3, -0.3, 0.4])
        camera = self.server.initial_camera
        camera.position = tuple(middle + 1.1 * size * way / np.linalg.norm(way))
        camera.look_at = tuple(middle)
        camera.near, camera.far = 1e-3 * size, 1e3 * size


def _viser() -> Any:
    try:
        import viser
    except ImportError:
        raise DalembertError("the viewer needs viser: pip install 'dalembert[view]'") from None
    return viser


def _free_port(host: str, port: int) -> int:
    """The requested port, or a free one; a port in use is an error, since the server would silently take another."""
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OverflowError:
            raise DalembertError(f"port is {port}, expected 0 to 65535; 0 takes any free one") from None
        except OSError as error:
            raise DalembertError(
                f"cannot serve at {host}:{port}: {error.strerror}; give another port, 0 for any"
            ) from None
        return int(probe.getsockname()[1])


def recording(robot: Robot, t: np.ndarray, q: np.ndarray, contacts: Any = None) -> str:
    """HTML text that plays q (n, nq) at the times t (n,) [s] over and over; everything it needs is inside.

    contacts: those of a run at these times, whose forces and friction cones are drawn.
    """
    with Viewer(robot) as viewer:
        server = viewer.server
        server.gui.reset()
        frames = np.linspace(t[0], t[-1], max(2, round((t[-1] - t[0]) * RECORDED) + 1))
        nearest = [int(np.argmin(np.abs(t - time))) for time in frames]
        scene = viewer.scenes[0]
        marks = None if contacts is None else ContactMarks(server.scene, scene.root, contacts, scene.size)
        if marks is not None:
            scene.stand_in_world()
        scene.show(q[nearest[0]])
        serializer = server.get_scene_serializer()
        for k in nearest:
            scene.show(q[k])
            if marks is not None:
                marks.show(k)
            serializer.insert_sleep(1.0 / RECORDED)
        return serializer.as_html()
