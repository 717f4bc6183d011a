"""Find the text of the model within an error: some servers refuse what their model wrote as a malformed call."""

from __future__ import annotations

import re
from collections.abc import Collection

from agent_ls.llm.errors import LlmError, ProviderError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.call_dialects import MARKS
from agent_ls.llm.providers.error_bodies import first_object
from agent_ls.llm.providers.error_words import MALFORMED_CALL
from agent_ls.llm.providers.printed_calls import calls_at_end, leading_calls
from agent_ls.llm.providers.wire_json import object_at, text_at
from agent_ls.patterns import regex

# llama.cpp: Failed to parse input at pos 12: <tool_call>…
_UNPARSED = regex(r"failed to parse input at pos \d+:\s*(.+)", re.IGNORECASE | re.DOTALL)
_HINT = (
    "The server could not read a tool call of the model. Send again, choose another model, or set the provider's "
    "toolCalls to text."
)


def answer_in_error(body: bytes, tools: Collection[str]) -> JsonObject | None:
    """Return the message of the model in the body of an error: its calls, or its text if that is no broken call."""
    error = object_at(first_object(body), "error")
    text = text_at(error, "failed_generation")  # Groq
    if not text and (found := _UNPARSED.search(text_at(error, "message"))):
        text = found[1]
    text = text.strip()
    if not text:
        return None
    calls, rest = leading_calls(text, tools)
    if not calls or rest:
        calls = calls_at_end(text, tools)
    if calls:
        wire: list[JsonValue] = [
            {
                "index": at,
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for at, call in enumerate(calls)
        ]
        return {"role": "assistant", "content": None, "tool_calls": wire}
    is_broken = text.startswith(("{", "[", "```")) or any(mark in text for mark in MARKS)
    return None if is_broken or "failed_generation" not in error else {"role": "assistant", "content": text}


def explain_malformed_call(error: LlmError) -> LlmError:
    """Say what helps if the server could not read what the model wrote."""
    if isinstance(error, ProviderError) and MALFORMED_CALL.search(f"{error.code} {error}"):
        error.hint = _HINT
    return error
