"""The audit of the bundled robots: no errors, no warnings, nothing blocked."""

from __future__ import annotations

import pytest

from dalembert import load
from dalembert.audit import RULES
from dalembert.model.bundled import names

LAWS = ("derivatives", "energy", "inverse-forward", "passivity", "gravity-by-hand")  # tests/laws has them for any tree


@pytest.mark.parametrize("name", names())
def test_a_bundled_robot_has_nothing_beyond_info(name: str) -> None:
    audit = load(name).audit(rules=[rule for rule in RULES if rule not in LAWS])
    assert not audit.failed and audit.ok, str(audit)
