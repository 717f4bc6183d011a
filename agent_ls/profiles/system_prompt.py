"""Join the layers of the system prompt into one text. Pure.

Order: base, environment, tools, project documents, user instructions; later layers take precedence. The same
values give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class PromptLayers:
    """The texts of all layers; "" for a layer that is absent."""

    base: str
    environment: str
    tools: str
    project_documents: str = ""
    user_instructions: str = ""

    def text(self) -> str:
        layers = (self.base, self.environment, self.tools, self.project_documents, self.user_instructions)
        return "\n\n".join(layer.strip() for layer in layers if layer.strip()) + "\n"


def build_tools_layer(registry: ToolRegistry) -> str:
    """Return a list of the tools with the first paragraph of each description. Schemas are sent separately."""
    definitions = registry.definitions()
    if not definitions:
        return ""
    return "\n".join(
        ["# Your tools", "", *(f"- {tool.name}: {_gist(tool.description)}" for tool in definitions)]
    )


def _gist(description: str) -> str:
    """Return the first paragraph of a description, joined to one line."""
    return " ".join(description.split("\n\n")[0].split())


def build_user_layer(instructions: str) -> str:
    if not instructions.strip():
        return ""
    return (
        "# The user's instructions\n\n"
        "These instructions come from the user's settings and override everything above.\n\n"
        + instructions.strip()
    )
