"""Pictures of results: a number of each point over another, with matplotlib."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.axes

    from flitway._result import Point, Result

#: Kinds of plot: what is drawn over what.
KINDS = {
    "latency": ("accepted_load", "packet_latency_ns.mean"),
    "p99": ("accepted_load", "packet_latency_ns.p99"),
    "accepted": ("offered_load", "accepted_load"),
    "multicast": ("multicast.offered_load", "multicast.last_copy_latency_ns.mean"),
    "barrier": ("offered_load", "barrier.latency_ns.mean"),
    "graph": ("offered_load", "graph.completion_ns"),
}

#: What the axes say of the numbers that have a name in words; others are called as in frames.
TITLES = {
    "offered_load": "offered load (fraction of the injection rate)",
    "accepted_load": "accepted load (fraction of the injection rate)",
    "packet_latency_ns.mean": "mean packet latency (ns)",
    "packet_latency_ns.p99": "99th percentile of packet latency (ns)",
    "multicast.offered_load": "multicast load (fraction of what nodes can receive)",
    "multicast.last_copy_latency_ns.mean": "mean latency of the last copy (ns)",
    "barrier.latency_ns.mean": "mean barrier latency (ns)",
    "graph.completion_ns": "completion time (ns)",
}


def axes_of(kind: str, x: str | None, y: str | None) -> tuple[str, str]:
    """What is drawn over what: by the kind, unless `x` or `y` says something else.

    >>> axes_of("latency", None, None), axes_of("latency", "offered_load", None)
    (('accepted_load', 'packet_latency_ns.mean'), ('offered_load', 'packet_latency_ns.mean'))
    >>> axes_of("latncy", None, None)
    Traceback (most recent call last):
    ValueError: there is no kind of plot `latncy`; did you mean `latency`? Or say with `x` and `y` what to draw
    """
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, 1)
        meant = f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(KINDS)}."
        raise ValueError(f"there is no kind of plot `{kind}`; {meant} Or say with `x` and `y` what to draw")
    across, up = KINDS[kind]
    return x or across, y or up


def draw(
    result: Result, names: tuple[str, str], ax: matplotlib.axes.Axes | None, options: dict[str, Any]
) -> matplotlib.axes.Axes:
    """Draws one number of the points over another."""
    marks = marks_of(result.points, names)
    ax = ax if ax is not None else new_axes()
    xs, ys = ([mark[axis] for mark in marks] for axis in (0, 1))
    errors = [mark[2] for mark in marks]
    ax.errorbar(xs, ys, errors, **{"marker": "o", "capsize": 2, "label": result.machine, **options})
    ax.set_xlabel(TITLES.get(names[0], names[0]))
    ax.set_ylabel(TITLES.get(names[1], names[1]))
    return ax


def marks_of(points: Sequence[Point], names: tuple[str, str]) -> list[tuple[float, float, float]]:
    """For each point that has both numbers: these, and the half-width of the interval of the second, 0 if there is none.

    A latency of packets is shown of a steady point alone: at others it is as long as somebody waits.

    Raises
    ------
    ValueError
        If there is none.
    """
    steady = any(name.startswith(("packet_latency_ns.", "network_latency_ns.")) for name in names)
    kept = [point for point in points if not steady or point.verdict in ("steady", None)]
    marks = []
    for point in kept:
        across, up = point[names[0]], point[names[1]]
        if across is not None and up is not None:
            marks.append((float(across), float(up), interval(point, names[1])))
    if not marks:
        raise ValueError(why_nothing(points, kept, names))
    return marks


def interval(point: Point, name: str) -> float:
    """Half of the 95 % interval of a number."""
    path = f"{name}_ci95" if name == "accepted_load" else f"{name.removesuffix('.mean')}.ci95"
    known = point[path] if name.endswith(".mean") or name == "accepted_load" else None
    return float(known or 0.0)


def why_nothing(points: Sequence[Point], kept: Sequence[Point], names: tuple[str, str]) -> str:
    """Why there is nothing to draw, and what there is instead."""
    if not kept:
        verdicts = ", ".join(sorted({str(point.verdict) for point in points}))
        return f"no point is steady ({verdicts}), and the latency of others is not settled: try `plot(\"accepted\")`"
    missing = [name for name in names if all(point[name] is None for point in kept)]
    lacks = f"no point has `{missing[0]}`" if missing else f"no point has both `{names[0]}` and `{names[1]}`"
    fits = [
        kind for kind, pair in KINDS.items() if any(all(point[name] is not None for name in pair) for point in points)
    ]
    if fits:
        return f"{lacks}: try `plot(\"{fits[0]}\")`, or say with `x` and `y` what to draw"
    if any(point["graph.completion_ns"] is not None for point in points):
        return f"{lacks}: a task graph has no curve; `to_pandas(\"ranks\")` has the times of its ranks"
    return f"{lacks}: say with `x` and `y` what to draw, by the names of `to_pandas`"


def wrapped(title: str) -> str:
    """A title that fits above the axes of a usual figure.

    >>> wrapped("word " * 20).count(chr(10))
    1
    """
    return textwrap.fill(title, 64)


def new_axes() -> matplotlib.axes.Axes:
    """The axes of a new figure, in which nothing is cut."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("`plot` needs matplotlib: pip install matplotlib") from None
    return matplotlib.pyplot.subplots(layout="constrained")[1]
