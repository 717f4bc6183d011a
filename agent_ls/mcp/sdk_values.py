"""Convert values of the SDK to our own types."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from agent_ls.mcp.descriptions import PromptArgument, ResultBlock, ServerPrompt, ServerResource, ServerTool


def tool_of(tool: types.Tool) -> ServerTool:
    hints = tool.annotations
    return ServerTool(
        name=tool.name,
        description=tool.description or "",
        schema=tool.input_schema,
        title=tool.title or (hints.title if hints else "") or "",
        read_only=hints.read_only_hint if hints else None,
        destructive=hints.destructive_hint if hints else None,
        open_world=hints.open_world_hint if hints else None,
    )


def key_of(item: Any) -> str:
    """Return what is unique in a list of a server."""
    match item:
        case types.Resource():
            return str(item.uri)
        case types.ResourceTemplate():
            return item.uri_template
        case _:
            return str(item.name)


def prompt_of(prompt: types.Prompt) -> ServerPrompt:
    arguments = tuple(
        PromptArgument(it.name, it.description or "", bool(it.required)) for it in prompt.arguments or ()
    )
    return ServerPrompt(prompt.name, prompt.description or prompt.title or "", arguments)


def resource_of(resource: types.Resource) -> ServerResource:
    return ServerResource(
        str(resource.uri), resource.name, resource.description or "", resource.mime_type or "", resource.size
    )


def template_of(template: types.ResourceTemplate) -> ServerResource:
    return ServerResource(
        template.uri_template, template.name, template.description or "", template.mime_type or ""
    )


def block_of(part: Any) -> ResultBlock | None:
    match part:
        case types.TextContent():
            return ResultBlock("text", part.text)
        case types.ImageContent():
            return ResultBlock("image", data=part.data, mime_type=part.mime_type)
        case types.AudioContent():
            return ResultBlock("audio", data=part.data, mime_type=part.mime_type)
        case types.ResourceLink():
            text = part.description or ""
            return ResultBlock(
                "link", text, uri=str(part.uri), name=part.name, mime_type=part.mime_type or ""
            )
        case types.EmbeddedResource():
            return content_of(part.resource)
        case _:
            return None


def content_of(part: Any) -> ResultBlock:
    if isinstance(part, types.BlobResourceContents):
        return ResultBlock("resource", data=part.blob, mime_type=part.mime_type or "", uri=str(part.uri))
    return ResultBlock("resource", part.text, mime_type=part.mime_type or "", uri=str(part.uri))
