"""Put the table of measured speed into README.md from a result of the benchmark (default bench/bench.json)."""

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
    table = report.markdown(document, "Pinocchio", robots)
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
    print(f"README.md: table of {document['date']} written")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "bench" / "bench.json"))
