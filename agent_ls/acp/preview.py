"""Convert messages between version 1 of ACP and the preview of version 2. Pure, and imports nothing large.

The agent is written for version 1; preview_wire.py uses these functions for a client that speaks version 2. What
differs: the ends of turns are reported by `state_update`, calls by `tool_call_update` alone, changed files as
patches, permissions have a subject, and modes, files and terminals of the client are gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PREVIEW_VERSION = 2

Message = dict[str, Any]


def wants_preview(params: Mapping[str, Any]) -> bool:
    """Return whether the parameters of `initialize` ask for version 2 or a later one."""
    version = params.get("protocolVersion")
    return type(version) is int and version >= PREVIEW_VERSION


def first_wants_preview(line: bytes) -> bool:
    """Return whether the first line of a client is an `initialize` that asks for version 2 or a later one."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    params = message.get("params") if isinstance(message, dict) else None
    return isinstance(params, dict) and message.get("method") == "initialize" and wants_preview(params)


# --- initialize


def stable_initialize(params: Mapping[str, Any]) -> Message:
    """Return the parameters of `initialize` as version 1 has them."""
    capabilities = params.get("capabilities")
    found = dict(capabilities) if isinstance(capabilities, Mapping) else {}
    auth = found.get("auth")
    if isinstance(auth, Mapping):
        found["auth"] = {"terminal": isinstance(auth.get("terminal"), Mapping)}
    # What version 2 has in any case.
    found |= {"plan": {}, "session": {"compaction": {}, "notices": {}}}
    for gone in ("fs", "terminal", "subagents"):  # a subagent is a call that can be cancelled
        found.pop(gone, None)
    found["_meta"] = {"terminal_output": True}
    info = params.get("info")
    return {
        **{name: value for name, value in params.items() if name not in ("info", "capabilities")},
        "clientInfo": info if isinstance(info, Mapping) else {},
        "clientCapabilities": found,
    }


def preview_initialize(result: Mapping[str, Any]) -> Message:
    """Return the response to `initialize` of version 2."""
    of_agent = result["agentCapabilities"]
    prompt = of_agent["promptCapabilities"]
    mcp: Message = {"stdio": {}} | ({"http": {}} if of_agent["mcpCapabilities"]["http"] else {})
    kinds = {"image": prompt["image"], "embeddedContext": prompt["embeddedContext"]}
    session = {
        "prompt": {name: {} for name, has in kinds.items() if has},
        "mcp": mcp,
        "delete": {},
        "additionalDirectories": {},
    }
    methods = [{"type": "agent", **it, "methodId": it["id"]} for it in result["authMethods"]]
    return {
        "protocolVersion": PREVIEW_VERSION,
        "info": result["agentInfo"],
        "capabilities": {"session": session, "auth": {}, "_meta": of_agent["_meta"]},
        "_meta": result["_meta"],
        "authMethods": [{name: value for name, value in it.items() if name != "id"} for it in methods],
    }


# --- requests of the client


def stable_servers(params: Mapping[str, Any]) -> Message:
    """Return the parameters of a request that opens a session, with MCP servers as version 1 names them."""
    servers = params.get("mcpServers")
    if not isinstance(servers, list):
        return dict(params)
    return {**params, "mcpServers": [_stable_server(it) for it in servers]}


def _stable_server(server: object) -> object:
    if isinstance(server, Mapping) and server.get("type") == "stdio":
        return {name: value for name, value in server.items() if name != "type"}
    return server


def preview_session(result: Mapping[str, Any]) -> Message:
    """Return the result of a request that opens a session or changes an option. Modes are an option only."""
    found = {name: value for name, value in result.items() if name != "modes"}
    if "configOptions" in found:
        found["configOptions"] = [_option(it) for it in found["configOptions"]]
    return found


def _option(option: Mapping[str, Any]) -> Message:
    found = {("configId" if name == "id" else name): value for name, value in option.items()}
    found["options"] = [
        {("groupId" if name == "group" else name): value for name, value in it.items()}
        for it in option["options"]
    ]
    return found


# --- requests of the agent


def preview_permission(params: Mapping[str, Any]) -> Message:
    """Return a permission request with its subject: the call."""
    call = params["toolCall"]
    return {
        "sessionId": params["sessionId"],
        "title": call["title"],
        "subject": {"type": "tool_call", "toolCall": preview_call(call)},
        "options": params["options"],
    }


# --- updates


def state_update(state: str, **more: Any) -> Message:
    return {"sessionUpdate": "state_update", "state": state, **more}


def preview_updates(update: Mapping[str, Any]) -> Iterator[Message]:
    """Yield an update as version 2 has it; nothing for one that it does not have. For calls, see preview_wire.py."""
    match update["sessionUpdate"]:
        case "available_commands_update":
            commands = [_command(it) for it in update["availableCommands"]]
            yield {**update, "availableCommands": commands}
        case "config_option_update":
            yield {**update, "configOptions": [_option(it) for it in update["configOptions"]]}
        case "plan_removed":
            plan = {"type": "items", "planId": update["planId"], "entries": []}
            yield {"sessionUpdate": "plan_update", "plan": plan}
        case "current_mode_update":
            return
        case _:
            yield dict(update)


def _command(command: Mapping[str, Any]) -> Message:
    found: Message = {"type": "command", **command}
    if "input" in found:
        found["input"] = {"type": "text", **found["input"]}
    return found


def preview_call(call: Mapping[str, Any]) -> Message:
    """Return a call without what version 1 says of its terminal, and with diffs as patches."""
    found = {name: value for name, value in call.items() if name not in ("_meta", "sessionUpdate")}
    if "content" in found:
        found["content"] = list(_content(found["content"]))
    return found


def _content(entries: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    for entry in entries:
        if entry["type"] == "diff":
            yield _diff(entry)
        else:
            yield dict(entry)


def _diff(entry: Mapping[str, Any]) -> Message:
    """Return a change of a file. A change of which only a part is known has no patch, but the paths."""
    path, old, new = entry["path"], entry["oldText"], entry["newText"]
    operation = "add" if old is None else "delete" if new == "" else "modify"
    found: Message = {"type": "diff", "changes": [{"operation": operation, "path": path, "fileType": "text"}]}
    if "_meta" not in entry:
        found["patch"] = {
            "format": "git_patch",
            "text": _patch(path, old, None if operation == "delete" else new),
        }
    return found


def _patch(path: str, old: str | None, new: str | None) -> str:
    from agent_ls.patch.git_format import git_patch  # imported here because `initialize` needs none of it

    return git_patch(old, new, path.replace("\\", "/").lstrip("/"))
