"""The settings as a JSON Schema (2020-12), made from their types: `agent-ls config --schema`."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from agent_ls.app.settings import Settings


def settings_schema() -> dict[str, Any]:
    """Of the section `agentLs`. Nothing is required; a name that is not there is none of ours."""
    schema = Settings.model_json_schema(by_alias=True)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Settings of agent-ls"}
