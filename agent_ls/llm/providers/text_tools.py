"""The text protocol: the system text describes the tools to a model that cannot call tools through the API.

The model gets each tool's name, description and JSON Schema, and is asked to end its answer with

    <tool_call>
    {"name": "read_file", "arguments": {"path": "a.py"}}
    </tool_call>

once for each call. Results are sent as the user's text, in call order:

    <tool_result name="read_file">
    ...
    </tool_result>

`printed_calls.py` parses the calls. docs/providers.md describes the text protocol for users.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent_ls.llm.messages import ToolCallPart, ToolResultPart
from agent_ls.llm.providers.wire_json import arguments_object, object_at
from agent_ls.llm.requests import NamedToolChoice, ToolChoice, ToolDefinition
from agent_ls.patterns import regex

_RULES = """# Calling tools

You can call the tools listed below. To call one, end your answer with a block of exactly this form, one block for \
each call, and write nothing after the last block:

<tool_call>
{"name": "the tool's name", "arguments": {"parameter": "value"}}
</tool_call>

The arguments are a JSON object that fits the tool's schema. The results come with the next message, between \
<tool_result> and </tool_result>. Never write results yourself. Answer without a block when no tool is needed."""

# an example of a call in the system prompts: Call `grep` with {"pattern": "def greet"}.
_NATIVE_EXAMPLE = regex(r"(Call) `(\w+)` with (\{.*\})\.?")

NO_TOOLS = (
    "The server says that this model cannot call tools by the API. agent-ls describes the tools as text instead; "
    "a model made for tool calls works better."
)

_FORCED = "Your answer must end with a call of {which}."


def tool_instructions(tools: Sequence[ToolDefinition], choice: ToolChoice) -> str:
    """Return the text to add to the system text; "" if there is no tool to call."""
    if not tools or choice == "none":
        return ""
    listed = [f"## {tool.name}\n{tool.description}\nSchema: {_json(tool.parameters)}" for tool in tools]
    match choice:
        case NamedToolChoice(name):
            forced = [_FORCED.format(which=name)]
        case "required":
            forced = [_FORCED.format(which="a tool")]
        case _:
            forced = []
    return "\n\n".join([_RULES, *_example(tools), *forced, "# Tools", *listed])


def in_own_form(text: str) -> str:
    """Return a system text with its examples of calls in the form of this protocol: a model imitates what it sees."""
    return _NATIVE_EXAMPLE.sub(
        lambda found: f"{found[1]} `{found[2]}`:\n\n{_block(found[2], found[3])}\n\n", text
    )


def _example(tools: Sequence[ToolDefinition]) -> list[str]:
    """Return a worked example with the first tool that has a required text; empty if there is none."""
    for tool in tools:
        required = tool.parameters.get("required")
        for name in required if isinstance(required, list) else ():
            if (
                isinstance(name, str)
                and object_at(tool.parameters, "properties", name).get("type") == "string"
            ):
                value = "README.md" if "path" in name or "file" in name else "text"
                return [
                    f"For example, this answer calls `{tool.name}`:\n\n{_block(tool.name, _json({name: value}))}"
                ]
    return []


def _block(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def render_call(call: ToolCallPart) -> str:
    body = _json({"name": call.name, "arguments": arguments_object(call.arguments)})
    return f"<tool_call>\n{body}\n</tool_call>"


def render_result(result: ToolResultPart) -> str:
    failed = ' error="true"' if result.is_error else ""
    return (
        f'<tool_result name="{result.name}"{failed}>\n{_escape_closing_tag(result.content)}\n</tool_result>'
    )


def _escape_closing_tag(text: str) -> str:
    """Escape the closing tag in a result, so that the text after it cannot pass for a message of the user."""
    return text.replace("</tool_result", "<\\/tool_result")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
