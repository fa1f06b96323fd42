"""What is wrong, as exceptions: one class for each kind of input, with every diagnostic."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One problem of an input.

    Attributes
    ----------
    code
        Its kind, stable over versions, such as ``FW-M013``: ``flitway explain FW-M013`` tells more. ``None`` for
        options of a workload, which have no codes.
    severity
        ``error`` or ``warning``.
    path
        Where: the file and line, or the option of the workload.
    message
        What is wrong, in one sentence.
    expected
        What would be accepted.
    help
        The likely fix.
    rendered
        All of it, drawn as on the command line.
    """

    code: str | None
    severity: str
    path: str | None
    message: str
    expected: str | None
    help: str | None
    rendered: str


_Fields = tuple[str | None, str, str | None, str, str | None, str | None, str]


class FlitwayError(Exception):
    """Something is wrong with what Flitway was given.

    Attributes
    ----------
    message : str
        All problems, drawn as on the command line.
    diagnostics : list of Diagnostic
        The problems one by one, in the order of the text.
    """

    def __init__(self, message: str, diagnostics: Iterable[_Fields] = ()) -> None:
        self.message = message
        self.diagnostics = [Diagnostic(*fields) for fields in diagnostics]
        # Both, so that the exception survives the way from another process.
        super().__init__(message, tuple(self.diagnostics))

    def __str__(self) -> str:
        return self.message


class MachineError(FlitwayError, ValueError):
    """The machine is wrong."""


class WorkloadError(FlitwayError, ValueError):
    """The workload is wrong, or does not fit the machine."""


class ExperimentError(FlitwayError, ValueError):
    """The experiment is wrong."""


class StoreError(FlitwayError, OSError):
    """The folder of an experiment cannot be used, or holds something else."""


class TooLargeError(FlitwayError, MemoryError):
    """The machine needs more memory than is available."""


class InternalError(FlitwayError, RuntimeError):
    """A bug of Flitway. Please report it."""


class FlitwayWarning(UserWarning):
    """It runs; you should know."""


for _class in (Diagnostic, *FlitwayError.__subclasses__(), FlitwayError, FlitwayWarning):
    # Shown as everybody calls them.
    _class.__module__ = "flitway"


def diagnostics(fields: Iterable[_Fields]) -> list[Diagnostic]:
    """The diagnostics of the binary part."""
    return [Diagnostic(*one) for one in fields]


def warn(found: Iterable[Diagnostic]) -> None:
    """Shows each kind of warning once."""
    codes: set[str | None] = set()
    for diagnostic in found:
        if diagnostic.code not in codes:
            codes.add(diagnostic.code)
            warnings.warn(diagnostic.rendered, FlitwayWarning, stacklevel=callers())


def callers() -> int:
    """How far up the stack, seen from :func:`warn`, the code of the user stands."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("flitway."):
        frame, level = frame.f_back, level + 1
    return level
