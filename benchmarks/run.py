"""Time dalembert beside every installed peer: `python benchmarks/run.py [--quick] [robot …]`, results below bench/.

The same as `dalembert bench --out bench`; the code is in src/dalembert/cli/benchmark so that an installed package has
it.
"""

import sys

from dalembert.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "--out", "bench", *sys.argv[1:]]))
