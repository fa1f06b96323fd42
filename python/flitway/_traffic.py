"""Synthetic traffic from Python: a matrix of weights, or a function of the source. It becomes the text that a file holds, so
that a result says what it was, and the command line runs the same."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from flitway._text import number

Destinations = Union[int, Iterable[int], Mapping[int, float]]
Weights = Union[Sequence[Sequence[float]], Callable[[int, int], Destinations], Any]


def write_traffic(weights: Weights, path: str | os.PathLike[str], *, nodes: int | None = None) -> str:
    """Writes a traffic pattern of your own as the file of the pattern ``matrix``.

    A packet of node s goes to node d with a probability in proportion to the weight in row s and column d: rows say to whom
    a node sends, and the load how much. A node whose row is zero stays silent; none sends to itself. Simulations draw from
    whole numbers, which the numbers written here are turned into exactly, or as near as 62 bits are; Python is not asked
    while they run.

    Parameters
    ----------
    weights
        A row for each source: lists of numbers, a NumPy array or a pandas frame, whose labels do not count. Or a function,
        which is called once for each source with its number and that of all nodes, and returns where it sends to: a node;
        nodes, each as often as it is named; or a mapping from nodes to weights.
    path
        The file.
    nodes
        How many nodes the machine has; a function needs it.

    Returns
    -------
    str
        The pattern, for ``traffic``.

    Raises
    ------
    ValueError
        If there is not a weight for each pair of nodes, a weight is negative or no number, a node sends to itself, or nobody
        sends.

    Examples
    --------
    >>> import flitway, pathlib, tempfile
    >>> def neighbours(source, nodes):
    ...     return {(source + 1) % nodes: 3, (source - 1) % nodes: 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pattern = write_traffic(neighbours, pathlib.Path(folder, "neighbours.txt"), nodes=16)
    ...     flitway.run("hpp-switch", traffic=pattern, load=0.3, duration="200 us").points[0].verdict
    'steady'
    """
    if callable(weights):
        if nodes is None:
            raise TypeError("`nodes`: a function is asked for each of them; say how many there are")
        rows = [_row(weights(source, nodes), source, nodes) for source in range(nodes)]
    else:
        rows = [_list(row) for row in _list(weights)]
        if nodes is not None and len(rows) != nodes:
            raise ValueError(f"`weights` has {len(rows)} rows: expected one for each of {nodes} nodes")
    name = _in_pattern(os.fspath(path))
    _check(rows)
    text = "".join(" ".join(map(number, row)) + "\n" for row in rows)
    Path(path).write_text(text, encoding="utf-8")
    return f"matrix({name})"


def _list(given: Any) -> list[Any]:
    given = given.to_numpy() if hasattr(given, "to_numpy") else given
    given = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ValueError("`weights`: expected a row for each node that sends, with a weight for each that receives")
    return list(given)


def _check(rows: list[list[float]]) -> None:
    """Refuses what is no traffic pattern, here rather than when it is run.

    >>> _check([[0, 1], [2, 0]])
    """
    for source, row in enumerate(rows):
        if len(row) != len(rows):
            raise ValueError(f"row {source} of `weights` has {len(row)} weights: expected one for each of {len(rows)} rows")
        for node, weight in enumerate(row):
            if not (isinstance(weight, int | float) and math.isfinite(weight) and weight >= 0):
                raise ValueError(f"weight {weight} of node {source} for node {node}: expected a number of 0 or more")
        if row[source] != 0:
            cure = "; `numpy.fill_diagonal(weights, 0)` makes it so of an array"
            raise ValueError(f"node {source} would send to itself with weight {row[source]}: expected 0{cure}")
    if not any(map(any, rows)):
        raise ValueError("all weights are zero: expected a node that sends")


def _in_pattern(path: str) -> str:
    """A path as it is written in a pattern, in quotes if it would be misunderstood without.

    >>> _in_pattern("a.txt"), _in_pattern("a (1),b.txt")
    ('a.txt', '"a (1),b.txt"')
    """
    if '"' in path or not path.isprintable():
        raise ValueError(f"{path!r}: expected a path without quotes and line breaks, which no pattern can name")
    return f'"{path}"' if path.strip() != path or any(letter in path for letter in ",()=") else path


def _row(given: Destinations, source: int, nodes: int) -> list[float]:
    """A weight for each node, of what a function has returned for `source`.

    >>> _row(2, 0, 3), _row([1, 2, 1], 0, 3), _row({1: 0.5}, 0, 3)
    ([0, 0, 1], [0, 2, 1], [0, 0.5, 0])
    """
    if not isinstance(given, Mapping):
        given = Counter(given if isinstance(given, Iterable) else [given])
    row: list[float] = [0] * nodes
    for node, weight in given.items():
        if not hasattr(node, "__index__"):
            expected = "expected a node, nodes, or a mapping from nodes to weights"
            raise TypeError(f"the function has returned {node!r} for node {source}: {expected}")
        if not 0 <= node < nodes:
            raise ValueError(f"node {source} sends to node {node}: expected one of {nodes} nodes, numbered from 0")
        row[node] = weight
    return row
