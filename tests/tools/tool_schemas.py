"""Write the schemas of our tools: `python -m tests.tools.tool_schemas`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from agent_ls.loop.context.history_search import SearchHistoryArguments
from agent_ls.profiles.create import NATIVE, create_profile, family_tools
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools import schemas
from agent_ls.tools.base import Arguments
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.registry import generate_schema
from agent_ls.tools.remember import RememberArguments, ScopedArguments
from agent_ls.tools.report_finding import ReportFindingArguments
from agent_ls.tools.schemas import schema_key

FILE = Path(schemas.__file__).with_name("schemas.json")
FAMILIES = (*NATIVE, "compatible")
BOTH = (True, False)
ADDED = (RememberArguments, ScopedArguments, ReportFindingArguments, SearchHistoryArguments)


def argument_classes() -> Iterator[type[Arguments]]:
    """Yield the arguments of the tools that sessions of all families offer."""
    yield from ADDED
    for family, native, background, alone in product(FAMILIES, BOTH, BOTH, BOTH):
        options = ProfileOptions(
            native_names=native, background_processes=background, think=alone, submit=alone
        )
        registry = create_profile(family, "m", options=options).registry
        yield from (tool.arguments for name in registry.names() if (tool := registry.lookup(name)))
        yield from (tool.arguments for tool in family_tools(EDIT_NOTEBOOK, family, native_names=native))


def generated() -> Mapping[str, object]:
    """Return the schemas by class."""
    return {key: generate_schema(cls) for cls in argument_classes() if (key := schema_key(cls))}


def rendered() -> str:
    """Return the text of the file: a line for each schema."""
    lines = (f"{json.dumps(key)}: {json.dumps(schema)}" for key, schema in sorted(generated().items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(rendered(), encoding="utf-8")
