"""The command line: `dalembert demo`, `convert` and `bench`. A user's mistake ends with one message and exit code 2."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dalembert.errors import DalembertError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 success, 1 a check failed, 2 bad usage."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except (DalembertError, OSError) as error:
        print(f"dalembert {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="dalembert", description="Rigid-body dynamics of robots, compiled per robot.")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    demo = commands.add_parser(
        "demo",
        help="torques of a one-second move of a UR5, a plot, and what it costs",
        epilog="example: dalembert demo --out /tmp/demo",
    )
    demo.add_argument("--out", type=Path, default=Path("demo"), help="folder for the plot (default: demo)")
    demo.add_argument("--states", type=positive, default=100_000, help="size of the timed batch (default: 100000)")
    demo.set_defaults(run=run_demo)

    convert = commands.add_parser(
        "convert",
        help="write a robot in another format: .urdf, .xml (MJCF), .sdf or .dh.toml",
        description="Reads a robot (a file, or the name of a bundled one) and writes it in the format that the ending "
        "of the target names. What the target cannot say is an error that lists it all.",
        epilog="example: dalembert convert ur5 /tmp/ur5.xml",
    )
    convert.add_argument("source", help="a robot file, or the name of a bundled robot")
    convert.add_argument("target", help="the file to be written; one that exists is replaced")
    convert.add_argument("--approximate", action="store_true", help="write what comes nearest where nothing is exact")
    convert.add_argument("--strict", action="store_true", help="fail if the source needs any assumption about physics")
    convert.add_argument("--base", choices=("fixed", "free"), help="hold the base or let it float (default: as stated)")
    convert.add_argument("--mimic", choices=("couple", "free"), default="couple", help="(default: couple)")
    convert.add_argument("--no-geometry", action="store_true", help="leave the shapes of links out")
    convert.add_argument("--package", help="folder whose meshes are named package://… (SDF: model://…)")
    convert.add_argument("--json", action="store_true", help="print JSON instead of lines")
    convert.set_defaults(run=run_convert)

    bench = commands.add_parser(
        "bench",
        help="time dalembert beside every installed peer, after checking that the answers agree",
        epilog="example: dalembert bench ur5 --function inverse_dynamics --quick",
    )
    bench.add_argument("robots", nargs="*", help="robots to measure (default: all that are found)")
    bench.add_argument("--function", action="append", default=[], dest="functions", help="may be given several times")
    bench.add_argument("--quick", action="store_true", help="fewer robots, batches and repetitions")
    bench.add_argument("--out", type=Path, help="folder for bench.json, bench.txt and bench.png")
    bench.add_argument("--json", action="store_true", help="print JSON instead of tables")
    bench.set_defaults(run=run_bench)
    return top


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def run_demo(options: argparse.Namespace) -> int:
    from dalembert import demo

    return demo.main(options.out, options.states)


def run_convert(options: argparse.Namespace) -> int:
    import json
    from dataclasses import asdict

    from dalembert.loading import load

    robot = load(options.source, base=options.base, strict=options.strict, mimic=options.mimic)
    written = robot.save(
        options.target, approximate=options.approximate, geometry=not options.no_geometry, package=options.package
    )
    if options.json:
        logs = {"read": [asdict(f) for f in robot.import_log], "written": [asdict(f) for f in written]}
        print(json.dumps({"robot": robot.name, "target": options.target, **logs}, ensure_ascii=False, indent=2))
        return 0
    for finding in (*robot.import_log, *written):
        print(finding)
    print(f"wrote {options.target}: {robot.name}, {len(robot.joints)} joints")
    return 0


def run_bench(options: argparse.Namespace) -> int:
    from dalembert.bench import run

    return run.main(options.robots, options.functions, quick=options.quick, out=options.out, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
