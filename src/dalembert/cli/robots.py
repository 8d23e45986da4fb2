"""`dalembert robots`: the bundled robots."""

from __future__ import annotations

from dalembert.loading import load
from dalembert.loading import robots as bundled

from .common import Json, console, print_json, table


def run(as_json: Json = False) -> int:
    """List the bundled robots: their names work wherever a robot is expected.

    Example: `dalembert robots`
    """
    loaded = [load(name) for name in bundled()]
    rows = [
        {
            "name": name,
            "base": robot.model.bodies[0].joint.kind,
            "degrees of freedom": robot.nv,
            "loop equations": sum(closure.count for closure in robot.model.closures),
            "mass": sum(body.mass for body in robot.bodies),
        }
        for name, robot in zip(bundled(), loaded, strict=True)
    ]
    if as_json:
        print_json(rows)
        return 0
    heads = ["name", "base", "degrees of freedom", "loop equations", "mass [kg]"]
    console().print(table("Bundled robots", heads, [list(row.values()) for row in rows], 3))
    return 0
