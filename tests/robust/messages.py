"""Looking into error messages."""

from __future__ import annotations

import re

import pytest

from dalembert import DalembertError


def raises(*parts: str, kind=DalembertError):
    """An error is raised whose message holds these parts, in this order."""
    return pytest.raises(kind, match="(?s)" + ".*".join(re.escape(p) for p in parts))
