"""The audit: the checks a careful engineer makes of a robot model before trusting it, each a small rule.

Rules look at the model (structure, limits, inertia), at laws its numbers must obey, and at what its motors can hold. To
write one: `rule`, `Found`, `NotRun` and `Subject`.

In: a `Robot`. Out: findings, each with its reason and a cure. Read in this order: `rule` and `subject`, what a rule is
given; `structure`, `inertia`, `laws` and the like, one file per subject; `run` and `result`.
"""

from .diagnose import Diagnosis, diagnose
from .expectations import Expectations, expectations_of, read_expectations, write_expectations
from .holding import Headroom
from .result import Audit, AuditFinding, Skipped, Verdict
from .rule import RULES, STEPS, Found, NotRun, Rule, Step, Suppression, read_suppressions, rule
from .run import load_rules, run_audit
from .subject import Subject

__all__ = [
    "RULES", "STEPS", "Audit", "AuditFinding", "Diagnosis", "Expectations", "Found", "Headroom", "NotRun", "Rule",
    "Skipped", "Step", "Subject", "Suppression", "Verdict", "diagnose", "expectations_of", "load_rules",
    "read_expectations", "read_suppressions", "rule", "run_audit", "write_expectations",
]  # fmt: skip
