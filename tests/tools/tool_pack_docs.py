"""Write the tables of docs/tool-packs.md: `python -m tests.tools.tool_pack_docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_ls.features.packs.catalog import COVERED_BY, PACKS, PRESETS
from agent_ls.features.packs.detect import MARKERS
from agent_ls.features.packs.load import PackTool, pack_tools

PAGE = Path(__file__).resolve().parents[2] / "docs/tool-packs.md"
_PART = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def rendered(page: str) -> str:
    """Return the page with its tables generated again."""
    parts = {"presets": _presets, "packs": _packs, "markers": _markers}
    return _PART.sub(
        lambda found: f"<!-- {found[1]} -->\n\n{chr(10).join(parts[found[1]]())}\n\n<!-- end -->", page
    )


def _presets() -> Iterator[str]:
    yield "| preset | packs |"
    yield "| --- | --- |"
    for name, packs in PRESETS.items():
        yield f"| `{name}` | {', '.join(packs) or 'none; the default'} |"


def _packs() -> Iterator[str]:
    yield "| pack | what it is for |"
    yield "| --- | --- |"
    for pack in PACKS.values():
        own = f", in addition to {_code(pack.own)}" if pack.own else ""
        yield f"| `{pack.name}` | {'to' if pack.is_category else 'for'} {pack.about}{own} |"
    yield ""
    yield "| pack | tool | category | what it does | program |"
    yield "| --- | --- | --- | --- | --- |"
    for pack in PACKS.values():
        yield from (_row(pack.name, tool) for tool in pack_tools(pack.name))


def _row(pack: str, tool: PackTool) -> str:
    name = f"*`{tool.name}`*" if tool.name in COVERED_BY else f"`{tool.name}`"
    category, programs = tool.definition.category, _code(tool.programs)
    return f"| `{pack}` | {name} | {category} | {tool.summary} | {programs} |"


def _markers() -> Iterator[str]:
    yield "| pack | files |"
    yield "| --- | --- |"
    for pack, names in MARKERS.items():
        yield f"| `{pack}` | {_code(names)} |"


def _code(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
