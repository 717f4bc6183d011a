"""The tables of docs/library-events.md have each event class and each class of values with their fields."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import agent_ls
from tests.docs.pages import read

DELTAS = "`assistant_text_delta`, `reasoning_delta`, `tool_call_args_delta`, `tool_call_output_delta`"


def row(event: Any) -> str:
    kind = DELTAS if event is agent_ls.Delta else f"`{event.kind}`"
    fields = [field.name for field in dataclasses.fields(event) if field.name != "kind"]
    return f"| `{event.__name__}` | {kind} | {', '.join(f'`{name}`' for name in fields)} |"


VALUES = [
    getattr(agent_ls, name)
    for name in agent_ls.__all__
    if dataclasses.is_dataclass(kind := getattr(agent_ls, name))
    and kind not in (*get_args(agent_ls.Event), agent_ls.Tool, agent_ls.ToolOutput, agent_ls.ProviderProfile)
]


def words(hint: Any, written: Any) -> str:
    return " | ".join(f'"{it}"' for it in get_args(hint)) if get_origin(hint) is Literal else str(written)


def value_rows(kind: Any) -> str:
    """Return the rows of a class: one for each field, of which the first names the class."""
    hints = inspect.get_annotations(kind, eval_str=True)
    fields = [(it.name, words(hints[it.name], it.type)) for it in dataclasses.fields(kind) if it.init]
    fields += [
        (name, str(it.fget.__annotations__["return"])) for name, it in vars(kind).items() if is_property(it)
    ]
    names = [f"`{kind.__name__}`", *[""] * len(fields)]
    rows = zip(names, fields, strict=False)
    return "\n".join(f"| {name} | `{field}` | {type_.replace('|', BAR)} |" for name, (field, type_) in rows)


def is_property(member: Any) -> bool:
    return isinstance(member, property)


BAR = "\\|"


@pytest.mark.req("E2", "H13")
def test_the_tables_of_the_page_have_each_event_and_value_with_its_fields() -> None:
    page = read("docs/library-events.md")
    rows = [*map(row, get_args(agent_ls.Event)), *map(value_rows, VALUES)]
    assert [it for it in rows if f"\n{it}\n" not in page] == []


def classes(hint: Any) -> set[type]:
    """Return the dataclasses that a type names, for example in a tuple or a union."""
    inner = {it for argument in get_args(hint) for it in classes(argument)}
    return inner | ({hint} if inspect.isclass(hint) and dataclasses.is_dataclass(hint) else set())


@pytest.mark.req("H13")
def test_each_class_that_a_program_reads_is_exported() -> None:
    public = {getattr(agent_ls, name) for name in agent_ls.__all__ if name != "Event"}
    hints = [hint for kind in (*get_args(agent_ls.Event), *VALUES) for hint in get_type_hints(kind).values()]
    for _, member in inspect.getmembers(agent_ls.AgentSession):
        method = member.fget if isinstance(member, property) else member
        if inspect.isfunction(method) and not method.__name__.startswith("_"):
            hints += get_type_hints(method).values()
    assert {found for hint in hints for found in classes(hint)} <= public


if __name__ == "__main__":
    print("\n".join([*map(row, get_args(agent_ls.Event)), *map(value_rows, VALUES)]))  # noqa: T201  # the rows for the page
