"""Put the measured speed into README.md and docs/performance.md from a result of the benchmark (bench/bench.json)."""

import json
import sys
from pathlib import Path

from dalembert.bench import cases, report

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- speed: written by benchmarks/update_readme.py -->", "<!-- speed: end -->"


def main(source: Path) -> int:
    if not source.exists():
        print(f"{source} does not exist; run `make bench` first", file=sys.stderr)
        return 2
    document = json.loads(source.read_text())
    measured = report.distinct(document["timings"], "robot")
    robots = [label for label, *_ in cases.EXAMPLES if label in measured] or measured
    for name, table in (("README.md", report.summary), ("docs/performance.md", report.markdown)):
        page = ROOT / name
        before, rest = page.read_text("utf-8").split(BEGIN)
        _, after = rest.split(END)
        page.write_text(f"{before}{BEGIN}\n{table(document, 'Pinocchio', robots)}\n{END}{after}", "utf-8")
        print(f"{name}: table of {document['date']} written")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "bench" / "bench.json"))
