"""Traffic patterns of one's own."""

from __future__ import annotations

from pathlib import Path

import flitway
import numpy
import pandas
import pytest

QUICK = {"load": 0.3, "warm_up": "2 us", "duration": "100 us"}


def test_a_matrix_is_a_pattern(tmp_path: Path) -> None:
    weights = numpy.zeros((16, 16))
    weights[:, 5] = 1 / 3
    weights[5] = numpy.arange(16)
    weights[5, 5] = 0
    pattern = flitway.write_traffic(weights, tmp_path / "to-5.txt")
    filled = {**QUICK, "warm_up": "100 us"}
    point = flitway.run("hpp-switch", traffic=pattern, **filled).points[0]  # type: ignore[arg-type]
    assert point.saturated and point["limit"] == "ejection"
    assert point["channel_load.busiest"] is not None and point["channel_load.busiest"][0]["to"]["node"] == 5
    loads = flitway.Machine("hpp-switch").check(traffic=pattern)["channel_loads"]
    assert loads["max"] == 15 and loads["bound"] == pytest.approx(1 / 15)


def test_a_frame_is_a_matrix() -> None:
    weights = numpy.arange(16.0).reshape(4, 4) * (1 - numpy.eye(4))
    names = list("abcd")
    flitway.write_traffic(pandas.DataFrame(weights, index=names, columns=names), "frame.txt", nodes=4)
    flitway.write_traffic(weights, "array.txt")
    assert Path("frame.txt").read_text() == Path("array.txt").read_text()


def test_the_uniform_matrix_gives_what_uniform_traffic_is_expected_to() -> None:
    pattern = flitway.write_traffic(1 - numpy.eye(64), "uniform.txt", nodes=64)
    machine = flitway.Machine("mesh-8x8")
    ours, theirs = machine.check(traffic=pattern)["channel_loads"], machine.check()["channel_loads"]
    assert ours["max"] == pytest.approx(theirs["max"], rel=1e-12)
    assert ours["bound"] == pytest.approx(theirs["bound"], rel=1e-12)


def test_a_function_is_asked_once_for_each_source() -> None:
    asked = []

    def shift(source: int, nodes: int) -> int:
        asked.append(source)
        return (source + nodes // 2) % nodes

    pattern = flitway.write_traffic(shift, "shift.txt", nodes=16)
    result = flitway.run("hpp-switch", traffic=pattern, **QUICK)  # type: ignore[arg-type]
    assert asked == list(range(16)) and result.points[0].verdict == "steady"
    assert result.workload["traffic"] == "matrix(shift.txt)"
    lists = flitway.write_traffic(lambda source, nodes: [source ^ 1, source ^ 2], "lists.txt", nodes=4)
    assert lists == "matrix(lists.txt)" and Path("lists.txt").read_text().splitlines()[0] == "0 1 1 0"


@pytest.mark.parametrize("name", ["my file (1),a.txt", "a=b.txt", " a.txt"])
def test_any_name_of_a_file_can_be_run(name: str, tmp_path: Path) -> None:
    for path in (name, tmp_path / name):
        pattern = flitway.write_traffic(1 - numpy.eye(16), path)
        result = flitway.run("hpp-switch", traffic=pattern, **QUICK)  # type: ignore[arg-type]
        assert result.points[0].verdict == "steady" and result.workload["traffic"] == pattern
    with pytest.raises(ValueError, match="without quotes"):
        flitway.write_traffic(1 - numpy.eye(16), tmp_path / 'a"b.txt')


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0, float("nan")], [1, 0]], "weight nan of node 0 for node 1: expected a number of 0 or more"),
        ([[0, 1], [float("inf"), 0]], "weight inf of node 1 for node 0"),
        ([[0, "1"], [1, 0]], "weight 1 of node 0 for node 1: expected a number of 0 or more"),
        (pandas.DataFrame([[0, 1], [None, 0]]), "weight nan of node 1 for node 0: expected a number of 0 or more"),
        ([[0, 1], [-1, 0]], "weight -1 of node 1 for node 0: expected a number of 0 or more"),
        (numpy.zeros((2, 2)), "all weights are zero"),
        (numpy.eye(2), r"node 0 would send to itself with weight 1\.0: expected 0; .numpy\.fill_diagonal"),
        (numpy.ones((2, 3)), "row 0 of `weights` has 3 weights: expected one for each of 2 rows"),
        ([[0, 1], [1]], "row 1 of `weights` has 1 weights"),
        (numpy.ones(4), "expected a row for each node that sends"),
        ([], "all weights are zero"),
    ],
)
def test_an_array_that_is_no_pattern_is_refused_at_once(weights: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        flitway.write_traffic(weights, tmp_path / "wrong.txt")
    assert not (tmp_path / "wrong.txt").exists()


def test_what_is_wrong_is_told() -> None:
    pattern = flitway.write_traffic([[0, 1], [1, 0]], "wrong.txt")
    with pytest.raises(flitway.WorkloadError, match="a line for each of 16 nodes, and the file has 2"):
        flitway.run("hpp-switch", traffic=pattern, **QUICK)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="node 0 would send to itself"):
        flitway.write_traffic(lambda source, nodes: 0, "no.txt", nodes=4)
    with pytest.raises(TypeError, match="nodes"):
        flitway.write_traffic(lambda source, nodes: 0, "no.txt")
    with pytest.raises(ValueError, match="node 0 sends to node 9: expected one of 4"):
        flitway.write_traffic(lambda source, nodes: 9, "no.txt", nodes=4)
    with pytest.raises(TypeError, match="has returned 'x' for node 0: expected a node, nodes"):
        flitway.write_traffic(lambda source, nodes: "x", "no.txt", nodes=4)  # type: ignore[return-value]
    with pytest.raises(ValueError, match="2 rows: expected one for each of 4"):
        flitway.write_traffic([[0, 1], [1, 0]], "no.txt", nodes=4)
    with pytest.raises(TypeError, match="write_traffic"):
        flitway.run("hpp-switch", traffic=numpy.eye(16))  # type: ignore[arg-type]
