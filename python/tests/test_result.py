"""Results: numbers by name, frames, pictures, files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import flitway
import numpy
import pandas
import pyarrow.parquet
import pytest


@pytest.fixture(scope="module")
def result() -> flitway.Result:
    return flitway.run("hpp-switch", load=[0.2, 0.3, 1.5], packet="64B", warm_up="200 us", duration="100 us")


def test_numbers_have_names_and_types(result: flitway.Result) -> None:
    low, _, high = result.points
    assert low.offered_load == 0.2 and low.verdict == "steady" and not low.saturated
    assert high.saturated and high.verdict == "saturated" and high["limit"]
    assert low.packet_latency_ns and low.packet_latency_ns.ci95
    assert low.packet_latency_ns.p50 <= low.packet_latency_ns.p99 <= low.packet_latency_ns.max
    assert result["machine.description.switch.ports"] == 16
    assert low["channel_load.injection.channels"] == 16
    assert result.machine == "hpp-switch" and result.seed == 1 and result.workload["packet"] == "64B"


def test_a_name_that_no_point_has_is_an_error(result: flitway.Result, tmp_path: Path) -> None:
    point = result.points[0]
    assert point["graph.completion_ns"] is None and point["packet_latency_ns.p50"] > 0
    for path in ("foo", "packet_latency_ns.p5", "offered_load.mean"):
        with pytest.raises(KeyError, match="a point has no"):
            point[path]
    graph = tmp_path / "ring.goal"
    graph.write_text("num_ranks 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="ring.goal holds no flitway/result/1: it is no JSON"):
        flitway.Result.read(graph)


def test_frames_have_a_row_for_each_point(result: flitway.Result) -> None:
    frame = result.to_pandas()
    assert list(frame["offered_load"]) == [0.2, 0.3, 1.5]
    assert frame["packet_latency_ns.p99"].notna().all()
    table = result.to_arrow()
    assert table.num_rows == 3
    assert table.column("limit").to_pylist()[:2] == [None, None]


def test_a_parquet_file_is_the_frame(result: flitway.Result, tmp_path: Path) -> None:
    result.to_parquet(tmp_path / "points.parquet")
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "points.parquet"), result.to_pandas())
    table = pyarrow.parquet.read_table(tmp_path / "points.parquet")
    assert table.cast(result.to_arrow().schema).equals(result.to_arrow())
    metadata = {name.decode(): text.decode() for name, text in table.schema.metadata.items()}
    assert metadata["schema"] == "flitway/result/1" and json.loads(metadata["machine"]) == result["machine"]
    assert json.loads(metadata["command"]) == result.command


def test_what_was_written_can_be_read(result: flitway.Result, tmp_path: Path) -> None:
    text = result.to_json(tmp_path / "out.json")
    assert json.loads(text) == result.data == flitway.Result.read(tmp_path / "out.json").data
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="no flitway/result/1"):
        flitway.Result.read(tmp_path / "other.json")


def test_a_picture_has_a_mark_for_each_steady_point(result: flitway.Result) -> None:
    line = result.plot().lines[0]
    assert numpy.array_equal(line.get_xdata(), [point.accepted_load for point in result.points[:2]])  # type: ignore[arg-type]


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow"), ("plot", "matplotlib")])
def test_what_is_missing_is_named(
    result: flitway.Result, monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(result, method)()
