"""Runs: the results of the command line, and what Python expects of long work."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import flitway
import pytest
from conftest import Cli, same
from flitway import _flitway


@pytest.mark.parametrize(
    "workload",
    [
        {"load": [0.2, 0.4], "packet": "64B", "duration": "10 us"},
        {"load": "max", "traffic": "transpose", "warm_up": "5 us", "duration": "10 us"},
        {"multicast": "broadcast", "multicast_load": 0.2, "overheads": True, "duration": "20 us"},
        {"barrier": "all", "load": 0.1, "interval": "5 us", "lose": ["distribute(at=node 3, nth=1)"], "duration": "20 us"},
        {"train": "0-3", "count": 100, "packet": "64B"},
        {"train": "0-3", "count": 100, "barrier": "all", "interval": "5 us", "multicast": "broadcast", "load": 0.1},
    ],
    ids=["loads", "max", "multicast", "barrier", "train", "beside-a-train"],
)
def test_a_result_is_that_of_the_command_line(cli: Cli, workload: dict[str, Any]) -> None:
    result = flitway.run("hpp-switch", seed=7, threads=2, **workload)
    assert same(result.data) == same(cli(*result.command[1:]))


def test_options_are_those_of_the_command_line() -> None:
    assert list(flitway.WorkloadOptions.__annotations__) == _flitway.workload_options()


def test_wrong_options_are_shown_at_once() -> None:
    with pytest.raises(flitway.WorkloadError) as raised:
        flitway.run("hpp-switch", load="fast", packet="256")
    assert [one.path for one in raised.value.diagnostics] == ["packet", "load"]
    with pytest.raises(flitway.WorkloadError, match="did you mean `load`"):
        flitway.run("hpp-switch", lod=0.1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="1 to 256"):
        flitway.run("hpp-switch", threads=0)
    with pytest.raises(flitway.WorkloadError):
        flitway.run("hpp-switch", graph="no-such.goal")


def test_progress_is_told_and_others_run_meanwhile() -> None:
    steps: list[flitway.Step] = []
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(0.01):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        flitway.run("dawning5000", load=0.2, duration="20 us", progress=steps.append)
    finally:
        over.set()
        thread.join()
    assert ticks > 5, "the lock of Python is not held"
    assert steps[-1] == flitway.Step(1, 1) and steps[0].cycles > 0


def test_what_progress_raises_ends_the_run() -> None:
    def fail(_: flitway.Step) -> None:
        raise LookupError("enough")

    started = time.monotonic()
    with pytest.raises(LookupError, match="enough"):
        flitway.run("dawning5000", load=0.5, precision="0.01%", progress=fail)
    assert time.monotonic() - started < 20


def test_ctrl_c_ends_a_run() -> None:
    # Whoever runs tests in the background may have the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            flitway.run("dawning5000", load=0.5, duration="100 ms")
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_a_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    flitway.run("hpp-switch", load=[0.1, 0.2], duration="10 us", progress=True)
    assert "2/2" in capsys.readouterr().err
    flitway.run("hpp-switch", load=0.1, duration="10 us")
    assert capsys.readouterr().err == ""


def test_a_graph_that_cannot_finish_is_a_fault(tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "stuck.goal")
    with open(path, "w") as file:
        file.write("num_ranks 2\nrank 0 { recv 8b from 1 }\nrank 1 { calc 1 }\n")
    fault = flitway.run("hpp-switch", graph=path).points[0].fault
    assert fault and "cannot finish" in fault
    assert flitway.run("hpp-switch", load=0.1, duration="5 us").points[0].fault is None


@pytest.mark.parametrize(
    "workload",
    [{"load": [0.2, 0.4]}, {"multicast": "random(4, 2)"}, {"barrier": "all", "load": 0.1, "interval": "5 us"}, {"graph": "ring.goal"}],
    ids=["loads", "multicast", "barrier", "graph"],
)
def test_a_run_is_shown_as_page_and_trace(workload: dict[str, Any]) -> None:
    ring = "num_ranks 2\nrank 0 {\na: send 4096b to 1\n}\nrank 1 {\na: recv 4096b from 0\n}\n"
    Path("ring.goal").write_text(ring)
    if "graph" not in workload:
        workload = {"warm_up": "5 us", "duration": "20 us", **workload}
    result = flitway.run("hpp-switch", report="page.html", trace="trace.json", **workload)
    assert same(result.data) == same(flitway.run("hpp-switch", **workload).data)
    page = Path("page.html").read_text()
    assert page.startswith("<!doctype html>") and "flitway run hpp-switch" in page
    events = json.loads(Path("trace.json").read_text())
    assert any(event["ph"] == "X" for event in events["traceEvents"])


def test_a_result_writes_its_page_afterwards(tmp_path: Path) -> None:
    workload: dict[str, Any] = {"load": 0.3, "warm_up": "5 us", "duration": "20 us"}
    machine = flitway.Machine("hpp-switch", {"switch.vcs": 2})
    result = machine.run(report="at-once.html", **workload)
    machine["switch.vcs"] = 1
    pickle.loads(pickle.dumps(result)).report("later.html")
    assert figures("later.html") == figures("at-once.html") != []
    result.to_json("result.json")
    with pytest.raises(ValueError, match="flitway run hpp-switch --set switch.vcs=2 .* --report page.html"):
        flitway.Result.read("result.json").report("page.html")
    with pytest.raises(flitway.WorkloadError, match="a train has no page"):
        flitway.run("hpp-switch", train="0-3", count=10).report("page.html")


def figures(page: str) -> list[str]:
    """The pictures of a page."""
    return re.findall(r"<svg viewBox.*?</svg>", Path(page).read_text(), re.DOTALL)


def test_a_page_is_that_of_the_command_line(cli: Cli) -> None:
    machine = flitway.Machine("hpp-switch")
    machine.run(load=0.3, warm_up="5 us", duration="100 us", report="ours.html", trace="ours.json", trace_of="nodes(3)")
    times = ("--load", "0.3", "--warm-up", "5 us", "--duration", "100 us")
    cli("run", "hpp-switch", *times, "--report", "theirs.html", "--trace", "theirs.json", "--trace-of", "nodes(3)")
    assert len(figures("ours.html")) > 3 and figures("ours.html") == figures("theirs.html")
    steps = [json.loads(Path(f"{name}.json").read_text())["traceEvents"] for name in ("ours", "theirs")]
    assert steps[0] == steps[1]


def test_what_cannot_be_shown_is_told_before_anything_runs() -> None:
    for options, error, message in [
        ({"report": "no/such/page.html"}, OSError, "page.html"),
        ({"trace": "t.json", "trace_of": "nodes(16)"}, flitway.WorkloadError, "`16` names none of 16 nodes"),
        ({"trace": "t.json", "trace_of": "fastest"}, flitway.WorkloadError, "nothing is called so"),
        ({"trace_of": "slowest"}, ValueError, "where to write it"),
        ({"report": "x", "trace": "x"}, ValueError, "go to one file"),
        ({"report": "x", "train": "0-3"}, flitway.WorkloadError, "a train has no page"),
    ]:
        with pytest.raises(error, match=message):
            flitway.run("hpp-switch", progress=lambda _: pytest.fail("it runs"), **options)  # type: ignore[arg-type]
    assert list(Path().iterdir()) == []


def test_counters_are_those_of_the_command(cli: Cli) -> None:
    """What the registers of every port count, as the command writes it, and what is wrong is said before anything runs."""
    flitway.run("hpp-switch", load=0.3, warm_up="5 us", duration="20 us", counters="ours.csv", every="10 us")
    times = ("--load", "0.3", "--warm-up", "5us", "--duration", "20us")
    cli("run", "hpp-switch", *times, "--counters", "theirs.csv", "--every", "10us")
    ours = Path("ours.csv").read_text()
    assert ours == Path("theirs.csv").read_text()
    assert len(ours.splitlines()) > 16 * 2 * 2
    with pytest.raises(ValueError, match="where to write them"):
        flitway.run("hpp-switch", load=0.3, every="10 us")
    with pytest.raises(flitway.WorkloadError, match="above 0"):
        flitway.run("hpp-switch", load=0.3, counters="ours.csv", every="0 us")
    assert Path("ours.csv").read_text() == ours
