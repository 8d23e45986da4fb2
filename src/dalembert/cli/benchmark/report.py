"""The result as text, a picture, and the Markdown tables of the documentation; tables are at most 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dalembert.files import replacing
from dalembert.notebook import figure

from .study import OURS, Row

Document = dict[str, Any]
BATCH = 4096  # the batch size at which systems are compared


class Timings:
    """The rows of a document's timings, found by what was measured."""

    def __init__(self, rows: Iterable[Row]):
        self.rows = {
            (r["robot"], r["function"], r["system"], r["mode"], r["batch"], r["dtype"], r["threads"]): r for r in rows
        }

    def get(
        self, robot: str, function: str, mode: str, batch: int = 1, *, system=OURS, dtype="float64", threads=1
    ) -> Row | None:
        return self.rows.get((robot, function, system, mode, batch, dtype, threads))


def distinct(rows: Iterable[Row], key: str) -> list[Any]:
    """Values of a column, each once, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def text(document: Document) -> str:
    """Everything a person wants to read, as plain text."""
    parts = [heading(document)]
    peers = [name for name in distinct(document["timings"], "system") if name != OURS]
    for function in distinct(document["timings"], "function"):
        parts += [beside(document, function, peer) for peer in peers]
        parts.append(scaling(document, function))
    parts += [starting(document), verdict(document)]
    return "\n\n".join(part for part in parts if part)


def heading(document: Document) -> str:
    machine, versions = document["machine"], document["versions"]
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    hardware = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"
    note = "Names in lower case are bundled robots, the others come from example-robot-data."
    return "\n".join(wrapped([hardware, software, note]))


def beside(document: Document, function: str, peer: str) -> str:
    """One function, every robot: one call and a batch of 4096 on one thread, with the ratio to one peer."""
    timings, rows = Timings(document["timings"]), []
    for robot in distinct(document["timings"], "robot"):
        call = timings.get(robot, function, "call")
        their_call = timings.get(robot, function, "call", system=peer)
        batch = timings.get(robot, function, "batch", BATCH)
        their_loop = timings.get(robot, function, "loop", BATCH, system=peer)
        if call and their_call:
            pairs = [call, their_call, batch, their_loop]
            cells = [micro(pair) for pair in pairs]
            rows.append([robot, str(call["nv"]), *cells[:2], ratio(*pairs[:2]), *cells[2:], ratio(*pairs[2:])])
    title = f"{words(function)} beside {peer} {document['versions'][peer]}: µs per state, float64, one thread"
    header = ["robot", "dof", "one call", f"{peer} call", "×", f"batch {BATCH}", f"{peer} loop", "×"]
    return table(title, header, rows) if rows else ""


def scaling(document: Document, function: str) -> str:
    """One function, every robot and batch size; what threads and float32 add at the largest batch."""
    timings, rows = Timings(document["timings"]), []
    sizes = sorted({row["batch"] for row in document["timings"] if row["mode"] == "batch"})
    cores = document["machine"]["cores"]
    for robot in distinct(document["timings"], "robot"):
        at = [timings.get(robot, function, "batch", size) for size in sizes]
        if not any(at):
            continue
        largest = max(size for size, row in zip(sizes, at, strict=True) if row)
        one = timings.get(robot, function, "batch", largest)
        threaded = timings.get(robot, function, "batch", largest, threads=cores)
        single = timings.get(robot, function, "batch", largest, dtype="float32")
        operations = operation_count(document, robot, function)
        rows.append([robot, operations, *map(micro, at), ratio(threaded, one), ratio(single, one)])
    title = f"{words(function)}, dalembert alone: µs per state by batch size, float64, one thread"
    header = ["robot", "operations", *map(str, sizes), f"{cores} threads ×", "float32 ×"]
    return table(title, header, rows) if rows else ""


def starting(document: Document) -> str:
    """First calls with an empty cache and from the cache, memory, import time."""
    rows = []
    for entry in document["startup"]:
        cold, cached = entry["cold"], entry["cached"]
        times = [f"{1e3 * run[key]:.0f}" for run in (cold, cached) for key in ("call", "batch")]
        memory = [optional(cold["peak_mb"], ".0f"), optional(cold["batch_extra_mb"], ".1f")]
        rows.append([entry["robot"], words(entry["function"]).lower(), *times, *memory])
    header = ["robot", "function", "call", "batch", "cached call", "cached batch", "peak MB", "batch MB"]
    title = "First calls in a new process, ms, with an empty cache and from the cache; memory"
    imports = document["import"]
    numpy, dalembert, llvm = (f"{1e3 * imports[name]:.0f} ms" for name in ("numpy", "dalembert", "llvm"))
    line = f"import numpy: {numpy}; import dalembert adds {dalembert}; loading LLVM, once per process: {llvm}"
    return (table(title, header, rows) + "\n\n" if rows else "") + line


def verdict(document: Document) -> str:
    """Whether the answers agree, and what was left out."""
    lines = []
    for system in distinct(document["agreement"], "system"):
        rows = [row for row in document["agreement"] if row["system"] == system]
        worst = max(row["error"] for row in rows)
        robots = len(distinct(rows, "robot"))
        plural = "s" * (robots != 1)
        lines.append(f"checked {system} on {robots} robot{plural}: largest relative error {worst:.1e}")
    lines += [f"DISAGREES, not timed: {describe(row)}" for row in disagreements(document)]
    lines += [f"left out: {row['system']} on {row['robot']}: {row['reason']}" for row in document["skipped"]]
    return "\n".join(wrapped(lines))


def disagreements(document: Document) -> list[Row]:
    return [row for row in document["agreement"] if not row["error"] <= row["tolerance"]]


def describe(row: Row) -> str:
    reason = f": {row['reason']}" if "reason" in row else ""
    where = f"{row['system']}, {words(row['function']).lower()} of {row['robot']}"
    return f"{where}: relative error {row['error']:.1e}, allowed {row['tolerance']:.0e}{reason}"


def markdown(document: Document, peer: str, robots: Sequence[str]) -> str:
    """The table of docs/performance.md: for each robot and function one call and batch, ours and the peer's."""
    timings, machine = Timings(document["timings"]), document["machine"]
    lines = [
        f"| robot | function | one call, µs | {peer} | × | batch of {BATCH}, µs per state "
        f"| a Python loop over {peer} | × | {peer}'s batch call | × |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for robot in robots:
        for function in distinct(document["timings"], "function"):
            call, batch = timings.get(robot, function, "call"), timings.get(robot, function, "batch", BATCH)
            their_call = timings.get(robot, function, "call", system=peer)
            loop = timings.get(robot, function, "loop", BATCH, system=peer)
            theirs = timings.get(robot, function, "batch", BATCH, system=peer)
            pairs = [call, their_call], [batch, loop]
            cells = [cell for pair in pairs for cell in (*(micro(row, spread=False) for row in pair), ratio(*pair))]
            cells += [micro(theirs, spread=False), ratio(batch, theirs)]
            lines.append(f"| {robot} | {words(function).lower()} | " + " | ".join(cells) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return "\n".join(
        [*lines, "", f"Shortest rounds of {document['date']}; float64, one thread; {machine['processor']}; {versions}."]
    )


def summary(document: Document, peer: str, robots: Sequence[str]) -> str:
    """The README's table: how many times faster than the peer, from the least to the most of all functions."""
    timings = Timings(document["timings"])
    lines = [
        f"| times as fast as | {peer}, one call from Python | a Python loop over {peer}, a batch of {BATCH} "
        f"| {peer}'s own batch call |",
        "|---|--:|--:|--:|",
    ]
    for robot in robots:
        cells = []
        for mode, theirs, size in (("call", "call", 1), ("batch", "loop", BATCH), ("batch", "batch", BATCH)):
            factors = []
            for function in distinct(document["timings"], "function"):
                ours = timings.get(robot, function, mode, size)
                other = timings.get(robot, function, theirs, size, system=peer)
                if ours and other:
                    factors.append(other["best"] / ours["best"])
            cells.append(f"{min(factors):.0f}–{max(factors):.0f}×" if factors else "-")
        lines.append(f"| {robot} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def save_plot(document: Document, path: Path) -> None:
    """Write a PNG. Needs matplotlib (`pip install "dalembert[plot]"`)."""
    rows, timings = document["timings"], Timings(document["timings"])
    functions, robots = distinct(rows, "function"), distinct(rows, "robot")
    systems = [name for name in distinct(rows, "system") if name != OURS]
    series = [(f"{OURS}, one call", OURS, "call", 1), (f"{OURS}, batch of {BATCH}", OURS, "batch", BATCH)]
    series += [(f"{name}, one call", name, "call", 1) for name in systems]
    picture = figure(11.0, 1 + 2.2 * len(functions))
    panels = picture.subplots(len(functions), 1, sharex=True, squeeze=False)[:, 0]
    for panel, function in zip(panels, functions, strict=True):
        for k, (label, system, mode, batch) in enumerate(series):
            measured = [timings.get(robot, function, mode, batch, system=system) for robot in robots]
            at = [i + 0.12 * (k - (len(series) - 1) / 2) for i, row in enumerate(measured) if row]
            values = [1e6 * row["best"] for row in measured if row]
            high = [1e6 * (row["high"] - row["best"]) for row in measured if row]
            panel.errorbar(
                at, values, yerr=[[0.0] * len(high), high], fmt="s" if system == OURS else "o", label=label, capsize=2
            )
        panel.set(yscale="log", ylabel="µs per state", title=function.replace("_", " "))
        panel.set_xticks(range(len(robots)), robots)
        panel.grid(axis="y", which="both", alpha=0.25)
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, ncols=len(series), fontsize="small", loc="outside upper center")
    with replacing(path) as temporary:
        picture.savefig(temporary, dpi=130)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as needed; the first to the left, the others to the right (words to the left as well)."""
    cells = [list(header), *rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    left = [not any(row[k][:1].isdigit() or row[k] == "-" for row in rows) or k == 0 for k in range(len(header))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [
        "  ".join(
            c.ljust(w) if at_left else c.rjust(w) for c, w, at_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([title, rule, lines[0], rule, *lines[1:]])


def micro(row: Row | None, spread: bool = True) -> str:
    """The shortest round in µs to three digits, with half the interquartile range in per cent of the median."""
    if row is None:
        return "-"
    value = 1e6 * row["best"]
    digits = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    if not spread:
        return digits
    return f"{digits} ±{50 * (row['high'] - row['low']) / row['median']:.0f}%"


def ratio(fast: Row | None, slow: Row | None) -> str:
    """How many times faster the first is."""
    return f"{slow['best'] / fast['best']:.1f}" if fast and slow else "-"


def operation_count(document: Document, robot: str, function: str) -> str:
    counts = (r["counts"] for r in document["operations"] if (r["robot"], r["function"]) == (robot, function))
    return str(sum(next(counts, {}).values()))


def optional(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def words(function: str) -> str:
    return function.replace("_", " ").capitalize()


def wrapped(lines: Iterable[str], width: int = 100) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="    ")]
