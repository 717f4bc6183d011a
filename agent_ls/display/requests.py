"""Pure: the words for what the agent asks permission for: the whole action, with control characters made visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.text import reveal_controls


class RequestWords(NamedTuple):
    """`phrase` continues "The agent wants to". `details` are the command, the arguments or the settings of a server."""

    phrase: str
    details: str = ""


def describe_request(request: ApprovalRequested) -> RequestWords:
    """Describe the requested action exactly and completely, except for the diffs of a change."""
    effect = request.effect

    def field(name: str) -> str:
        return reveal_controls(str(effect.get(name, "")))

    match effect.get("type"):
        case "CommandEffect" if effect.get("inputOf"):
            return RequestWords(f"type into the background process {field('inputOf')}", field("command"))
        case "CommandEffect":
            behind = " in the background" if effect.get("background") else ""
            return RequestWords(
                f"run{behind} in {field('workingDir')}", _assignments(effect) + field("command")
            )
        case "CallEffect" if effect.get("server"):
            details = [field("text"), "the server's description of the tool:", _quoted(field("about"))]
            if effect.get("change"):
                details += ["the server has changed since you approved it:", field("change")]
            words = f"call the tool {field('title')} of the MCP server {field('server')}"
            return RequestWords(words, "\n".join(details))
        case "CallEffect":
            return RequestWords(f"call the tool {field('tool')}", _assignments(effect) + field("text"))
        case "ServerEffect":
            verb = "start" if effect.get("command") else "connect with"
            return RequestWords(f"{verb} the MCP server {field('name')}", "\n".join(_settings(effect)))
        case "WriteEffect":
            files = (
                f"{it.get('action')} {reveal_controls(str(it.get('path')))}" for it in effect.get("files", ())
            )
            return RequestWords(", ".join(files))
        case "TrustEffect":
            return RequestWords(f"know whether you trust {field('folder')}")
        case "FetchEffect":
            return RequestWords(f"fetch {field('url')}")
        case "ReadEffect":
            paths = (reveal_controls(str(path)) for path in effect.get("paths", ()))
            return RequestWords(f"read {', '.join(paths)}")
        case _:
            return RequestWords(reveal_controls(request.summary))


def _assignments(effect: Mapping[str, Any]) -> str:
    return "".join(f"{reveal_controls(f'{name}={value}')} " for name, value in effect.get("envVars", ()))


def _quoted(text: str) -> str:
    """Mark each line of a server's own text, so that none of them looks like a line of agent-ls."""
    return "\n".join(f"| {line}" for line in text.split("\n"))


def _settings(effect: Mapping[str, Any]) -> Iterator[str]:
    yield reveal_controls(str(effect.get("command") or effect.get("url")))
    yield from (f"with {reveal_controls(str(it))}" for it in effect.get("variables", ()))
    if file := effect.get("file"):
        yield f"configured in {reveal_controls(str(file))}"
    if effect.get("isFetched"):
        yield "the command downloads the program that it runs"
