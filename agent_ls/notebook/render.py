"""Render a notebook for a model: numbered cells with ids, and short outputs; never the JSON of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_ls.notebook.cells import Cell, Notebook
from agent_ls.text import plural, render_terminal_output

OUTPUT_LINES = 20
"""Maximum number of displayed lines of one output, from its head and tail."""
OUTPUT_CHARS = 2_000


def render_notebook(notebook: Notebook, name: str) -> str:
    count = plural(len(notebook.cells), "cell")
    head = f"Notebook {name}: {count}, {notebook.language}, nbformat 4.{notebook.minor}."
    parts = [render_cell(cell, number) for number, cell in enumerate(notebook.cells, 1)]
    return "\n\n".join([head, *parts])


def render_sources(notebook: Notebook) -> str:
    """Return the numbered sources of all cells without outputs, for a readable diff of two versions."""
    cells = (
        f"=== cell {number} ({cell.kind})\n{cell.source}" for number, cell in enumerate(notebook.cells, 1)
    )
    return "\n".join(cell.rstrip("\n") + "\n" for cell in cells)


def render_cell(cell: Cell, number: int) -> str:
    outputs_text = "\n".join(_render_output(output) for output in cell.outputs)
    parts = [render_cell_heading(cell, number), cell.source.rstrip("\n")]
    if outputs_text:
        parts += [f"--- output of cell {number}", outputs_text]
    return "\n".join(part for part in parts if part)


def render_cell_heading(cell: Cell, number: int) -> str:
    known = f", id {cell.id}" if cell.id else ""
    count = cell.place.data.get("execution_count")
    ran = f", run as [{count}]" if type(count) is int else ""
    return f"=== cell {number} ({cell.kind}{known}{ran})"


def _render_output(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _truncate(_to_text(output.get("text")))
    if kind == "error":
        trace = _to_text(output.get("traceback"), between="\n")
        return _truncate(trace or f"{output.get('ename')}: {output.get('evalue')}")
    data = output.get("data")
    return (
        "\n".join(_render_bundle(data))
        if isinstance(data, dict)
        else f"[{kind or 'an output without a type'}]"
    )


def _render_bundle(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of the text/plain data of an output, and media type and size of all its other data.

    Without text/plain, Markdown and LaTeX are also yielded as text.
    """
    plain = data.get("text/plain")
    if plain is not None:
        yield _truncate(_to_text(plain))
    for media_type, value in data.items():
        if media_type == "text/plain":
            continue
        text = _to_text(value)
        if media_type.startswith("image/") and media_type != "image/svg+xml":
            yield f"[{media_type}, {len(text.strip()) * 3 // 4} bytes]"
        elif plain is None and media_type in ("text/markdown", "text/latex"):
            yield _truncate(text)
        else:
            yield f"[{media_type}, {len(text)} characters]"


def _to_text(value: Any, between: str = "") -> str:
    if isinstance(value, list):
        return between.join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ("" if value is None else str(value))


def _truncate(text: str) -> str:
    lines = render_terminal_output(text).rstrip("\n").split("\n")
    if len(lines) > OUTPUT_LINES:
        half = OUTPUT_LINES // 2
        left = len(lines) - OUTPUT_LINES
        lines = [*lines[:half], f"[... {left} more lines ...]", *lines[-half:]]
    whole = "\n".join(lines)
    if len(whole) <= OUTPUT_CHARS:
        return whole
    half = OUTPUT_CHARS // 2
    return f"{whole[:half]}\n[... {len(whole) - OUTPUT_CHARS} more characters ...]\n{whole[-half:]}"
