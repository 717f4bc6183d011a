"""`agent-ls config --schema`: a JSON Schema that names each setting with its type, limits and default."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from agent_ls.services.settings.model import Settings
from tests.support import commands


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
