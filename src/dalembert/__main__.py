"""`python -m dalembert`, the same as the program `dalembert`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
