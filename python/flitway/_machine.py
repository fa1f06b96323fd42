"""Machines: what a machine file says, as a value to change, check and run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitway import _flitway, _text
from flitway._errors import Diagnostic, diagnostics
from flitway._result import dotted

if TYPE_CHECKING:
    from typing import Unpack

    from flitway._options import WorkloadOptions
    from flitway._progress import Progress
    from flitway._result import Result


class Machine:
    """A machine: what a machine file says, and what you set since.

    A setting is checked where it is written: its name, its type, its unit and its range. What settings mean to each other
    and to the rest of the machine is checked by :meth:`check` and by a run. Either shows all mistakes at once.

    Parameters
    ----------
    name_or_path
        A built-in name (:meth:`builtin` has them) or the path of a machine file.
    settings
        What to set; see :meth:`set`.

    Examples
    --------
    >>> machine = Machine("hpp-switch", {"switch.vcs": 2})
    >>> machine["switch.buffer"] = "8 KiB"
    >>> machine.check().description["switch"]["buffer"]
    '8 KiB'
    >>> machine["switch.vcs"], machine["switch.buffer"], machine["link.fixed"]
    (2, '8 KiB', '0 ns')
    >>> machine["switch.vc"] = 3
    Traceback (most recent call last):
    flitway.MachineError: error[FW-M010]: there is no setting `vc` in `switch`
    ...

    Raises
    ------
    MachineError
        If a setting cannot be what it is set to.
    """

    def __init__(
        self, name_or_path: str | os.PathLike[str], settings: Mapping[str, _text.Setting] | None = None
    ) -> None:
        self.name = os.fspath(name_or_path)
        self.text: str | None = None
        self.folder = Path()
        self._settings: dict[str, str] = {}
        self.set(settings or {})

    @classmethod
    def from_text(
        cls, text: str, *, name: str = "machine.toml", folder: str | os.PathLike[str] = "."
    ) -> Machine:
        """The machine of a text in the form of a machine file.

        Parameters
        ----------
        text
            The text.
        name
            What to call it in messages.
        folder
            Where the paths in it begin.
        """
        machine = cls(name)
        machine.text, machine.folder = text, Path(folder)
        return machine

    @staticmethod
    def builtin() -> dict[str, str]:
        """The built-in machines: name and text.

        >>> list(Machine.builtin())[:2]
        ['hpp-switch', 'sp-switch-16']
        """
        return dict(_flitway.builtin_machines())

    def set(self, settings: Mapping[str, _text.Setting]) -> None:
        """Sets what is named by its path, in this machine; quantities are text with a unit, as in the file.

        >>> machine = Machine("torus-8x8")
        >>> machine.set({"topology.dimensions": [4, 4], "switch.buffer": "4 KiB"})
        >>> machine.check().nodes
        16

        Raises
        ------
        MachineError
            If a setting cannot be what it is set to; then none is set.
        """
        texts = {path: _text.setting(value) for path, value in settings.items()}
        _flitway.check_settings([f"{path}={text}" for path, text in texts.items()])
        for path, text in texts.items():
            # What is set later counts: a table replaces what was set in it.
            for earlier in [one for one in self._settings if one == path or one.startswith(f"{path}.")]:
                del self._settings[earlier]
            self._settings[path] = text

    def __setitem__(self, path: str, value: _text.Setting) -> None:
        self.set({path: value})

    def __getitem__(self, path: str) -> Any:
        """A setting of the checked machine, or a table of them: what was set, what the file says, or the default.

        Raises
        ------
        MachineError
            If something is wrong with the machine.
        KeyError
            If it has no such setting.
        """
        value = dotted(self.description, path)
        if value is None:
            raise KeyError(f"{self.name} has no setting `{path}`")
        return value

    @property
    def sets(self) -> list[str]:
        """What was set, as after ``--set``."""
        return [f"{path}={text}" for path, text in self._settings.items()]

    def copy(self) -> Machine:
        """Another machine that is the same until you change it."""
        other = Machine(self.name)
        other.text, other.folder, other._settings = self.text, self.folder, dict(self._settings)
        return other

    def check(
        self, *, traffic: str | None = None, packet: str | None = None, outstanding: int | None = None
    ) -> CheckedMachine:
        """Checks the machine: what follows from it.

        Parameters
        ----------
        traffic
            The pattern of traffic under which channel loads are expected; uniform unless given.
        packet
            The packet of which latencies are told; 256B, or the MTU if that is less, unless given.
        outstanding
            Packets of a node that may be under way without their replies, with a pattern such as
            ``uniform(reply=64B)``; any number unless given.

        Raises
        ------
        MachineError
            With all that is wrong.
        WorkloadError
            If the pattern does not fit.
        """
        most = None if outstanding is None else str(outstanding)
        text, warnings = _flitway.check_machine(self, traffic, packet, most)
        return CheckedMachine(json.loads(text), diagnostics(warnings))

    @property
    def description(self) -> dict[str, Any]:
        """The full checked machine, with every default filled in."""
        return self.check().description

    def run(
        self,
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
        """Runs a workload on this machine: :func:`flitway.run`."""
        from flitway._run import run

        return run(
            self,
            seed=seed,
            threads=threads,
            progress=progress,
            report=report,
            trace=trace,
            trace_of=trace_of,
            counters=counters,
            every=every,
            **workload,
        )

    def __repr__(self) -> str:
        settings = ", ".join(self.sets)
        return f"<flitway.Machine {self.name}{': ' if settings else ''}{settings}>"


class CheckedMachine:
    """A machine that passed every check, and what follows from it.

    Attributes
    ----------
    data : dict
        The object of ``flitway check --json``: ``facts``, ``credits``, ``deadlock``, ``channel_loads``, ...
    warnings : list of Diagnostic
        What you should know.
    """

    def __init__(self, data: dict[str, Any], warnings: list[Diagnostic]) -> None:
        self.data = data
        self.warnings = warnings

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.data["machine"]["name"])

    @property
    def description(self) -> dict[str, Any]:
        """The full checked machine, with every default filled in."""
        return dict(self.data["machine"]["description"])

    @property
    def nodes(self) -> int:
        """Nodes."""
        return int(self["facts.nodes"])

    def __getitem__(self, path: str) -> Any:
        """A value by its name, with dots for what lies inside: ``checked["facts.nodes"]``."""
        return dotted(self.data, path)

    def __repr__(self) -> str:
        return f"<flitway.CheckedMachine {self.name}: {self.nodes} nodes>"


for _class in (Machine, CheckedMachine):
    _class.__module__ = "flitway"
