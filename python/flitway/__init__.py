"""Flitway simulates HPC interconnection networks exactly, at the cost of packets.

The same machines, workloads, experiments and results as in files and on the command line:

>>> import flitway
>>> machine = flitway.Machine("hpp-switch", {"switch.vcs": 2})
>>> result = flitway.run(machine, load=0.3, duration="200 us")
>>> result.points[0].verdict
'steady'
>>> 0.25 < result.points[0].accepted_load < 0.35
True

What is wrong is an exception that shows all mistakes at once:

>>> flitway.run("hpp-switch", load="fast")
Traceback (most recent call last):
flitway.WorkloadError: error: `load`: `fast` is no load: expected a load above 0 ...

A result makes frames (:meth:`Result.to_pandas`, :meth:`Result.to_arrow`) and pictures (:meth:`Result.plot`).
:class:`Experiment` runs the points of an experiment file through any executor of :mod:`concurrent.futures`.
"""

from flitway._errors import (
    Diagnostic,
    ExperimentError,
    FlitwayError,
    FlitwayWarning,
    InternalError,
    MachineError,
    StoreError,
    TooLargeError,
    WorkloadError,
)
from flitway._experiment import Experiment, ExperimentPoint, ExperimentResult
from flitway._flitway import VERSION as __version__
from flitway._graphs import Task, calc, recv, send, task_graph, write_topology
from flitway._machine import CheckedMachine, Machine
from flitway._options import WorkloadOptions
from flitway._progress import Step
from flitway._result import Latency, Point, Result
from flitway._run import run
from flitway._traffic import write_traffic

__all__ = [
    "CheckedMachine",
    "Diagnostic",
    "Experiment",
    "ExperimentError",
    "ExperimentPoint",
    "ExperimentResult",
    "FlitwayError",
    "FlitwayWarning",
    "InternalError",
    "Latency",
    "Machine",
    "MachineError",
    "Point",
    "Result",
    "Step",
    "StoreError",
    "Task",
    "TooLargeError",
    "WorkloadError",
    "WorkloadOptions",
    "__version__",
    "calc",
    "recv",
    "run",
    "send",
    "task_graph",
    "write_topology",
    "write_traffic",
]
