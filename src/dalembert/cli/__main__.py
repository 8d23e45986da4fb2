"""`python -m dalembert.cli`, the same as the program `dalembert`."""

import sys

from . import main

sys.exit(main())
