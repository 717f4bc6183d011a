"""The table of docs/library.md has each event class with its kind and its fields."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import pytest

import agent_ls
from tests.docs.pages import read

DELTAS = "`assistant_text_delta`, `reasoning_delta`, `tool_call_args_delta`, `tool_call_output_delta`"


def row(event: Any) -> str:
    kind = DELTAS if event is agent_ls.Delta else f"`{event.kind}`"
    fields = [field.name for field in dataclasses.fields(event) if field.name != "kind"]
    return f"| `{event.__name__}` | {kind} | {', '.join(f'`{name}`' for name in fields)} |"


@pytest.mark.req("E2", "H13")
def test_the_table_of_docs_library_has_each_event_with_its_fields() -> None:
    lines = read("docs/library.md").splitlines()
    assert [line for line in map(row, get_args(agent_ls.Event)) if line not in lines] == []


if __name__ == "__main__":
    print("\n".join(map(row, get_args(agent_ls.Event))))  # noqa: T201  # the rows for the page
