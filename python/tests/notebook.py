"""Runs a notebook as a kernel does, as far as its outputs go: text that is printed, the value of the last line, pictures."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
from typing import Any

import matplotlib.pyplot

Output = dict[str, Any]


def run_cell(source: str, count: int, names: dict[str, Any]) -> list[Output]:
    """The outputs of a cell; what it defines is in `names`."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []) if last else ast.parse(source), f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: list[Output] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    if value is not None:
        outputs.append({"data": shown(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return [*outputs, *pictures()]


def shown(value: Any) -> dict[str, list[str]]:
    """A value as text, and as HTML if it has that."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


def pictures() -> list[Output]:
    """Every figure that is open; closes them."""
    outputs = []
    for number in matplotlib.pyplot.get_fignums():
        picture = io.BytesIO()
        matplotlib.pyplot.figure(number).savefig(picture, format="png", dpi=72)
        lines = base64.encodebytes(picture.getvalue()).decode().splitlines(keepends=True)
        data = {"image/png": lines, "text/plain": ["<Figure>"]}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    matplotlib.pyplot.close("all")
    return outputs


def texts(outputs: list[Output]) -> list[Any]:
    """What is the same wherever the notebook runs: all but pictures and HTML, which depend on versions of what draws them."""
    return [output.get("text") or output["data"]["text/plain"] for output in outputs]
