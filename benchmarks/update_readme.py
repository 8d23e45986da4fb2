"""Write the figures of README.md and two pages of docs from the results in benchmarks/results (see figures.py).

Each block of a page, from `<!-- figures: NAME -->` to `<!-- figures: end -->`, is what `BLOCKS[NAME]` makes of a saved
result. A test refuses figures of speed outside such blocks.
"""

import json
import re
import sys
from pathlib import Path

from dalembert.cli.benchmark import cases, report

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = ("README.md", "docs/index.md", "docs/performance.md")
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(\n<!-- figures: end -->)", re.S)
ROBOTS = [label for label, *_ in cases.EXAMPLES]


def loaded(name):
    """A saved result."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def where(document, *more):
    """The line below a table: when and on what it was measured, and how busy the machine was."""
    machine, versions, load = document["machine"], document["versions"], document["load"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    busy = f"load {load['before']:.0f} to {load['after']:.0f} on {machine['cores']} processors"
    return " ".join([*more, f"Measured {document['date']}: {machine['processor']}, {busy}; {listed}."])


def table(head, rows):
    """A Markdown table; all columns but the first to the right."""
    rule = "|---|" + "".join("---|" if name == "what" else "--:|" for name in head[1:])
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def timings():
    document = loaded("speed")
    return document | {"timings": document["rows"]}


def span(ratios):
    """The worst and the best of some ratios."""
    low, high = min(ratios), max(ratios)
    return f"{number(low)}×" if number(low) == number(high) else f"{number(low)}–{number(high)}×"


def number(x):
    """Two digits, as many as such measurements have."""
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def micro(seconds):
    return f"{1e6 * seconds:.3g}"


def summary():
    """README: Pinocchio's calls and batches."""
    document = timings()
    note = "Inverse and forward dynamics, mass matrix and Jacobian, worst to best; Pinocchio has batch calls of"
    return (
        report.summary(document, "Pinocchio", ROBOTS)
        + "\n\n"
        + where(document, note, "the first two. One thread each, answers compared first.")
    )


def beside():
    """README: the rest, worst rows beside best."""
    rows = []
    rolled = loaded("simulation")
    for batch, words in ((64, "a batch"), (1, "one motion alone")):
        ratios = [r["recording"] / r["MuJoCo"] for r in rolled["rows"] if r["batch"] == batch]
        rows.append(["MuJoCo", f"rollouts without contact, {words}, both keeping every state", span(ratios)])
    for scene in loaded("scenes")["rows"]:
        words = {"stack4": "4 stacked cubes", "bin30": "a bin of 30 balls (crowded contact)"}[scene["scene"]]
        rows.append(
            [
                "MuJoCo",
                f"{words}: alone; 8 at once",
                " ; ".join(number(scene["MuJoCo"] / scene[k]) + "×" for k in ("alone", "eight")),
            ]
        )
    for task, setting, ratio in go1():
        rows.append(["MuJoCo", f"a Go1 that {task}, all that its file says; {setting}", number(ratio) + "×"])
    for swing in loaded("swings")["rows"]:
        rows.append(
            [
                "SciPy on Pinocchio",
                f"a UR5 swings {swing['seconds']:g} s, {swing['methods']}",
                number(swing["ratio"]) + "×",
            ]
        )
    rows.append(["Pinocchio", "inverse dynamics between other work, caches cold", span(cold_ratios())])
    text = table(["beside", "what", "times as fast"], rows)
    first = {r["call"]: r for r in loaded("first")["rows"] if r["robot"] == "UR5"}["inverse dynamics"]
    cost = (
        "The first call compiles: from `import` to the first inverse dynamics of a UR5, "
        f"{first['empty']['seconds']:.2f} s of processor time with an empty cache, {first['filled']['seconds']:.2f} s "
        "with a filled one."
    )
    return text + "\n\n" + cost + "\n\n" + where(rolled, "One core, both sides in one run each.")


def cold_ratios():
    rows = loaded("cold")["rows"]
    by = {(r["robot"], r["system"]): r["cold"] for r in rows}
    return [by[robot, "Pinocchio"] / by[robot, "dalembert"] for robot in ROBOTS]


def go1():
    """What Go1 does, in whose setting, and how many times as fast we are: everything that its file says."""
    rows = loaded("robots")["rows"]

    def tasks(system, *settings):
        chosen = [r["tasks"] for r in rows if r["system"] == system and r["setting"] in settings]
        return {name: time for each in chosen for name, time in each.items()}

    ours = tasks("dalembert", "as typed", "as typed, limp, 8 motions")
    for setting, words in (
        ("file", "MuJoCo with its file's setting"),
        ("pyramidal Newton", "pyramids, Newton's method"),
    ):
        theirs = tasks("MuJoCo", setting, f"{setting}, limp")
        for name in theirs:
            yield {"limp": "lies limp"}.get(name, name), words, theirs[name] / ours[name]


def speed():
    """Every function and robot."""
    document = timings()
    lines = report.markdown(document, "Pinocchio", ROBOTS).splitlines()[:-2]
    return "\n".join(lines) + "\n\n" + where(document, "Shortest rounds; float64, one thread.")


def calls():
    """One call in all ways."""
    document = loaded("calls")
    robots = list(dict.fromkeys(row["robot"] for row in document["rows"]))
    found = {(row["code"], row["robot"]): row for row in document["rows"]}
    rows = [
        [
            f"`{code}`",
            *(
                f"{micro(r['seconds'])} · {number(r['Pinocchio'] / r['seconds'])}×"
                for r in (found[code, x] for x in robots)
            ),
        ]
        for code in dict.fromkeys(row["code"] for row in document["rows"])
    ]
    return table(["µs · times as fast as Pinocchio's call", *robots], rows) + "\n\n" + where(document)


def reach():
    """Inverse kinematics of arms."""
    document = loaded("reach")
    rows = [
        [
            f"{r['robot']}, `{r['limb']}`" if r["limb"] else r["robot"],
            micro(r["seconds"]),
            f"{r['steps']:.1f}",
            micro(r["Pinocchio"]),
            f"{r['Pinocchio steps']:.1f}",
            number(r["Pinocchio"] / r["seconds"]) + "×",
        ]
        for r in document["rows"]
    ]
    head = [
        "inverse kinematics from 0.05 rad away, one call, µs",
        "dalembert",
        "steps",
        "Python on Pinocchio",
        "steps",
        "×",
    ]
    return table(head, rows) + "\n\n" + where(document, "Mean of 20 starts; limits are kept by dalembert alone.")


def cold():
    """Calls between other work."""
    document = loaded("cold")
    found = {(r["robot"], r["system"]): r for r in document["rows"]}
    columns = [(system, kind) for kind in ("warm", "cold") for system in ("dalembert", "Pinocchio")]
    rows = [
        [robot, *(micro(found[robot, system][kind]) for system, kind in columns), number(ratio) + "×"]
        for robot, ratio in zip(ROBOTS, cold_ratios(), strict=True)
    ]
    head = ["inverse dynamics, µs", "repeated", "Pinocchio", "between other work", "Pinocchio", "×"]
    return table(head, rows) + "\n\n" + where(document, "Elapsed time, clock included; the other work touches 32 MB.")


def scenes():
    """Loose bodies."""
    document = loaded("scenes")
    rows = [
        [
            r["scene"],
            *(f"{r[k]:.1f}" for k in ("alone", "eight", "MuJoCo")),
            *(number(r["MuJoCo"] / r[k]) + "×" for k in ("alone", "eight")),
        ]
        for r in document["rows"]
    ]
    head = ["µs per step", "alone", "each of 8", "MuJoCo (Newton, elliptic)", "alone, ×", "8, ×"]
    return table(head, rows) + "\n\n" + where(document)


def robots():
    """A Go1 in all settings."""
    document = loaded("robots")
    rows = [
        [
            f"{r['system']}: {r['setting']}",
            *(f"{r['tasks'][k]:g}" if k in r["tasks"] else "" for k in ("stands", "trots", "limp")),
        ]
        for r in document["rows"]
    ]
    return table(["Go1 (Menagerie's go1.xml), µs per step", "stands", "trots", "limp"], rows) + "\n\n" + where(document)


def first():
    """First calls."""
    document = loaded("first")
    rows = [
        [f"{r['robot']}, {r['call']}", *(f"{r[k]['seconds']:.2f} ({r[k]['loops']:.1f})" for k in ("empty", "filled"))]
        for r in document["rows"]
    ]
    head = ["from `import` to the answer, s of processor time (loops)", "empty cache", "filled cache"]
    return table(head, rows) + "\n\n" + where(document)


def simulation():
    """Rollouts and adaptive runs."""
    document = loaded("simulation")
    rows = [
        [f"{r['robot']}, {'alone' if r['batch'] == 1 else r['batch']}",
         *(f"{r[k] / 1e6:.2f}" for k in ("dalembert", "recording", "MuJoCo")),
         *(number(r[k] / r["MuJoCo"]) + "×" for k in ("dalembert", "recording"))]
        for r in document["rows"]
    ]  # fmt: skip
    head = [
        "rollouts, millions of steps a second",
        "last state kept",
        "every state kept",
        "`mujoco.rollout`, every state",
        "last, ×",
        "every, ×",
    ]
    swings = loaded("swings")
    runs = [
        [
            f"{r['methods']}, {r['seconds']:g} s",
            f"{1e3 * r['dalembert']:.2f}",
            f"{1e3 * r['SciPy + Pinocchio']:.1f}",
            number(r["ratio"]) + "×",
        ]
        for r in swings["rows"]
    ]
    second = table(["swing of a UR5 (example-robot-data), ms", "dalembert", "SciPy on Pinocchio", "×"], runs)
    return table(head, rows) + "\n\n" + where(document) + "\n\n" + second + "\n\n" + where(swings)


def quantities():
    """Derivatives, matrices and regressors."""
    document = loaded("quantities")
    rows = [
        [f"{r['robot']}, {r['quantity'].replace('_', ' ')}", micro(r["one"]), number(r["pin one"] / r["one"]) + "×",
         micro(r["batch"]), micro(r["fill"]), number(r["pin loop"] / r["batch"]) + "×"]
        for r in document["rows"]
    ]  # fmt: skip
    head = [
        "",
        "one call, µs",
        "beside Pinocchio's call",
        "in a batch, µs per state",
        "`out.fill(1.0)` alone, µs",
        "beside a Python loop over Pinocchio",
    ]
    return table(head, rows) + "\n\n" + where(document, "One thread.")


BLOCKS = {
    f.__name__: f for f in (summary, beside, speed, calls, reach, cold, scenes, robots, first, simulation, quantities)
}


def written(page):
    """A page with its blocks as the results have them."""
    return BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]]() + found[3], page)


def main():
    for name in PAGES:
        path = ROOT / name
        path.write_text(written(path.read_text("utf-8")), "utf-8")
        print(f"{name}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
