"""Experiments: the points of an experiment file, through any executor of :mod:`concurrent.futures`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flitway import _flitway, _tables, _text
from flitway._errors import diagnostics, warn
from flitway._plot import new_axes, wrapped
from flitway._progress import Progress, Step, shown
from flitway._result import Result, to_arrow, to_json, to_pandas, to_parquet

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import pyarrow


class ExperimentPoint(NamedTuple):
    """A point of an experiment. It stands for itself: pickled, it runs in any process that sees the same files.

    Attributes
    ----------
    key
        A digest of everything that the result depends on.
    values
        What is varied, as written.
    description
        All that is needed to run it, as JSON.
    """

    key: str
    values: dict[str, str]
    description: str

    def run(self) -> Result:
        """Runs the point here and now."""
        return Result(json.loads(run_point(self.description)))


class Experiment:
    """An experiment file, checked: every point is known to run.

    Parameters
    ----------
    name_or_path
        A built-in name (:meth:`builtin` has them) or the path of an experiment file; ``docs/experiments.md`` describes it.
    set, seed, precision, duration
        What to change in every point, for a quick look.

    Raises
    ------
    ExperimentError
        With everything that is wrong with it, with its machines and with its workloads.

    Examples
    --------
    >>> experiment = Experiment("hpp-vcs", duration="20 us")
    >>> len(experiment.points) > 4
    True
    """

    def __init__(
        self,
        name_or_path: str | os.PathLike[str],
        *,
        set: Mapping[str, _text.Setting] | None = None,
        seed: int | None = None,
        precision: str | float | None = None,
        duration: str | None = None,
    ) -> None:
        source = os.fspath(name_or_path)
        sets = [f"{path}={_text.setting(value)}" for path, value in (set or {}).items()]
        reached = None if precision is None else _text.option("precision", precision)
        self._binary = _flitway.Experiment(source, sets, seed, reached, duration)
        self.command = ["flitway", "run", "--experiment", source]
        for one in sets:
            self.command += ["--set", one]
        changed = {"--seed": seed, "--precision": reached, "--duration": duration}
        for argument, value in changed.items():
            self.command += [] if value is None else [argument, str(value)]
        self.points = [ExperimentPoint(*self._point(index)) for index in range(len(self._binary))]
        self.warnings = diagnostics(self._binary.warnings())
        warn(self.warnings)

    def _point(self, index: int) -> tuple[str, dict[str, str], str]:
        key, description, values = self._binary.point(index)
        return key, dict(values), description

    @staticmethod
    def builtin() -> dict[str, str]:
        """The built-in experiments: name and text."""
        return dict(_flitway.builtin_experiments())

    @property
    def name(self) -> str:
        """Its name."""
        return self._binary.name

    @property
    def title(self) -> str:
        """What it is about; may be empty."""
        return self._binary.title

    @property
    def text(self) -> str:
        """The whole file."""
        return self._binary.text

    def run(
        self,
        executor: Executor | None = None,
        *,
        workers: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        keep: bool = True,
        progress: Progress = None,
    ) -> ExperimentResult:
        """Runs all points that are not kept from before.

        Finished points are kept in the folder, under the same names as by the command line: an interrupted experiment
        goes on where it was, with either. Only this process writes there.

        Parameters
        ----------
        executor
            Where points run, each on one thread: any executor of :mod:`concurrent.futures`, such as those of Dask
            (``client.get_executor()``) and mpi4py (``MPIPoolExecutor()``). Unless given, processes of this computer.
        workers
            How many of those; as many as there are cores unless given.
        folder
            Where finished points and the data of plots are written: ``results/NAME`` unless given.
        keep
            Whether to use a folder at all.
        progress
            As of :func:`run`, in points.

        Returns
        -------
        ExperimentResult
            What came out.

        Raises
        ------
        StoreError
            If the folder cannot be used, or something in it is damaged.
        TooLargeError
            If the processes of this computer need more memory than there is.
        """
        if workers is not None and workers < 1:
            raise ValueError(f"`workers`: expected 1 or more, and not {workers}")
        store = _flitway.Store(folder or Path("results", self.name)) if keep else None
        results: list[str | None] = [store.load(point.key) if store else None for point in self.points]
        open_points = [index for index, result in enumerate(results) if result is None]
        side_by_side = min(workers or os.cpu_count() or 1, len(open_points))
        if executor is None:
            self._binary.fits(side_by_side)
        with shown(progress, self.name) as tell, pool(executor, side_by_side) as runner:
            kept = len(results) - len(open_points)
            if tell:
                tell(Step(kept, len(results)))
            for done, (index, result) in enumerate(self._finish(runner, open_points), 1):
                results[index] = result
                if store:
                    store.save(self.points[index].key, result)
                if tell:
                    tell(Step(kept + done, len(results)))
        text, files = self._binary.gather(results, self.command)
        written = [store.write(name, content) for name, content in files] if store else []
        return ExperimentResult(json.loads(text), written)

    def _finish(self, runner: Executor | None, indices: list[int]) -> Iterator[tuple[int, str]]:
        """The points `indices` with their results, as they come in."""
        if runner is None:
            return
        futures: dict[Future[str], int] = {}
        try:
            for index in indices:
                futures[runner.submit(run_point, self.points[index].description)] = index
            for future in as_completed(futures):
                yield futures[future], future.result()
        except CancelledError as error:
            raise RuntimeError("the executor has cancelled a point") from error
        finally:
            for future in futures:
                future.cancel()


class ExperimentResult:
    """What came out of an experiment: the object that ``flitway run --experiment ... --json`` writes.

    Attributes
    ----------
    data : dict
        All of it; ``docs/experiments.md`` describes it.
    files : list of pathlib.Path
        The data of its plots, as CSV, and their pictures, as SVG.
    """

    def __init__(self, data: dict[str, Any], files: list[Path]) -> None:
        self.data = data
        self.files = files

    @property
    def findings(self) -> list[str]:
        """The findings that could be stated."""
        return [finding["text"] for finding in self.data["findings"] if "text" in finding]

    @property
    def results(self) -> list[Result]:
        """The result of each point."""
        return [Result(point["result"]) for point in self.data["points"]]

    def rows(self) -> list[dict[str, Any]]:
        """For each point what is varied, and its numbers."""
        points = self.data["points"]
        return [
            {**point["values"], **inner.flat()}
            for point, result in zip(points, self.results, strict=True)
            for inner in result.points
        ]

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The JSON text; writes it to the file `path` if there is one."""
        return to_json(self.data, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file with a row for each point, as ``--parquet`` does; it needs nothing but this package."""
        to_parquet(self.data, path)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with a row for each point: what is varied, and its numbers."""
        return to_pandas(self.rows())

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with a row for each point: what is varied, and its numbers."""
        return to_arrow(self.rows())

    def plot(self, name: str | None = None, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draws a plot of the experiment file: the first, or that of a name."""
        plots = {plot["name"]: plot for plot in self.data["plots"]}
        if not plots:
            raise ValueError("the experiment has no plot")
        if name is not None and name not in plots:
            raise ValueError(f"there is no plot `{name}`: expected one of {', '.join(plots)}")
        plot = plots[next(iter(plots)) if name is None else name]
        ax = ax if ax is not None else new_axes()
        for series in plot["series"]:
            marks = [mark for mark in series["marks"] if None not in (mark.get("x"), mark.get("y"))]
            errors = [mark.get("ci95") or 0.0 for mark in marks]
            label = ", ".join(f"{key}={value}" for key, value in series["by"].items())
            horizontal, vertical = ([mark[axis] for mark in marks] for axis in ("x", "y"))
            ax.errorbar(horizontal, vertical, errors, marker="o", capsize=2, label=label or None)
        ax.set(xlabel=plot["x"]["title"], ylabel=plot["y"]["title"], title=wrapped(plot.get("title", "")))
        if any(series["by"] for series in plot["series"]):
            ax.legend()
        return ax

    def __len__(self) -> int:
        return len(self.data["points"])

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __repr__(self) -> str:
        return f"<flitway.ExperimentResult of {self.data['experiment']['name']}: {len(self)} points>"

    def _repr_html_(self) -> str:
        rows = self.rows()
        varied = dict.fromkeys(name for point in self.data["points"] for name in point["values"])
        names = dict.fromkeys([*varied, *_tables.chosen(rows)])
        above = [self.data["experiment"].get("title") or self.data["experiment"]["name"], *self.findings]
        return "".join(map(_tables.paragraph, above)) + _tables.table(rows, names)


for _class in (Experiment, ExperimentPoint, ExperimentResult):
    _class.__module__ = "flitway"


def run_point(description: str) -> str:
    """Runs the point of a description, in whatever process this is."""
    return _flitway.run_point(description, None)


@contextmanager
def pool(executor: Executor | None, workers: int) -> Iterator[Executor | None]:
    """The executor, or processes that end with the experiment, if there is anything to run."""
    if executor is not None or workers == 0:
        yield executor
        return
    own = ProcessPoolExecutor(workers)
    try:
        yield own
    except BaseException:
        # Nobody waits for what a point would have come to.
        for process in list((getattr(own, "_processes", None) or {}).values()):
            process.terminate()
        raise
    finally:
        own.shutdown(cancel_futures=True)
