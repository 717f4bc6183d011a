"""Ask the user questions in forms of the client (`elicitation/create`), and read the submitted answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ls.acp.errors import RpcError
from agent_ls.acp.wire import AcpWire
from agent_ls.loop.events.types import QuestionAsked

ANSWER, REASON = "answer", "reason"
OTHER = "other"
MAX_CHARS = 10_000


def question_form(session_id: str, event: QuestionAsked) -> dict[str, Any]:
    """Return the parameters of a form with the choices of the question and a field for a free answer."""
    properties: dict[str, Any] = {}
    words = {"type": "string", "title": "Answer", "maxLength": MAX_CHARS}
    if not event.choices:
        properties[ANSWER] = words
    else:
        listed = [{"const": choice, "title": choice} for choice in event.choices]
        properties[ANSWER] = (
            {"type": "array", "title": "Choose", "items": {"anyOf": listed}}
            if event.multiple
            else {"type": "string", "title": "Choose", "oneOf": listed}
        )
        if event.purpose == "question":
            properties[OTHER] = {**words, "title": "Or in your own words"}
    form = {"type": "object", "properties": properties, "required": [] if event.choices else [ANSWER]}
    params = {"sessionId": session_id, "mode": "form", "message": event.question, "requestedSchema": form}
    return params | ({"toolCallId": event.call_id} if event.call_id else {})


def read_answers(result: object, event: QuestionAsked) -> tuple[str, ...]:
    """Return the user's answers; none if they declined or closed the form, or the client sent no valid answer."""
    content = read_form_fields(result)
    other = content.get(OTHER)
    if isinstance(other, str) and other.strip():
        return (other[:MAX_CHARS],)
    found = content.get(ANSWER)
    texts = found if isinstance(found, list) else [found]
    answers = tuple(text[:MAX_CHARS] for text in texts if isinstance(text, str) and text.strip())
    return answers if event.multiple else answers[:1]


def read_form_fields(result: object) -> Mapping[str, Any]:
    """Return the fields of a form that the user submitted; empty for every other result."""
    if not isinstance(result, Mapping) or result.get("action") != "accept":
        return {}
    content = result.get("content")
    return content if isinstance(content, Mapping) else {}


async def ask_reason(wire: AcpWire, session_id: str, call_id: str) -> str:
    """Ask the user why they denied a call; "" if they do not answer. The call stays denied in any case.

    Raises:
        ClientDisconnectedError: the client is gone.
    """
    field = {"type": "string", "title": "What should be done instead?", "maxLength": MAX_CHARS}
    form = {"type": "object", "properties": {REASON: field}, "required": [REASON]}
    params = {
        "sessionId": session_id, "toolCallId": call_id, "mode": "form", "requestedSchema": form,
        "message": "Why do you deny this? The agent is sent your answer.",
    }  # fmt: skip
    try:
        result = await wire.ask("elicitation/create", params)
    except RpcError:
        return ""
    words = read_form_fields(result).get(REASON)
    return words.strip()[:MAX_CHARS] if isinstance(words, str) else ""
