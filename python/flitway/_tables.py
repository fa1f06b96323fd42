"""Results as a notebook shows them: tables in HTML of the numbers that matter most, under their names in frames."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

#: What a table of points shows of each, if any of them has it; the names are those of frames.
COLUMNS = (
    "graph.name",
    "offered_load",
    "multicast.offered_load",
    "accepted_load",
    "multicast.accepted_load",
    "packet_latency_ns.mean",
    "packet_latency_ns.ci95",
    "packet_latency_ns.p99",
    "multicast.last_copy_latency_ns.mean",
    "multicast.last_copy_latency_ns.p99",
    "barrier.operations",
    "barrier.latency_ns.mean",
    "barrier.latency_ns.p99",
    "train.time_ns",
    "train.packets_per_us",
    "graph.completion_ns",
    "graph.messages",
    "graph.communication_share.mean",
    "graph.completed",
    "verdict",
    "limit",
    "unsettled",
)


def chosen(rows: Iterable[Mapping[str, Any]], first: Iterable[str] = ()) -> list[str]:
    """The names `first`, and of :data:`COLUMNS` those that a row has a value of.

    >>> chosen([{"verdict": "steady", "packets": 3, "limit": None}], ["seed"])
    ['seed', 'verdict']
    """
    rows = list(rows)
    return [*first, *(name for name in COLUMNS if any(row.get(name) is not None for row in rows))]


def table(rows: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str:
    """A row for each of `rows`, with what it has under each of `names`.

    >>> table([{"a": 0.12345678, "b": "<"}], ["a", "b"])
    '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>0.1235</td><td>&lt;</td></tr></tbody></table>'
    """
    names = list(names)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    lines = ("".join(f"<td>{cell(row.get(name))}</td>" for name in names) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str) -> str:
    """A paragraph above a table."""
    return f"<p>{html.escape(text)}</p>"


def cell(value: Any) -> str:
    """A value as a cell shows it; empty where there is none.

    >>> cell(123456.7), cell(0.00001234), cell(True), cell(None), cell("a&b")
    ('123457', '1.234e-05', 'yes', '', 'a&amp;b')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return html.escape(str(value))
