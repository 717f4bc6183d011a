"""`agent-ls config --schema`: a JSON Schema that names each setting with its type, limits and default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.services.settings.model import Settings, setting_problems
from agent_ls.services.settings.schema import settings_schema
from tests.support import commands

OTHER_TYPES: Mapping[str, list[Any]] = {
    "integer": ["7", True, 1.5, [7]],
    "number": ["7", True],
    "boolean": ["true", "yes", 1, 0],
    "string": [7, True],
    "array": ["a"],
}


@pytest.mark.req("H2")
async def test_the_schema_of_the_settings_is_printed_with_types_limits_and_defaults(tmp_path: Path) -> None:
    environ = commands.environment(tmp_path / "home")
    done = await anyio.run_process(commands.command("config", "--schema"), env=environ)
    schema = json.loads(done.stdout)

    assert set(schema["properties"]) == set(Settings().model_dump(by_alias=True))
    assert schema["additionalProperties"] is False and "required" not in schema
    assert schema["properties"]["mode"]["enum"] == ["plan", "ask", "edits", "full"]
    wait = schema["properties"]["diagnosticsWaitMs"]
    assert (wait["type"], wait["minimum"], wait["maximum"], wait["default"]) == ("integer", 0, 60_000, 1500)


def leaves(
    schema: Any, definitions: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the JSON type of each single setting."""
    if reference := schema.get("$ref"):
        yield from leaves(definitions[reference.split("/")[-1]], definitions, path)
    for option in schema.get("anyOf", []):
        yield from leaves(option, definitions, path)
    for name, inner in schema.get("properties", {}).items():
        yield from leaves(inner, definitions, (*path, name))
    if isinstance(inner := schema.get("additionalProperties"), dict):
        yield from leaves(inner, definitions, (*path, "any"))
    if schema.get("type", "object") != "object":
        yield path, schema["type"]


@pytest.mark.req("H2", "R5")
def test_a_value_of_another_json_type_is_invalid_in_every_setting() -> None:
    schema = settings_schema()
    found = list(leaves(schema, schema["$defs"]))
    assert len(found) > 100
    for path, kind in found:
        for value in OTHER_TYPES.get(kind, []):
            entry: Any = value
            for name in reversed(path):
                entry = {name: entry}
            named = [problem.startswith(".".join(path)) for problem in setting_problems(entry)]
            assert any(named), (path, value)


@pytest.mark.req("H2")
def test_whole_numbers_may_be_written_with_a_point_or_an_exponent() -> None:
    entry = json.loads('{"maxTurns": 2.0, "limits": {"tokensPerSession": 1e6, "costUsdPerInput": 2}}')
    assert setting_problems({**entry, "toolOutputLimits": {"shell": 6e4}, "checks": ("make",)}) == []


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (None, 0, "not written yet"),
        (
            '{"mode": "edits", "providers": {"openai": {"headers": {"X-Key": "sk-secret"}}}}',
            0,
            "sets mode, providers",
        ),
        ('{"mode": "wild"}', 1, "agentLs.mode"),
        ("{", 1, "is not JSON"),
    ],
)
def test_config_alone_says_where_the_settings_are_and_what_is_wrong_in_them(
    text: str | None, code: int, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "settings.json"
    if text is not None:
        file.write_text(text)
    environ = commands.environment(tmp_path / "home", AGENT_LS_SETTINGS=str(file))
    done = commands.run("config", cwd=tmp_path, environ=environ)
    assert done.code == code and words in done.out and str(file) in done.out.splitlines()[0], done
    assert environ["AGENT_LS_STATE_DIR"] in done.out and "sk-secret" not in done.out
