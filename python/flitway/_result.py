"""Results: the JSON object of a run, with types. What has no property here is there under its name all the same."""

from __future__ import annotations

import difflib
import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flitway import _flitway

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
        shown = ("offered_load", "accepted_load", "verdict")
        return f"<flitway.Point {', '.join(f'{name}={self[name]}' for name in shown if self[name] is not None)}>"


class Result:
    """What came out of a run: the object that ``--json`` writes.

    Attributes
    ----------
    data : dict
        All of it; ``docs/results.md`` describes it.
    points : list of Point
        One for each load, or one.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.points = [Point(point) for point in data["points"]]

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

    def __getitem__(self, path: str) -> Any:
        """A value by its name, with dots for what lies inside: ``result["machine.description.clock"]``."""
        return dotted(self.data, path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The JSON text; writes it to the file `path` if there is one."""
        return to_json(self.data, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file with a row for each point, as ``--parquet`` does; it needs nothing but this package."""
        to_parquet(self.data, path)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with a row for each point."""
        return to_pandas([point.flat() for point in self.points])

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with a row for each point."""
        return to_arrow([point.flat() for point in self.points])

    def plot(self, ax: matplotlib.axes.Axes | None = None, **options: Any) -> matplotlib.axes.Axes:
        """Draws mean packet latency over accepted load, steady points only.

        Parameters
        ----------
        ax
            Where to draw; a new figure unless given.
        options
            For ``errorbar`` of matplotlib.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        ax = ax if ax is not None else new_axes()
        steady = [point for point in self.points if point.verdict == "steady"]
        marks = [(point.accepted_load, point.packet_latency_ns) for point in steady]
        known = [(load, latency) for load, latency in marks if load is not None and latency]
        loads = [load for load, _ in known]
        means = [latency.mean for _, latency in known]
        errors = [latency.ci95 or 0.0 for _, latency in known]
        ax.errorbar(loads, means, errors, **{"marker": "o", "capsize": 2, "label": self.machine, **options})
        ax.set_xlabel("accepted load (fraction of the injection rate)")
        ax.set_ylabel("mean packet latency (ns)")
        return ax

    def __repr__(self) -> str:
        count = len(self.points)
        return f"<flitway.Result of {self.machine}: {count} point{'s' if count != 1 else ''}>"


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


def new_axes() -> matplotlib.axes.Axes:
    """The axes of a new figure."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("`plot` needs matplotlib: pip install matplotlib") from None
    return matplotlib.pyplot.subplots()[1]
