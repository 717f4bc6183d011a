"""A notebook as a model reads it: cells with numbers and ids, outputs as short text, never the JSON of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_ls.notebook.cells import Cell, Notebook
from agent_ls.text import without_escapes

OUTPUT_LINES = 20
"""Of one output, head and tail: what a run said is seldom what is asked about."""
OUTPUT_CHARS = 2_000


def shown_notebook(notebook: Notebook, name: str) -> str:
    count = "1 cell" if len(notebook.cells) == 1 else f"{len(notebook.cells)} cells"
    head = f"Notebook {name}: {count}, {notebook.language}, nbformat 4.{notebook.minor}."
    parts = [shown_cell(cell, number) for number, cell in enumerate(notebook.cells, 1)]
    return "\n\n".join([head, *parts])


def shown_cell(cell: Cell, number: int) -> str:
    told = "\n".join(_output(output) for output in cell.outputs)
    parts = [cell_head(cell, number), cell.source.rstrip("\n")]
    if told:
        parts += [f"--- output of cell {number}", told]
    return "\n".join(part for part in parts if part)


def cell_head(cell: Cell, number: int) -> str:
    known = f", id {cell.id}" if cell.id else ""
    count = cell.place.data.get("execution_count")
    ran = f", run as [{count}]" if type(count) is int else ""
    return f"=== cell {number} ({cell.kind}{known}{ran})"


def _output(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _shortened(_text(output.get("text")))
    if kind == "error":
        trace = _text(output.get("traceback"), between="\n")
        return _shortened(trace or f"{output.get('ename')}: {output.get('evalue')}")
    data = output.get("data")
    return "\n".join(_of_bundle(data)) if isinstance(data, dict) else f"[{kind}]"


def _of_bundle(data: Mapping[str, Any]) -> Iterator[str]:
    """Text as text; of all else its type and size."""
    plain = data.get("text/plain")
    if plain is not None:
        yield _shortened(_text(plain))
    for media_type, value in data.items():
        if media_type == "text/plain":
            continue
        text = _text(value)
        if media_type.startswith("image/") and media_type != "image/svg+xml":
            yield f"[{media_type}, {len(text.strip()) * 3 // 4} bytes]"
        elif plain is None and media_type in ("text/markdown", "text/latex"):
            yield _shortened(text)
        else:
            yield f"[{media_type}, {len(text)} characters]"


def _text(value: Any, between: str = "") -> str:
    if isinstance(value, list):
        return between.join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ("" if value is None else str(value))


def _shortened(text: str) -> str:
    lines = without_escapes(text).rstrip("\n").split("\n")
    if len(lines) > OUTPUT_LINES:
        half = OUTPUT_LINES // 2
        left = len(lines) - OUTPUT_LINES
        lines = [*lines[:half], f"[... {left} more lines ...]", *lines[-half:]]
    told = "\n".join(lines)
    if len(told) <= OUTPUT_CHARS:
        return told
    half = OUTPUT_CHARS // 2
    return f"{told[:half]}\n[... {len(told) - OUTPUT_CHARS} more characters ...]\n{told[-half:]}"
