"""Runs: a workload on a machine."""

from __future__ import annotations

import functools
import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from flitway import _flitway, _text
from flitway._errors import FlitwayWarning, diagnostics, warn
from flitway._machine import Machine
from flitway._options import WorkloadOptions
from flitway._progress import Progress, Step, shown
from flitway._result import Result

if TYPE_CHECKING:
    from typing import Unpack


def run(
    machine: Machine | str | os.PathLike[str],
    *,
    seed: int = 1,
    threads: int = 1,
    progress: Progress = None,
    report: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    trace_of: str | None = None,
    counters: str | os.PathLike[str] | None = None,
    every: str | None = None,
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
        Threads, of one simulation or of so many points of a small machine side by side; the result does not depend on
        them.
    progress
        ``None`` shows a bar if tqdm is installed and somebody looks; ``True`` and ``False`` say so; a function is called
        with every :class:`Step`.
    report
        Where to write a report page: one HTML file to look at, to print, to send. Each point is then run twice.
    trace
        Where to write what happened to chosen packets of the last point, for Perfetto or Chrome's own viewer.
    trace_of
        Which packets: ``"slowest"`` unless given, ``"nodes(0+4-7)"`` or ``"switches(0+1)"``.
    counters
        Where to write what the registers of every port and virtual channel count, as CSV. Each run is then made twice.
    every
        How often to read them, such as ``"10 us"``; once, at the end, unless given.
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
    OSError
        If a page, a trace or counters cannot be written, which is found out before anything runs.

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
    if trace_of is not None and trace is None:
        raise ValueError("`trace_of` says what a trace is of: say with `trace` where to write it")
    if every is not None and counters is None:
        raise ValueError("`every` says how often to read counters: say with `counters` where to write them")
    files = [Path(file) for file in (report, trace, counters) if file is not None]
    if len(set(files)) < len(files):
        raise ValueError(f"`report`, `trace` and `counters` go to one file: {files[0]}")
    for file in files:
        _probe(file)
    options = [(name, _text.option(name, value)) for name, value in workload.items()]  # type: ignore[arg-type]
    with shown(progress, machine.name) as tell:
        of_trace = None if trace is None else trace_of or "slowest"
        views = (report is not None, of_trace, None if counters is None else (every,))
        text, found, written = _flitway.run(
            machine, options, seed, threads, views, tell and (lambda *step: tell(Step(*step)))
        )
        again = functools.partial(_page, machine.copy(), seed, threads, workload)
        result = Result(json.loads(text), again)
        if tell:
            tell(Step(len(result.points), len(result.points)))
    for target, content in zip((report, trace, counters), written, strict=True):
        if target is not None and content is not None:
            Path(target).write_text(content, encoding="utf-8")
    warn(diagnostics(found))
    return result


def _page(
    machine: Machine, seed: int, threads: int, workload: WorkloadOptions, path: str | os.PathLike[str]
) -> None:
    """Writes the page of a run that was made without; it has warned already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlitwayWarning)
        run(machine, seed=seed, threads=threads, report=path, **workload)


def _probe(path: Path) -> None:
    """Raises what keeps a file from being written; leaves none that was not there."""
    existed = path.exists()
    with path.open("ab"):
        pass
    if not existed:
        path.unlink()
