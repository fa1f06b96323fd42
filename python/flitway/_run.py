"""Runs: a workload on a machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict, Union

from flitway import _flitway, _text
from flitway._errors import diagnostics, warn
from flitway._machine import Machine
from flitway._progress import Progress, Step, shown
from flitway._result import Result

if TYPE_CHECKING:
    from typing import Unpack

_File = Union[str, "os.PathLike[str]"]


class WorkloadOptions(TypedDict, total=False):
    """The options of a workload, as on the command line with ``_`` for ``-``: ``flitway run --help`` tells what they mean.

    Quantities are text with a unit, loads text or numbers. Which kind of workload is meant follows from the options that
    are given; without any it is uniform traffic at nine loads.
    """

    traffic: str
    packet: str
    arrival: str
    load: str | float | Iterable[float]
    precision: str | float
    warm_up: str
    duration: str
    multicast: str
    multicast_load: str | float | Iterable[float]
    multicast_packet: str
    by: str
    root: str
    staleness: str
    overheads: bool
    barrier: str
    interval: str
    imbalance: str
    lose: str | Iterable[str]
    train: str
    count: int
    graph: _File
    placement: _File


WorkloadOptions.__module__ = "flitway"


def run(
    machine: Machine | str | os.PathLike[str],
    *,
    seed: int = 1,
    threads: int = 1,
    progress: Progress = None,
    **workload: Unpack[WorkloadOptions],
) -> Result:
    """Runs a workload on a machine, as ``flitway run`` does.

    Other threads of Python go on meanwhile. Ctrl-C ends the run with ``KeyboardInterrupt``; an :class:`Experiment` keeps
    the points that are finished.

    Parameters
    ----------
    machine
        A :class:`Machine`, a built-in name or the path of a machine file.
    seed
        Seed of every random choice.
    threads
        Threads of one simulation; the result does not depend on them.
    progress
        ``None`` shows a bar if tqdm is installed and somebody looks; ``True`` and ``False`` say so; a function is called
        with every :class:`Step`.
    workload
        The workload: :class:`WorkloadOptions`.

    Returns
    -------
    Result
        What came out. A fault that was found, such as a deadlock, is in :attr:`Point.fault`.

    Raises
    ------
    MachineError, WorkloadError
        With all that is wrong with the machine or the workload.
    TooLargeError
        If the machine needs more memory than there is.

    Examples
    --------
    >>> result = run("hpp-switch", load=[0.2, 0.4], packet="64B", duration="20 us")
    >>> [round(point.offered_load, 1) for point in result.points]
    [0.2, 0.4]
    >>> run("dawning5000", barrier="all", duration="20 us").points[0]["barrier.operations"] > 0
    True
    """
    if not isinstance(machine, Machine):
        machine = Machine(machine)
    if not 1 <= threads <= 256:
        raise ValueError(f"`threads`: expected 1 to 256, and not {threads}")
    options = [(name, _text.option(name, value)) for name, value in workload.items()]  # type: ignore[arg-type]
    with shown(progress, machine.name) as tell:
        text, warnings = _flitway.run(
            machine, options, seed, threads, tell and (lambda *step: tell(Step(*step)))
        )
        result = Result(json.loads(text))
        if tell:
            tell(Step(len(result.points), len(result.points)))
    warn(diagnostics(warnings))
    return result
