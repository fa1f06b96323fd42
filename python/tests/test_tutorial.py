"""The tutorial runs from top to bottom, and shows what it says."""

from __future__ import annotations

import json
import os
from typing import Any

import flitway
import pytest
from conftest import ROOT
from notebook import run_cell, texts


@pytest.mark.filterwarnings("ignore::flitway.FlitwayWarning")
def test_the_tutorial_runs_and_its_outputs_are_those_of_today() -> None:
    """`FLITWAY_ACCEPT=1 cargo xtask py -k tutorial` writes what it shows today, pictures too."""
    path = ROOT / "python" / "tutorial.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    kept = [texts(cell["outputs"]) for cell in code]
    for count, cell in enumerate(code, 1):
        cell["execution_count"] = count
        cell["outputs"] = run_cell("".join(cell["source"]), count, names)
    if "FLITWAY_ACCEPT" in os.environ:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        assert kept == [texts(cell["outputs"]) for cell in code]
    assert names["codes"] == ["FW-M010", "FW-M013"]
    slower, faster = (names[name][-1]["packet_latency_ns.mean"] for name in ("one", "three"))
    assert slower > faster
    accepted = [result[0]["accepted_load"] for result in names["came"]]
    assert accepted[-1] > 1.2 * accepted[0], "what is varied matters"
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
