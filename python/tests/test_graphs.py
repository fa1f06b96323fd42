"""Task graphs from generators, and topologies from NetworkX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import flitway
import networkx
import pytest


def ring(rank: int, ranks: int) -> Iterator[flitway.Task | list[flitway.Task]]:
    yield flitway.calc(100 * rank)
    yield []
    yield [flitway.send(64, (rank + 1) % ranks, tag=3), flitway.recv(64, None, tag=None)]
    yield flitway.calc(1000, cpu=1)


def test_a_generator_for_each_rank_is_a_task_graph(tmp_path: Path) -> None:
    path = tmp_path / "ring.goal"
    path.write_text(flitway.task_graph(ring, 16))
    point = flitway.run("hpp-switch", graph=path).points[0]
    assert point["graph.completed"] is True and point["graph.messages"] == 16
    assert point["graph.completion_ns"] > 1500 + 1000
    assert point.fault is None


def test_what_is_no_task_is_named_with_its_rank() -> None:
    task = flitway.calc(1)
    for wrong, message in [
        (lambda rank, ranks: [task, 3] if rank else [task], "rank 1 yields 3: expected a task"),
        (lambda rank, ranks: [[task, "calc 3"]], "rank 0 yields 'calc 3': expected a task"),
        (lambda rank, ranks: None, "the program of rank 0 has returned None: expected a generator"),
    ]:
        with pytest.raises(TypeError, match=message):
            flitway.task_graph(wrong, 2)  # type: ignore[arg-type]


def test_graphs_run_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "ring.goal"
    path.write_text(flitway.task_graph(ring, 4))
    result = flitway.run("hpp-switch", graph=[path, path], placement=["linear", "random"], load=0.2)
    assert [point["graph.name"] for point in result.points] == [str(path), f"{path} (2)"]
    assert all(point["graph.completed"] and point["offered_load"] == 0.2 for point in result.points)
    ranks = result.to_pandas("ranks")
    assert len(ranks) == 8 and list(ranks["graph.name"].unique()) == [str(path), f"{path} (2)"]
    axes = result.plot("graph")
    assert len(axes.lines[0].get_xdata()) == 2  # type: ignore[arg-type]


def test_a_graph_of_networkx_is_a_topology(tmp_path: Path) -> None:
    graph = networkx.petersen_graph()
    graph.edges[0, 1]["length"] = "12 m"
    path = flitway.write_topology(graph, tmp_path / "petersen.graph", nodes_per_switch=2)
    machine = flitway.Machine("hpp-switch", {"topology": {"kind": "graph", "file": str(path)}, "link.length.switch": "2 m"})
    checked = machine.check()
    assert checked.nodes == 20
    assert checked["facts.switches_per_rail"] == 10 and checked["deadlock.free"] is True
    assert sum(link.endswith("12 m") for link in checked["machine.description.graph.links"]) == 1
    assert machine.run(load=0.1, warm_up="5 us", duration="200 us").points[0].verdict == "steady"


def test_edges_have_rates(tmp_path: Path) -> None:
    graph = networkx.path_graph(3)
    graph.edges[0, 1].update(length="12 m", rate="600 Mbit/s")
    graph.edges[1, 2].update(rate="600 Mbit/s", backrate="300 Mbit/s")
    path = flitway.write_topology(graph, tmp_path / "rates.graph")
    assert "link s0:1 - s1:1 12 m 600 Mbit/s\nlink s1:2 - s2:1 600 Mbit/s back 300 Mbit/s\n" in path.read_text()
    machine = flitway.Machine("sp-switch-16", {"topology": {"kind": "graph", "file": str(path)}, "routing.algorithm": "up-down"})
    checked = machine.check()
    rates = [cables["bits_per_second"] for cables in checked["bill.cables"] if cables["class"] == "switch"]
    assert {rate["back"] for rate in rates} == {600_000_000, 300_000_000}


def test_nodes_can_be_where_they_are_named(tmp_path: Path) -> None:
    path = flitway.write_topology(networkx.path_graph(3), tmp_path / "line.graph", nodes_per_switch={0: 3, 2: 1})
    machine = flitway.Machine("hpp-switch", {"topology": {"kind": "graph", "file": str(path)}, "link.length.switch": "2 m"})
    assert machine.check().nodes == 4
    flitway.write_topology(networkx.path_graph(3), path, nodes_per_switch=99)
    with pytest.raises(flitway.MachineError, match="FW-M053"):
        machine.check()
