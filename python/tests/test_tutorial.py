"""The tutorial runs from top to bottom, and shows what it says."""

from __future__ import annotations

import json
from typing import Any

import flitway
import pytest
from conftest import ROOT


@pytest.mark.filterwarnings("ignore::flitway.FlitwayWarning")
def test_the_tutorial_runs() -> None:
    cells = json.loads((ROOT / "python" / "tutorial.ipynb").read_text())["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "the notebook is kept without outputs"
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert names["codes"] == ["FW-M010", "FW-M013"]
    slower, faster = (names[name].points[-1]["packet_latency_ns.mean"] for name in ("one", "three"))
    assert slower > faster
    assert len(names["came"].findings) == 1
    assert names["point"]["graph.completed"] is True


def test_what_the_page_shows_runs() -> None:
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    # Examples with `>>>` are doctests; what needs a cluster, or the outcome of one, is not run.
    shown = [block for block in blocks if ">>>" not in block and "came" not in block]
    assert len(shown) == 3
    names: dict[str, Any] = {"flitway": flitway}
    for block in shown:
        exec(block, names)
    assert names["machine"].check().nodes == 256


def test_what_the_journey_of_an_application_shows_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "own-application.md").read_text()
    program, rest = text.split("```python\n")[1].split("```", 1)
    exec(program, {})
    assert capsys.readouterr().out == rest.split("```text\n")[1].split("```")[0]
