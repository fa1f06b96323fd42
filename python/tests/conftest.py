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


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `flitway ARGUMENTS --json FILE` in the folder of the test: the JSON object."""

    def call(*arguments: str) -> Any:
        cargo = [os.environ.get("CARGO", "cargo"), "run", "--quiet", "--manifest-path", str(ROOT / "Cargo.toml"), "--"]
        subprocess.run([*cargo, *arguments, "--json", "out.json"], cwd=tmp_path, check=True, capture_output=True)
        return json.loads((tmp_path / "out.json").read_text())

    return call


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
