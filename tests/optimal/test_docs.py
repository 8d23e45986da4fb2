"""The code blocks of docs/optimal.md run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parent.parent.parent / "docs" / "optimal.md"


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) >= 4
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {})
    printed = capsys.readouterr().out
    assert "converged" in printed and "plans: median" in printed
