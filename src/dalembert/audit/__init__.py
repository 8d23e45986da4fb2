"""The audit: what a careful engineer checks of a robot model before trusting it, each check a small rule.

Rules look at the model (structure, limits, inertia), at laws its numbers must obey, and at what its motors can hold.
"""

from .result import Audit, AuditFinding, run_audit
from .rule import RULES, Rule
from .suppressions import Suppression, read_suppressions

__all__ = ["RULES", "Audit", "AuditFinding", "Rule", "Suppression", "read_suppressions", "run_audit"]
