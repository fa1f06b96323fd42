"""Results: the JSON object of a run, with types. What has no property here is there under its name all the same."""

from __future__ import annotations

import difflib
import functools
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from flitway import _flitway, _plot, _tables

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import pyarrow


class Latency(NamedTuple):
    """A latency, in nanoseconds.

    Attributes
    ----------
    mean
        The mean.
    ci95
        Half-width of its 95 % confidence interval; ``None`` where there is none.
    p50, p99, p999
        Percentiles: 50 %, 99 % and 99.9 % were at least this fast.
    max
        The slowest.
    """

    mean: float
    ci95: float | None
    p50: float
    p99: float
    p999: float
    max: float


class Point:
    """A point of a result: its numbers are described in ``docs/results.md``.

    Examples
    --------
    >>> import flitway
    >>> point = flitway.run("hpp-switch", load=0.2, duration="20 us").points[0]
    >>> point.packet_latency_ns.mean == point["packet_latency_ns.mean"]
    True
    >>> point["train.time_ns"] is None
    True
    >>> point["acepted_load"]
    Traceback (most recent call last):
    KeyError: 'a point has no `acepted_load`; did you mean `accepted_load`?'

    Attributes
    ----------
    data : dict
        All of it.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getitem__(self, path: str) -> Any:
        """A value by its name, with dots for what lies inside; ``None`` if it was not measured.

        Raises
        ------
        KeyError
            If no point has anything of this name.
        """
        value = dotted(self.data, path)
        if value is None and path not in names_of_points():
            near = difflib.get_close_matches(path, names_of_points(), 1)
            raise KeyError(f"a point has no `{path}`" + (f"; did you mean `{near[0]}`?" if near else ""))
        return value

    @property
    def offered_load(self) -> float | None:
        """Offered load, as a fraction of the injection rate."""
        return number(self["offered_load"])

    @property
    def accepted_load(self) -> float | None:
        """Accepted load, as a fraction of the injection rate, header and trailer included."""
        return number(self["accepted_load"])

    @property
    def verdict(self) -> str | None:
        """``steady``, ``saturated``, ``unsettled`` or ``deadlock``; ``None`` if it is no load point."""
        verdict = self["verdict"]
        return None if verdict is None else str(verdict)

    @property
    def saturated(self) -> bool:
        """Whether packets are created faster than they are delivered."""
        return bool(self["saturated"])

    @property
    def packet_latency_ns(self) -> Latency | None:
        """From the creation of a packet to its last flit delivered, source queue included."""
        return latency(self["packet_latency_ns"])

    @property
    def network_latency_ns(self) -> Latency | None:
        """From the head leaving the source to the last flit delivered."""
        return latency(self["network_latency_ns"])

    @property
    def fault(self) -> str | None:
        """The fault that was found, where the command line ends with status 1: a deadlock, a graph that cannot finish."""
        if self.data.get("deadlock"):
            return "packets wait for each other for ever"
        waiting = self["graph.waiting"]
        if self["graph.completed"] is False or waiting:
            return "\n  ".join(["the graph cannot finish, or leaves messages that nobody receives", *(waiting or [])])
        return None

    def flat(self) -> dict[str, Any]:
        """Its numbers and texts by name, with dots for what lies inside; no lists."""
        return flat(self.data)

    def __repr__(self) -> str:
        row = self.flat()
        return f"<flitway.Point {', '.join(f'{name}={row[name]}' for name in REPR if row.get(name) is not None)}>"

    def _repr_html_(self) -> str:
        row = self.flat()
        return _tables.table([{"": name, "value": row[name]} for name in _tables.chosen([row])], ["", "value"])


#: What tells one point from another, of whatever workload.
REPR = (
    "graph.name",
    "offered_load",
    "multicast.offered_load",
    "accepted_load",
    "multicast.last_copy_latency_ns.mean",
    "barrier.latency_ns.mean",
    "train.time_ns",
    "graph.completion_ns",
    "graph.completed",
    "verdict",
)


class Result:
    """What came out of a run: the object that ``--json`` writes.

    Attributes
    ----------
    data : dict
        All of it; ``docs/results.md`` describes it.
    points : list of Point
        One for each load, or one.

    Examples
    --------
    Its length is that of :attr:`points`, and so are what it is iterated over and what a number picks:

    >>> import flitway
    >>> result = flitway.run("hpp-switch", load=[0.2, 0.4], duration="20 us")
    >>> len(result), [point.offered_load for point in result], result[-1].offered_load
    (2, [0.2, 0.4], 0.4)
    """

    def __init__(self, data: dict[str, Any], again: Callable[[str | os.PathLike[str]], Any] | None = None) -> None:
        self.data = data
        self._again = again
        self.points = [Point(point) for point in data["points"]]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Result:
        """A result that ``--json`` or :meth:`to_json` has written.

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError:
            raise ValueError(f"{os.fspath(path)} holds no flitway/result/1: it is no JSON") from None
        if not isinstance(data, dict) or data.get("schema") != "flitway/result/1":
            raise ValueError(f"{os.fspath(path)} holds no flitway/result/1")
        return cls(data)

    @property
    def machine(self) -> str:
        """The name of the machine."""
        return str(self.data["machine"]["name"])

    @property
    def seed(self) -> int:
        """The seed of every random choice."""
        return int(self.data["seed"])

    @property
    def command(self) -> list[str]:
        """The command that does the same."""
        return list(self.data["command"])

    @property
    def workload(self) -> dict[str, Any]:
        """The workload as it was asked for."""
        return dict(self.data["workload"])

    @overload
    def __getitem__(self, path: int) -> Point: ...
    @overload
    def __getitem__(self, path: str) -> Any: ...

    def __getitem__(self, path: str | int) -> Any:
        """A point by its number; a value by its name, with dots for what lies inside: ``result["machine.name"]``."""
        return dotted(self.data, path) if isinstance(path, str) else self.points[path]

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The JSON text; writes it to the file `path` if there is one."""
        return to_json(self.data, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file with a row for each point, as ``--parquet`` does; it needs nothing but this package."""
        to_parquet(self.data, path)

    def rows(self, of: str = "points") -> list[dict[str, Any]]:
        """What the rows of a frame hold: the numbers of each point, or of each rank of its task graph.

        Parameters
        ----------
        of
            ``"points"`` or ``"ranks"``; a rank has ``point``, the number of its point, as well.

        Raises
        ------
        ValueError
            If the result has no task graph.
        """
        if of == "points":
            return [point.flat() for point in self.points]
        if of != "ranks":
            raise ValueError(f"a result has no frame of `{of}`: expected points or ranks")
        ranks = [point["graph.ranks"] or [] for point in self.points]
        if not any(ranks):
            raise ValueError("the result has no ranks: it is of no task graph")
        # Of one graph alone there is no name.
        names = [{"graph.name": point["graph.name"]} if point["graph.name"] else {} for point in self.points]
        rows = enumerate(zip(names, ranks, strict=True))
        return [{"point": index, **name, **rank} for index, (name, inner) in rows for rank in inner]

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report page, as ``report`` of :func:`flitway.run` does: one HTML file to look at, to print, to send.

        What a page shows beside the numbers is watched only if a page is asked for, so this makes the run again.

        Raises
        ------
        ValueError
            If the result is not from :func:`flitway.run`, but from a file or an experiment; with the command that writes it.
        WorkloadError
            If it has no page.
        """
        if self._again is None:
            command = shlex.join([*self.command, "--report", os.fspath(path)])
            raise ValueError(f"only what `flitway.run` has returned can be run again for its page; type: {command}")
        self._again(path)

    def to_pandas(self, of: str = "points") -> pandas.DataFrame:
        """A pandas frame with a row for each point, or of task graphs for each of the ``"ranks"``: see :meth:`rows`."""
        return to_pandas(self.rows(of))

    def to_arrow(self, of: str = "points") -> pyarrow.Table:
        """An Arrow table with a row for each point, or of task graphs for each of the ``"ranks"``: see :meth:`rows`."""
        return to_arrow(self.rows(of))

    def plot(
        self,
        kind: str = "latency",
        *,
        x: str | None = None,
        y: str | None = None,
        ax: matplotlib.axes.Axes | None = None,
        **options: Any,
    ) -> matplotlib.axes.Axes:
        """Draws a number of each point over another. Latencies of packets are those of steady points only.

        Parameters
        ----------
        kind
            ``"latency"`` (the mean over accepted load), ``"p99"`` (its 99th percentile), ``"accepted"`` (over offered
            load), ``"multicast"``, ``"barrier"``, or ``"graph"`` (completion times over the load beside task graphs).
        x, y
            What to draw instead, by its name in frames: ``y="packet_latency_ns.p999"``.
        ax
            Where to draw; a new figure unless given.
        options
            For ``errorbar`` of matplotlib.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.

        Raises
        ------
        ValueError
            If no point has what is to be drawn.
        """
        return _plot.draw(self, _plot.axes_of(kind, x, y), ax, options)

    def __repr__(self) -> str:
        count = len(self.points)
        return f"<flitway.Result of {self.machine}: {count} point{'s' if count != 1 else ''}>"

    def _repr_html_(self) -> str:
        rows = [point.flat() for point in self.points]
        several = len({row.get("seed") for row in rows}) > 1
        names = _tables.chosen(rows, ["seed"] if several else [])
        return _tables.paragraph(shlex.join(self.command)) + _tables.table(rows, names)


for _class in (Latency, Point, Result):
    _class.__module__ = "flitway"


def dotted(data: Any, path: str) -> Any:
    """What lies under a path with dots; ``None`` if there is nothing.

    >>> dotted({"a": {"b": 1}}, "a.b"), dotted({"a": 1}, "a.b")
    (1, None)
    """
    for name in path.split("."):
        if not isinstance(data, Mapping) or name not in data:
            return None
        data = data[name]
    return data


@functools.cache
def names_of_points() -> frozenset[str]:
    """What a point of any workload can have, by paths with dots.

    >>> sorted(name for name in names_of_points() if name.startswith("packet_latency_ns."))[:2]
    ['packet_latency_ns.ci95', 'packet_latency_ns.max']
    """
    schema = json.loads(_flitway.result_schema())

    def names(node: Mapping[str, Any], prefix: str) -> Iterator[str]:
        if "$ref" in node:
            node = {**schema["$defs"][node["$ref"].rpartition("/")[2]], **node}
        for branch in node.get("oneOf", []):
            yield from names(branch, prefix)
        for name, inner in node.get("properties", {}).items():
            yield prefix + name
            yield from names(inner, f"{prefix}{name}.")

    return frozenset(names(schema["properties"]["points"]["items"], ""))


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """What is no list, by paths with dots.

    >>> flat({"a": {"b": 1, "c": [2]}, "d": "e"})
    {'a.b': 1, 'd': 'e'}
    """
    row: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            row.update(flat(value, f"{prefix}{name}."))
        elif not isinstance(value, list):
            row[prefix + name] = value
    return row


def number(value: Any) -> float | None:
    """A number, where there is one."""
    return None if value is None else float(value)


def latency(data: Any) -> Latency | None:
    """A latency, where there is one."""
    if data is None:
        return None
    return Latency(*(data.get(name) for name in Latency._fields))


def to_json(data: dict[str, Any], path: str | os.PathLike[str] | None) -> str:
    """The JSON text; also in a file."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if path is not None:
        Path(path).write_text(text + "\n", encoding="utf-8")
    return text


def to_parquet(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """The points in a Parquet file."""
    Path(path).write_bytes(_flitway.parquet(json.dumps(data)))


def to_pandas(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """Rows as a pandas frame."""
    try:
        import pandas
    except ImportError:
        raise ImportError("`to_pandas` needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


def to_arrow(rows: list[dict[str, Any]]) -> pyarrow.Table:
    """Rows as an Arrow table; what some rows lack is null."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("`to_arrow` needs pyarrow: pip install pyarrow") from None
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table({name: [row.get(name) for row in rows] for name in names})
