"""The private binary part: text in, JSON out. Everything else is Python."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Protocol, final

from flitway._errors import _Fields

__all__ = [
    "VERSION",
    "Experiment",
    "Store",
    "builtin_experiments",
    "builtin_machines",
    "check_machine",
    "parquet",
    "run",
    "run_point",
    "workload_options",
]

VERSION: str

class _Source(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    @property
    def folder(self) -> Path: ...
    @property
    def sets(self) -> list[str]: ...

_Tell = Callable[[int, int, int, float | None], None]

def builtin_experiments() -> list[tuple[str, str]]: ...
def builtin_machines() -> list[tuple[str, str]]: ...
def check_machine(
    source: _Source, traffic: str | None, packet: str
) -> tuple[str, list[_Fields]]: ...
def parquet(result: str) -> bytes: ...
def run(
    source: _Source,
    options: list[tuple[str, str]],
    seed: int,
    threads: int,
    shown: tuple[bool, str | None],
    tell: _Tell | None,
) -> tuple[str, list[_Fields], str | None, str | None]: ...
def run_point(description: str, tell: _Tell | None) -> str: ...
def workload_options() -> list[str]: ...
@final
class Experiment:
    def __new__(
        cls,
        name_or_path: str,
        set: list[str],
        seed: int | None,
        precision: str | None,
        duration: str | None,
    ) -> Experiment: ...
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def title(self) -> str: ...
    def __len__(self) -> int: ...
    def fits(self, workers: int) -> None: ...
    def gather(
        self, results: list[str | None], command: list[str]
    ) -> tuple[str, list[tuple[str, str]]]: ...
    def point(self, index: int) -> tuple[str, str, list[tuple[str, str]]]: ...
    def warnings(self) -> list[_Fields]: ...
@final
class Store:
    def __new__(cls, folder: str | PathLike[str]) -> Store: ...
    def load(self, key: str) -> str | None: ...
    def save(self, key: str, result: str) -> None: ...
    def write(self, name: str, text: str) -> Path: ...
