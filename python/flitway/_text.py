"""Values of Python as a person would write them in a file or on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Union

from flitway._options import SEPARATORS

Setting = Union[str, bool, int, float, "list[Setting]", "tuple[Setting, ...]", "Mapping[str, Setting]"]
Option = Union[str, bool, int, float, "os.PathLike[str]", "Iterable[str | int | float]"]


def setting(value: Setting) -> str:
    """The value of a setting as TOML.

    >>> setting("4 KiB"), setting(2), setting(True), setting([4, 4])
    ('"4 KiB"', '2', 'true', '[4, 4]')
    >>> setting({"kind": "single", "nodes": 8})
    '{ "kind" = "single", "nodes" = 8 }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        fields = ", ".join(f"{quoted(name)} = {setting(one)}" for name, one in value.items())
        return f"{{ {fields} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(setting(one) for one in value)}]"
    return number(value)


def option(name: str, value: Option) -> str:
    """The value of an option of a workload as text; several in the way that the option takes several.

    >>> option("load", 0.3), option("load", [0.1, 1e-5]), option("overheads", True)
    ('0.3', '0.1,0.00001', 'true')
    >>> option("graph", ["a.goal", "b.goal"])
    'a.goal\\nb.goal'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if name == "traffic":
        raise TypeError("`traffic`: expected text; `flitway.write_traffic` makes a pattern of a matrix or a function")
    if isinstance(value, Iterable):
        return SEPARATORS.get(name, ",").join(option(name, one) for one in value)
    return number(value)


def number(value: object) -> str:
    """A number without exponent; what comes from NumPy is one too.

    >>> number(3), number(0.25), number(1e-5)
    ('3', '0.25', '0.00001')
    """
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"expected text, a number or a list of them, and not {value!r}")


def quoted(text: str) -> str:
    """Text in the quotes of TOML."""

    def escaped(character: str) -> str:
        if character in '"\\':
            return "\\" + character
        return f"\\u{ord(character):04X}" if ord(character) < 32 or ord(character) == 127 else character

    return '"' + "".join(map(escaped, text)) + '"'
