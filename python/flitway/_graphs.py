"""Graphs from Python: task graphs from a generator for each rank, topologies from NetworkX. Both become the text that files
hold, so that a result says what it was, and the command line runs the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

if TYPE_CHECKING:
    import networkx


class Task(NamedTuple):
    """A task of a rank; :func:`calc`, :func:`send` and :func:`recv` make one."""

    text: str


def calc(nanoseconds: int, *, cpu: int | None = None) -> Task:
    """Computing for a time.

    Parameters
    ----------
    nanoseconds
        How long.
    cpu
        On which cpu of the rank; 0 unless given.
    """
    return Task(f"calc {nanoseconds:d}{_options(cpu=cpu)}")


def send(size: int, to: int, *, tag: int | None = None, cpu: int | None = None, nic: int | None = None) -> Task:
    """Sending a message of `size` bytes; it has completed when the NIC has it.

    Parameters
    ----------
    size
        Bytes.
    to
        The rank that receives it.
    tag
        By which it is matched; 0 unless given.
    cpu
        On which cpu of the rank; 0 unless given.
    nic
        On which rail; whichever is next unless given.
    """
    return Task(f"send {size:d}b to {to:d}{_options(tag=tag, cpu=cpu, nic=nic)}")


def recv(size: int, source: int | None, *, tag: int | None = 0, cpu: int | None = None) -> Task:
    """Receiving a message.

    Parameters
    ----------
    size
        Bytes; that of the message counts.
    source
        The rank that sends it; ``None`` for any.
    tag
        By which it is matched; ``None`` for any.
    cpu
        On which cpu of the rank; 0 unless given.
    """
    any_of = (-1 if value is None else value for value in (source, tag))
    rank, matched = any_of
    return Task(f"recv {size:d}b from {rank:d}{_options(tag=matched, cpu=cpu)}")


def _options(**values: int | None) -> str:
    return "".join(f" {name} {value:d}" for name, value in values.items() if value is not None)


Program = Callable[[int, int], Iterable[Union[Task, Iterable[Task]]]]


def task_graph(program: Program, ranks: int) -> str:
    """The task graph of a parallel program, as GOAL text.

    Parameters
    ----------
    program
        Called with the number of each rank and that of all ranks; yields its tasks, one after the other: each starts when
        the one before has completed. Tasks that are yielded together, in a list, run at once.
    ranks
        How many there are.

    Returns
    -------
    str
        The text of a file for ``graph``.

    Raises
    ------
    TypeError
        If a program yields something else; with the rank.

    Examples
    --------
    >>> def ring(rank, ranks):
    ...     yield calc(1000)
    ...     yield [send(8, (rank + 1) % ranks), recv(8, (rank - 1) % ranks)]
    >>> print(task_graph(ring, 2))
    num_ranks 2
    rank 0 {
      l0: calc 1000
      l1: send 8b to 1
      l2: recv 8b from 1 tag 0
      l1 requires l0
      l2 requires l0
    }
    ...
    >>> import flitway, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ring.goal")
    ...     _ = path.write_text(task_graph(ring, 16))
    ...     flitway.run("hpp-switch", graph=path).points[0]["graph.completed"]
    True
    """
    lines = [f"num_ranks {ranks:d}"]
    for rank in range(ranks):
        lines.append(f"rank {rank} {{")
        count, before, waits = 0, range(0), []
        for step in _steps(program, rank, ranks):
            tasks = _together(step, rank)
            now = range(count, count + len(tasks))
            lines += [f"  l{number}: {task.text}" for number, task in zip(now, tasks, strict=True)]
            waits += [f"  l{later} requires l{earlier}" for later in now for earlier in before]
            # Nothing, yielded, is nothing to wait for.
            count, before = now.stop, now or before
        lines += [*waits, "}"]
    return "\n".join(lines) + "\n"


def _steps(program: Program, rank: int, ranks: int) -> Iterable[Any]:
    steps: Any = program(rank, ranks)
    if not isinstance(steps, Iterable):
        raise TypeError(f"the program of rank {rank} has returned {steps!r}: expected a generator, or a list of tasks")
    return steps


def _together(step: Any, rank: int) -> list[Task]:
    """The tasks of a step: one, or several that run at once.

    >>> _together(3, 7)
    Traceback (most recent call last):
    TypeError: rank 7 yields 3: expected a task (`calc`, `send` or `recv`), or a list of tasks
    """
    tasks = [step] if isinstance(step, Task) or not isinstance(step, Iterable) else list(step)
    for task in tasks:
        if not isinstance(task, Task):
            raise TypeError(f"rank {rank} yields {task!r}: expected a task (`calc`, `send` or `recv`), or a list of tasks")
    return tasks


def write_topology(
    graph: networkx.Graph[Any], path: str | os.PathLike[str], *, nodes_per_switch: int | Mapping[Any, int] = 1
) -> Path:
    """Writes a graph of switches as the graph file of a topology.

    Parameters
    ----------
    graph
        A graph of NetworkX, or what has ``nodes`` and ``edges`` like one. Its vertices are switches and its edges links,
        parallel ones too; the ``length`` of an edge and its ``rate``, text with a unit, are those of the cable, and
        ``backrate`` is the rate from its second vertex to the first one, if it is another.
    path
        The file.
    nodes_per_switch
        How many nodes are linked to each switch, or to which switch how many.

    Returns
    -------
    pathlib.Path
        The file. ``machine["topology"] = {"kind": "graph", "file": str(path)}`` takes it; links between switches without a
        length or a rate of their own have ``link.length.switch`` and ``link.rate.switch``.
    """
    number = {vertex: index for index, vertex in enumerate(graph.nodes)}
    ports = dict.fromkeys(number, 0)

    def end(vertex: Any) -> str:
        ports[vertex] += 1
        return f"s{number[vertex]}:{ports[vertex] - 1}"

    statements, node = [], 0
    for vertex in number:
        count = nodes_per_switch if isinstance(nodes_per_switch, int) else nodes_per_switch.get(vertex, 0)
        for _ in range(count):
            statements.append(f"link {end(vertex)} - n{node}")
            node += 1
    for one, other, data in graph.edges(data=True):
        back = f"back {data['backrate']}" if "backrate" in data else ""
        cable = [str(data.get(key, "")) for key in ("length", "rate")]
        statements.append(" ".join(filter(None, [f"link {end(one)} - {end(other)}", *cable, back])))
    names = [f"switch s{index}  # {vertex!r}" for vertex, index in number.items()]
    names += [f"node n0..n{node - 1}"] if node else []
    target = Path(path)
    target.write_text("\n".join([*names, *statements]) + "\n", encoding="utf-8")
    return target


Task.__module__ = "flitway"
