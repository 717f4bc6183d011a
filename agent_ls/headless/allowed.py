"""Allow the entries of `exec --allow` for one run. An entry is a tool, the first words of commands, paths, or
a site.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio.to_thread

from agent_ls.features.tools.yaml_tools import own_names
from agent_ls.headless.terminal import Lines, ask
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, RuleOffer
from agent_ls.mcp.names import to_identifier, tool_name
from agent_ls.near_names import did_you_mean
from agent_ls.policy.calls import NETWORK_TOOLS
from agent_ls.policy.fetches import id_of_site
from agent_ls.policy.path_rules import parse_path_rule
from agent_ls.policy.rules import EDITS_RULE, id_of_words, tool_id
from agent_ls.policy.servers import pattern_id
from agent_ls.policy.situation import Mode
from agent_ls.program_lookup import find_on
from agent_ls.services.errors import BadChoiceError
from agent_ls.sessions.live import LiveSession

SHELL_WORDS = frozenset(
    ". : cd command eval exec export false printf pwd set source test time true ulimit".split()
)
"""Commands that are built into shells, so that they need not be programs on PATH."""

EDITING = frozenset(
    ("write_file", "edit_file", "apply_patch", "edit_notebook", "rename_symbol", "apply_code_action")
)
"""Tools that edit files. The set includes tools that only some models have, so that the same command line
works for all models.
"""

SWITCHES = {
    "web_fetch": "webFetch",
    "web_search": "webSearch",
    "think": "thinkTool",
    "submit": "submitTool",
}
"""For each of these tools: the setting that enables it."""

_OUR_TOOLS = "agent_ls.tools."
"""Prefix of the modules of the built-in tools, including the tools of packs that are written in Python.

The function of a tool defined in a YAML file is a `partial`, so its module has another prefix.
"""

_CLAUDE = "mcp__"
"""With this, Claude Code begins the names of servers and their tools: `mcp__SERVER`, `mcp__SERVER__TOOL`."""

_FORMS = "give a tool, the first words of commands ('npm test'), paths (write:GLOB, read:GLOB) or a site (https://HOST)"


async def allow_listed(live: LiveSession, listed: Sequence[str], environ: Mapping[str, str]) -> None:
    """Allow each entry of `listed` while this process has the session open; nothing is stored. `environ`
    provides the PATH of commands.

    Raises:
        BadChoiceError: an entry is unknown, or cannot be granted.
    """
    for text in listed:
        for rule_id in filter(None, await _rules_of(live, text.strip(), environ)):
            offer = RuleOffer(rule_id, f"--allow {text}", "session")
            live.approver.grants.add(offer, "session", "")


async def _rules_of(live: LiveSession, text: str, environ: Mapping[str, str]) -> Sequence[str]:
    """Return the ids of the rules for one entry of `--allow`."""
    if "__" not in text or live.session.profile.registry.lookup(text) or text in own_names():
        return [await _rule_of(live, text, environ)]
    names = await anyio.to_thread.run_sync(live.servers.names) if live.servers else ()
    if found := _rules_of_server(text, names):
        return found
    if " " in text or await anyio.to_thread.run_sync(
        _is_command, text, live.stored.header.workspace_folder, environ
    ):
        return [await _rule_of(live, text, environ)]
    others = "no server is configured, or the folder is not trusted"
    if names:
        others = f"the servers of this session: {', '.join(names)}"
    raise _refused(text, "names no MCP server of this session", others)


def _rules_of_server(text: str, names: Sequence[str]) -> Sequence[str]:
    """Return the rules for tools of the server that `text` names: `SERVER__TOOL`, where a star in the name of the tool
    matches any text, or `mcp__SERVER` for all of its tools.

    The server has the name with which it is configured or, if only one server fits, the one that the model uses.
    """
    words = [(text, "__")] + ([(text.removeprefix(_CLAUDE), "")] if text.startswith(_CLAUDE) else [])
    for form in (str, to_identifier):
        for word, end in words:
            fits = [name for name in names if word == form(name) + end or word.startswith(f"{form(name)}__")]
            longest = max((len(form(name)) for name in fits), default=0)
            fits = [name for name in fits if len(form(name)) == longest]
            if len(fits) == 1:
                tool = word[longest + 2 :] or "*"
                # the name that the model uses, unless it may be that of another server's tool
                is_unique = sum(word.startswith(f"{to_identifier(name)}__") for name in names) == 1
                of_model = [tool_id(tool_name(fits[0], tool))] if is_unique and "*" not in tool else []
                return [pattern_id(fits[0], tool), *of_model]
    return []


async def _rule_of(live: LiveSession, text: str, environ: Mapping[str, str]) -> str:
    """Return the id of the rule for one entry of `--allow`, or "" if the entry needs no rule."""
    registry = live.session.profile.registry
    if tool := registry.lookup(text):
        is_ours = text in own_names() or tool.prepare.__module__.startswith(_OUR_TOOLS)
        return _rule_of_builtin(text, tool.category, tool.kind) if is_ours else tool_id(tool.name)
    if text in EDITING:
        return EDITS_RULE
    if text in own_names():
        hint = f"add --set {SWITCHES[text]}=true" if text in SWITCHES else _FORMS
        raise _refused(text, "names a tool that this model does not have", hint)
    if text.startswith(("http://", "https://")):
        return _rule_of_site(text, has_fetch=registry.lookup("web_fetch") is not None)
    if text.startswith(("write:", "read:")):
        return _rule_of_paths(text)
    rule_id = id_of_words(text)
    folder = live.stored.header.workspace_folder
    if not rule_id or not await anyio.to_thread.run_sync(_is_command, text.split()[0], folder, environ):
        if live.servers and text in await anyio.to_thread.run_sync(live.servers.names):
            raise _refused(text, "is the name of a server", f"--allow '{text}__*' allows all of its tools")
        hint = did_you_mean(text, sorted({*registry.names(), *own_names()})) or _FORMS
        raise _refused(text, "is neither the name of a tool nor of a program on PATH", hint)
    return rule_id


def _rule_of_builtin(name: str, category: str, kind: str) -> str:
    """Return the id of the rule that allows the built-in tool `name`.

    Returns the rule for edits if the tool edits files, and "" for a tool without effects, because such a tool needs
    no rule.

    Raises:
        BadChoiceError: the tool's name alone is not enough to allow its calls.
    """
    if category == "write":
        return EDITS_RULE
    if category == "admin":
        raise _refused(
            name,
            "can run any command, so its name alone does not allow it",
            "give the first words of each command, such as --allow 'npm test', or use --mode full",
        )
    if kind == "web_fetch":
        raise _refused(name, "needs approval for each site", "give each site: --allow https://HOST")
    return ""


def _rule_of_site(url: str, *, has_fetch: bool) -> str:
    rule_id = id_of_site(url)
    if not rule_id:
        raise _refused(url, "is not an address of a site", "write the site as https://HOST")
    if not has_fetch:
        raise _refused(url, "needs the tool that fetches pages, which is off", "add --set webFetch=true")
    return rule_id


def _rule_of_paths(text: str) -> str:
    if not (rule_id := parse_path_rule(text)):
        kind = text.partition(":")[0]
        raise _refused(
            text, "is not a valid path pattern", f"write the path as {kind}:GLOB, such as {kind}:src/**"
        )
    return rule_id


def _is_command(word: str, folder: str, environ: Mapping[str, str]) -> bool:
    """Return whether `word` names a command: a word of the shell, a file, or a program on PATH. Blocks."""
    if word in SHELL_WORDS:
        return True
    if "/" in word or "\\" in word:
        return (Path(folder) / word).exists()
    return find_on(word, environ.get("PATH"), folder) is not None


def _refused(text: str, why: str, hint: str) -> BadChoiceError:
    return BadChoiceError(f"--allow {text!r}: this {why}", hint)


Answerer: TypeAlias = Callable[[ApprovalRequested], Awaitable[ApprovalAnswer]]

_WIDER: dict[Mode, str] = {
    "plan": "--mode edits or --mode full",
    "ask": "--mode edits or --mode full",
    "edits": "--mode full",
    "full": "an editor, or --ask on a terminal",
}


def _way(mode: Mode, request: ApprovalRequested) -> str:
    """Return what allows the action in another run. A tool that is not ours is allowed by its name, in every mode."""
    effect = request.effect
    if effect.get("type") != "CallEffect" or request.tool in NETWORK_TOOLS:
        return _WIDER[mode]
    asks_always = mode == "full" or effect.get("category") == "admin"
    return (
        f"--allow {request.tool}, {_WIDER['full']}"
        if asks_always
        else f"--allow {request.tool} or --mode full"
    )


def answerer(mode: Mode, lines: Lines | None) -> Answerer:
    """Return the function that answers approval requests of a run in this mode.

    The function reads the user's answers from `lines`; without `lines` it denies each request. Calls that the mode
    allows cause no request.
    """
    if lines:
        return partial(ask, lines=lines)

    async def refuse(request: ApprovalRequested) -> ApprovalAnswer:
        return ApprovalAnswer(
            "deny",
            reason=f"nobody can approve this action in a run without an editor ({request.reason}); the user can "
            f"allow it with {_way(mode, request)}",
            decided_by="headless",
        )

    return refuse
