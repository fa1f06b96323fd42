"""Results: numbers by name, frames, pictures, files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import flitway
import matplotlib.axes
import matplotlib.pyplot
import numpy
import pandas
import pyarrow.parquet
import pytest


@pytest.fixture(scope="module")
def result() -> flitway.Result:
    return flitway.run("hpp-switch", load=[0.2, 0.3, 1.5], packet="64B", warm_up="200 us", duration="100 us")


@pytest.fixture
def graph() -> flitway.Result:
    Path("pair.goal").write_text("num_ranks 2\nrank 0 {\na: send 64b to 1\n}\nrank 1 {\na: recv 64b from 0\n}\n")
    return flitway.run("hpp-switch", graph="pair.goal")


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


def marks(axes: matplotlib.axes.Axes) -> list[tuple[float, float]]:
    """Where the marks of a curve are."""
    return [(float(x), float(y)) for x, y in numpy.asarray(axes.lines[0].get_xydata())]


def test_a_picture_shows_what_is_asked_for_or_says_why_not(result: flitway.Result) -> None:
    accepted = [point.accepted_load for point in result]
    assert marks(result.plot("accepted")) == list(zip([0.2, 0.3, 1.5], accepted, strict=True))
    p99 = [point["packet_latency_ns.p99"] for point in result.points[:2]]
    assert marks(result.plot("p99")) == list(zip(accepted[:2], p99, strict=True))
    axes = result.plot(x="offered_load", y="packet_latency_ns.p999")
    assert len(marks(axes)) == 2 and axes.get_ylabel() == "packet_latency_ns.p999"
    drawn = len(matplotlib.pyplot.get_fignums())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kind": "p9"}, "no kind of plot `p9`; did you mean `p99`"),
        ({"kind": "barrier"}, "no point has `barrier.latency_ns.mean`: try `plot.\"latency\"."),
        ({"y": "packet_latency"}, "did you mean"),
    ]
    for options, message in wrong:
        with pytest.raises((KeyError, ValueError), match=message):
            result.plot(**options)
    full = flitway.run("hpp-switch", load=1.5, packet="64B", warm_up="50 us", duration="100 us")
    with pytest.raises(ValueError, match="no point is steady .saturated."):
        full.plot()
    assert len(matplotlib.pyplot.get_fignums()) == drawn, "no empty axes"
    matplotlib.pyplot.close("all")


def test_a_graph_has_a_frame_of_its_ranks_and_no_curve(graph: flitway.Result) -> None:
    frame = graph.to_pandas("ranks")
    assert list(frame["rank"]) == [0, 1] and list(frame["point"]) == [0, 0]
    assert frame["completion_ns"].max() == graph[0]["graph.completion_ns"]
    assert graph.to_arrow("ranks").num_rows == 2
    with pytest.raises(ValueError, match=r"a task graph has no curve; `to_pandas\(\"ranks\"\)`"):
        graph.plot()
    with pytest.raises(ValueError, match="expected points or ranks"):
        graph.to_pandas("rank")


def test_other_results_have_no_ranks(result: flitway.Result) -> None:
    with pytest.raises(ValueError, match="no ranks"):
        result.to_arrow("ranks")


def test_a_result_is_a_sequence_of_points(result: flitway.Result) -> None:
    assert len(result) == 3 and list(result) == result.points and result[-1] is result.points[2]


def test_a_result_says_what_it_is(result: flitway.Result, graph: flitway.Result) -> None:
    assert repr(result[0]).startswith("<flitway.Point offered_load=0.2, accepted_load=0.")
    assert repr(graph[0]) == f"<flitway.Point graph.completion_ns={graph[0]['graph.completion_ns']}, graph.completed=True>"
    text = result._repr_html_()
    assert text.count("<tr>") == 4 and "<th>packet_latency_ns.p99</th>" in text and "flitway run hpp-switch" in text
    assert "<td>graph.completion_ns</td>" in graph[0]._repr_html_() and "verdict" not in graph._repr_html_()


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow"), ("plot", "matplotlib")])
def test_what_is_missing_is_named(
    result: flitway.Result, monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(result, method)()
