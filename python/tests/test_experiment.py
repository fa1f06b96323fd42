"""Experiments: the points of the command line, through any executor."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import flitway
import pandas
import pyarrow.parquet
import pytest
from conftest import Cli, same

TEXT = """
name = "small"
[run]
machine = "hpp-switch"
packet = "64B"
duration = "10 us"
[[vary]]
over = "switch.vcs"
values = [1, 2]
[[vary]]
over = "load"
values = [0.2, 0.4]
[[plot]]
name = "latency"
x = "load"
y = "packet_latency_ns.mean"
[[finding]]
text = "At most {max accepted_load} is accepted."
"""


@pytest.fixture
def experiment(tmp_path: Path) -> flitway.Experiment:
    (tmp_path / "small.toml").write_text(TEXT)
    return flitway.Experiment("small.toml")


def test_results_are_those_of_the_command_line_and_so_is_the_folder(
    cli: Cli, experiment: flitway.Experiment, tmp_path: Path
) -> None:
    came = experiment.run(workers=2)
    assert came.files == [Path("results/small/latency.csv"), Path("results/small/latency.svg")]
    written = {path.name for path in Path("results/small/points").iterdir()}
    assert written == {f"{point.key}.json" for point in experiment.points}
    asked = cli("run", "--experiment", "small.toml", "--out", "other")
    assert same(came.data) == same(asked)
    assert Path("other/latency.csv").read_text() == came.files[0].read_text()
    # What the one has finished the other takes: `wall_s` is that of the run, not of now.
    kept = cli("run", "--experiment", "small.toml")
    assert [point["result"] for point in kept["points"]] == [point["result"] for point in came.data["points"]]


def test_only_what_is_missing_is_run(experiment: flitway.Experiment) -> None:
    first = experiment.run()
    Path(f"results/small/points/{experiment.points[1].key}.json").unlink()
    steps: list[flitway.Step] = []
    again = experiment.run(progress=steps.append)
    assert [step.done for step in steps] == [3, 4]
    assert same(again.data) == same(first.data)
    damaged = Path(f"results/small/points/{experiment.points[0].key}.json")
    damaged.write_text(damaged.read_text().replace("0.2", "0.3"))
    with pytest.raises(flitway.StoreError, match="delete the file"):
        experiment.run()


def test_any_executor_gives_the_same(experiment: flitway.Experiment) -> None:
    expected = [same(point.run().data) for point in experiment.points]
    for executor in (ThreadPoolExecutor(2), ProcessPoolExecutor(1)):
        with executor:
            came = experiment.run(executor, keep=False)
        assert [same(result.data) for result in came.results] == expected
    assert not Path("results").exists()


@pytest.mark.filterwarnings("default")
def test_dask_gives_the_same(experiment: flitway.Experiment) -> None:
    import distributed

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        came = experiment.run(client.get_executor(), keep=False)
    assert same(came.data) == same(experiment.run(keep=False).data)


def test_points_stand_for_themselves(experiment: flitway.Experiment) -> None:
    point = pickle.loads(pickle.dumps(experiment.points[3]))
    assert point.values == {"switch.vcs": "2", "load": "0.4"}
    assert point.run().points[0].offered_load == 0.4


def test_frames_and_pictures_show_what_is_varied(experiment: flitway.Experiment) -> None:
    came = experiment.run(keep=False)
    frame = came.to_pandas()
    assert list(frame["switch.vcs"]) == [1, 1, 2, 2]
    came.to_parquet("points.parquet")
    pandas.testing.assert_frame_equal(pandas.read_parquet("points.parquet"), frame)
    assert pyarrow.parquet.read_table("points.parquet").column_names == came.to_arrow().column_names
    labels = came.plot("latency").get_legend_handles_labels()[1]
    assert labels == ["switch.vcs=1", "switch.vcs=2"]
    assert len(came.findings) == 1
    shown = came._repr_html_()
    assert came.findings[0] in shown and "<th>switch.vcs</th>" in shown and shown.count("<tr>") == 5
    assert len(came) == 4 and [result[0].offered_load for result in came] == [0.2, 0.4, 0.2, 0.4]
    with pytest.raises(ValueError, match="expected one of latency"):
        came.plot("laten")


def test_mistakes_are_shown_at_once_and_cross_processes(tmp_path: Path, experiment: flitway.Experiment) -> None:
    (tmp_path / "wrong.toml").write_text(TEXT.replace("64B", "64").replace("[1, 2]", "[1, 99]"))
    with pytest.raises(flitway.ExperimentError) as raised:
        flitway.Experiment("wrong.toml")
    assert len(raised.value.diagnostics) == 2
    point = experiment.points[0]
    broken = flitway.ExperimentPoint(point.key, point.values, point.description.replace("hpp-switch", "mesh-8x8"))
    experiment.points[0] = broken
    with pytest.raises(flitway.ExperimentError, match="have changed"):
        experiment.run(keep=False)


def test_changes_for_a_quick_look_are_those_of_the_command_line(experiment: flitway.Experiment) -> None:
    quick = flitway.Experiment("small.toml", set={"switch.buffer": "8 KiB"}, seed=3, duration="5 us")
    assert quick.command[4:] == ["--set", 'switch.buffer="8 KiB"', "--seed", "3", "--duration", "5 us"]
    assert {point.key for point in quick.points}.isdisjoint(point.key for point in experiment.points)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    text = TEXT.replace("[0.2, 0.4]", '["10 us", "300 ms"]').replace('"load"', '"duration"')
    (tmp_path / "long.toml").write_text(text.replace('duration = "10 us"', "load = 0.3").replace('"small"', '"long"'))
    # Whoever runs tests in the background may have the signal ignored.
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{hears}; import flitway; flitway.Experiment('long.toml').run(workers=1)"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, start_new_session=True)
    finished = tmp_path / "results" / "long" / "points"
    until = time.monotonic() + 60
    while not list(finished.glob("*.json")) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and b"KeyboardInterrupt" in errors
    assert len(list(finished.glob("*.json"))) == 1
