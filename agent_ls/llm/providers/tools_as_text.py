"""Use the text protocol (text_tools.py) on any wire, for models that cannot call tools through the API."""

from __future__ import annotations

from dataclasses import replace

from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import (
    ContentPart,
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    system,
)
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.providers.pairing import pair_tool_results
from agent_ls.llm.providers.refused_tools import refuses_tools
from agent_ls.llm.providers.text_tools import (
    NO_TOOLS,
    in_own_form,
    render_call,
    render_result,
    tool_instructions,
)
from agent_ls.llm.requests import Request


class ToolsAsText:
    """The models that get their tools as text. `always`: the user's settings ask for it, for each model."""

    def __init__(self, notices: LeftOutNotices, *, always: bool = False) -> None:
        self._notices = notices
        self._always = always
        self._models: set[str] = set()

    def has(self, model: str) -> bool:
        return self._always or model in self._models

    def learn(self, request: Request, error: LlmError) -> bool:
        """Remember a model whose server refuses tools. Return whether the request is different now."""
        if not request.tools or self.has(request.model) or not refuses_tools(error):
            return False
        self._models.add(request.model)
        self._notices.add(request.model, NO_TOOLS)
        return True

    def fit(self, request: Request) -> Request:
        """Return the request as it is sent: with texts in place of tools, calls and results, where that is needed."""
        return _as_text(request) if self.has(request.model) else request


def _as_text(request: Request) -> Request:
    said = [one for message in pair_tool_results(request.messages) for one in _rendered(message)]
    at = next((at for at, one in enumerate(said) if one.role is not Role.SYSTEM), len(said))
    instructions = tool_instructions(request.tools, request.tool_choice)
    described = [system(instructions)] if instructions else []
    messages = (*said[:at], *described, *said[at:])
    return replace(request, messages=messages, tools=(), tool_choice="auto")


def _rendered(message: Message) -> list[Message]:
    if message.role is Role.SYSTEM:
        return [replace(message, parts=(TextPart(in_own_form(message.text)),))]
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    if results:
        images = tuple(image for result in results for image in result.images)
        return [Message(Role.USER, (TextPart("\n".join(map(render_result, results))), *images))]
    if not message.tool_calls:
        return [message]
    parts: list[ContentPart] = [
        TextPart(render_call(part)) if isinstance(part, ToolCallPart) else part for part in message.parts
    ]
    return [replace(message, parts=tuple(parts))]
