"""The list of commands, and what becomes of errors: a user's mistake ends with one line on stderr and exit code 2."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from dalembert.errors import DalembertError
from dalembert.math.blas import one_blas_thread
from dalembert.progress import Progress
from dalembert.version import __version__

from . import (
    audit,
    bench,
    common,
    compile,
    control,
    convert,
    demo,
    equations,
    export,
    identify,
    info,
    learn,
    plan,
    report,
    simulate,
    study,
    terminal,
    torques,
    view,
)

COMMANDS: dict[str, Callable[..., int]] = {
    "robots": info.robots,
    "info": info.info,
    "audit": audit.audit_robot,
    "expect": audit.expect,
    "diagnose": audit.diagnose_symptom,
    "torques": torques.torques,
    "size": torques.size,
    "simulate": simulate.run,
    "plan": plan.run,
    "control": control.run,
    "learn": learn.run,
    "equations": equations.run,
    "export": export.run,
    "convert": convert.convert,
    "edit": convert.edit,
    "compare": convert.compare_robots,
    "view": view.run,
    "excite": identify.excite,
    "identify": identify.identify_robot,
    "study": study.run,
    "report": report.run,
    "compile": compile.compile_programs,
    "cache": compile.show_cache,
    "bench": bench.run,
    "demo": demo.demo,
}


def _version(asked: bool) -> None:
    if asked:
        print(f"dalembert {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="dalembert",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version.")
    ] = False,
) -> None:
    """Rigid-body dynamics of robots, traced once per robot and compiled."""


for name, command in COMMANDS.items():
    app.command(name)(common.with_groups(command))


# typer may vendor its own click, so its errors are imported through typer
USAGE: type[Exception] = next(k for k in typer.BadParameter.__mro__ if k.__name__ == "ClickException")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns the exit code: 0 success, 1 a check failed, 2 bad usage, 3 an error of the program itself, 130 interrupted,
    141 the reader of the output has gone.
    """
    terminal.prepare(sys.stdout, sys.stderr)
    words = list(sys.argv[1:] if arguments is None else arguments)
    where = f"dalembert {words[0]}" if words and words[0] in COMMANDS else "dalembert"
    try:
        with one_blas_thread():
            code = app(words, standalone_mode=False)
        sys.stdout.flush()
    except USAGE as error:
        error.show()  # type: ignore[attr-defined]
        return 2
    except BrokenPipeError:
        terminal.close_quietly()
        return 141
    except (DalembertError, OSError, MemoryError) as error:
        Progress.end_line()
        said = str(error or "not enough memory").removeprefix(f"{words[0]}: " if words else "")
        print(f"{where}: {said}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        print(f"{where}: this is an error of the program itself: please report it", file=sys.stderr)
        return 3
    return code if isinstance(code, int) else 0
