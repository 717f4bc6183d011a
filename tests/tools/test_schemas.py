"""The prebuilt schemas of tools equal the generated ones, and the first request builds no validators."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import Field

from agent_ls.tools.base import Arguments
from agent_ls.tools.registry import generate_schema
from agent_ls.tools.schemas import prebuilt_schemas, schema_key
from agent_ls.tools.think import ThinkArguments
from tests.tools.tool_schemas import FAMILIES, FILE, argument_classes, rendered

FIRST_REQUEST = """
import sys
from agent_ls.profiles.create import create_profile
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Arguments

def all_of(cls):
    return [cls, *(one for child in cls.__subclasses__() for one in all_of(child))]

for family in sys.argv[2:]:
    create_profile(family, "m", options=ProfileOptions(native_names=sys.argv[1] == "native")).tools()
classes = all_of(Arguments)
print(len(classes) > 10, [cls.__name__ for cls in classes if cls.__pydantic_complete__])
"""


def test_the_prebuilt_schema_file_equals_the_schemas_generated_from_the_classes() -> None:
    assert FILE.read_text(encoding="utf-8") == rendered(), "run `python -m tests.tools.tool_schemas`"


def test_every_tool_of_a_session_has_a_prebuilt_schema() -> None:
    for arguments in argument_classes():
        assert prebuilt_schemas()[schema_key(arguments)] == generate_schema(arguments)


def test_an_argument_class_of_a_host_never_gets_the_prebuilt_schema_of_the_same_name() -> None:
    own = type(
        "ThinkArguments",
        (Arguments,),
        {"__module__": ThinkArguments.__module__, "__annotations__": {"query": str}, "query": Field()},
    )
    assert schema_key(ThinkArguments) in prebuilt_schemas()
    assert schema_key(own) not in prebuilt_schemas()


@pytest.mark.parametrize("names", ["native", "own"])
def test_the_first_request_builds_no_validator_of_a_tool(names: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_REQUEST, names, *FAMILIES],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stdout == "True []\n"
