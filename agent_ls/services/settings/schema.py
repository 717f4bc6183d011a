"""The settings as a JSON Schema (2020-12), generated from their types, for `agent-ls config --schema`."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from agent_ls.services.settings.model import Settings


def settings_schema() -> dict[str, Any]:
    """Return the schema of the section `agentLs`. No setting is required; unknown names are errors."""
    schema = Settings.model_json_schema(by_alias=True)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Settings of agent-ls"}
