"""Progress: a bar where somebody looks, a function where somebody wants one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Union


class Step(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    done, all
        Points that are over, and points in all.
    cycles
        Cycles simulated of the point that runs.
    precision
        Half-width of the 95 % interval of its mean as a fraction of it, once there is one.
    """

    done: int
    all: int
    cycles: int = 0
    precision: float | None = None


Step.__module__ = "flitway"

#: ``None`` shows a bar if tqdm is installed and somebody looks (a terminal, a notebook); ``True`` and ``False`` say so;
#: a function is called with every :class:`Step`.
Progress = Union[bool, Callable[[Step], None], None]


@contextmanager
def shown(progress: Progress, what: str) -> Iterator[Callable[[Step], None] | None]:
    """What to call with each step, while a run is going on."""
    if progress is False or (progress is None and not somebody_looks()):
        yield None
        return
    if callable(progress):
        yield progress
        return
    try:
        with warnings.catch_warnings():
            # Without widgets it draws text, and need not say so.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise ImportError("`progress=True` needs tqdm: pip install tqdm") from None
        yield None
        return
    with tqdm(desc=what, unit="point") as bar:
        yield lambda step: move(bar, step)


def move(bar: Any, step: Step) -> None:
    """Moves a bar of tqdm, which draws itself no more often than is good."""
    bar.total = step.all
    if step.precision is not None:
        bar.set_postfix_str(f"+-{step.precision:.1%}", refresh=False)
    bar.update(step.done - bar.n)


def somebody_looks() -> bool:
    """Whether there is a terminal or a notebook to show progress."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()
