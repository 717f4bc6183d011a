"""Read the requests that a loopback server received, in one form for the three native wires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """The result of one call, as the model received it."""

    text: str
    is_error: bool


def results(provider: str, body: Json) -> list[Result]:
    """Return the tool results in a request, in order."""
    return list({"anthropic": _anthropic, "openai": _openai, "gemini": _gemini}[provider](body))


def _anthropic(body: Json) -> Iterator[Result]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_result":
                content = block["content"]
                text = (
                    content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
                )
                yield Result(text, bool(block.get("is_error")))


def _openai(body: Json) -> Iterator[Result]:
    for item in body["input"]:
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            output = item["output"]
            text = output if isinstance(output, str) else "".join(part.get("text", "") for part in output)
            yield Result(text, text.lower().startswith("error"))  # this wire has no error flag


def _gemini(body: Json) -> Iterator[Result]:
    for content in body["contents"]:
        for part in content["parts"]:
            if answer := part.get("functionResponse"):
                response = answer["response"]
                yield Result(response.get("output", response.get("error", "")), "error" in response)


def user_texts(provider: str, body: Json) -> list[str]:
    """Return the user's messages, in order."""
    if provider == "gemini":
        return [
            part["text"]
            for content in body["contents"]
            if content["role"] == "user"
            for part in content["parts"]
            if "text" in part
        ]
    messages = body["messages"] if provider == "anthropic" else body["input"]
    return [text for it in messages if it.get("role") == "user" for text in _texts(it["content"])]


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part["type"] in ("text", "input_text")]


def instructions(provider: str, body: Json) -> str:
    """Return the system prompt."""
    if provider == "gemini":
        return "".join(part["text"] for part in body["systemInstruction"]["parts"])
    prompt = body.get("system" if provider == "anthropic" else "instructions")
    if prompt is None:  # the Responses API accepts it as a message too
        prompt = next(it["content"] for it in body["input"] if it.get("role") in ("system", "developer"))
    return prompt if isinstance(prompt, str) else "".join(part["text"] for part in prompt)


def offered(provider: str, body: Json) -> list[str]:
    """Return the names of the tools that the model may call."""
    if provider == "gemini":
        return [it["name"] for tool in body.get("tools", []) for it in tool.get("functionDeclarations", [])]
    return [tool["name"] for tool in body.get("tools", [])]


def effort(provider: str, body: Json) -> str:
    """Return the requested reasoning effort; "" for the model's default."""
    match provider:
        case "anthropic":
            found = body.get("output_config", {}).get("effort")
        case "openai":
            found = body.get("reasoning", {}).get("effort")
        case _:
            found = body.get("generationConfig", {}).get("thinkingConfig", {}).get("thinkingLevel")
    return str(found or "").lower()
