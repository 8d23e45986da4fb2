"""Draws docs/figures/compiled.svg: from a robot file to machine code, and what is left to do in a call."""

from __future__ import annotations

from dalembert import load
from drawing import BLUE, GREEN, GREY, ORANGE, figure, save

BOXES = (
    ("robot file", "URDF, MJCF, SDF,\nDH, .mech.toml", GREY),
    ("Robot", "bodies, joints,\nimport log", GREY),
    ("expression graph", "rnea(model, q, v, a)\nrun once on symbols", BLUE),
    ("machine code", "LLVM: SIMD lanes\nor CUDA: threads", ORANGE),
    ("cache on disk", "by robot, function,\nversion, processor", GREEN),
)
STEPS = ("load", "trace", "compile", "keep")


def main() -> None:
    robot = load("ur5")
    operations = sum(robot.operations("inverse_dynamics").values())
    chain = sum(load("humanoid").operations("inverse_dynamics").values())

    picture, axes = figure(9.4, 2.6)
    for k, (title, text, colour) in enumerate(BOXES):
        axes.add_patch(_box(2.2 * k, colour))
        axes.text(2.2 * k + 0.8, 0.72, title, ha="center", fontsize=10, weight="bold", color=colour)
        axes.text(2.2 * k + 0.8, 0.33, text, ha="center", va="center", fontsize=8)
        if k:
            arrow = {"arrowstyle": "-|>", "color": "black"}
            axes.annotate("", (2.2 * k - 0.02, 0.5), (2.2 * k - 0.58, 0.5), arrowprops=arrow)
            axes.text(2.2 * k - 0.3, 0.58, STEPS[k - 1], ha="center", fontsize=8)
    axes.annotate(
        "",
        (7.3, -0.05),
        (9.5, -0.05),
        arrowprops={"arrowstyle": "-|>", "connectionstyle": "arc3,rad=-0.25", "color": GREEN},
    )
    axes.text(8.4, -0.52, "next session: straight from the cache", ha="center", fontsize=8, color=GREEN)
    once = "left to right: once for each robot and function, a fraction of a second"
    each = f"what is left to do in a call: {operations} operations for a UR5, {chain} for a humanoid of 36 freedoms"
    axes.text(0, -0.55, once, fontsize=8.5)
    axes.text(0, -0.8, each, fontsize=8.5)
    axes.set(xlim=(-0.1, 10.6), ylim=(-0.95, 1.05))
    axes.axis("off")
    save(picture, __file__)


def _box(x: float, colour: str):
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch((x, 0), 1.6, 0.95, boxstyle="round,pad=0.02", fc="white", ec=colour, lw=1.5)


if __name__ == "__main__":
    main()
