"""What tests share: the command line, for comparison, and a folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]

#: The fields that differ between equal runs, or say how a result was made.
OF_THIS_RUN = ("wall_s", "peak_rss_bytes", "command")

Cli = Callable[..., Any]


def same(data: Any) -> Any:
    """What is the same in equal runs."""
    if isinstance(data, dict):
        return {name: same(value) for name, value in data.items() if name not in OF_THIS_RUN}
    return [same(value) for value in data] if isinstance(data, list) else data


@pytest.fixture(scope="session")
def command() -> Path:
    """The command line, built with the features of the whole workspace, as everything else is."""
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "build", "--quiet", "--workspace", "--bin", "flitway"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "flitway"


@pytest.fixture
def cli(command: Path, tmp_path: Path) -> Cli:
    """Runs `flitway ARGUMENTS --json FILE` in the folder of the test: the JSON object."""

    def call(*arguments: str) -> Any:
        subprocess.run([command, *arguments, "--json", "out.json"], cwd=tmp_path, check=True, capture_output=True)
        return json.loads((tmp_path / "out.json").read_text())

    return call


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
