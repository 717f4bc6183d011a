"""Slash commands that a client's prompt can contain: those that add text to a prompt, and those that act on
the session.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from agent_ls.acp.conversation import AcpConversation
from agent_ls.acp.updates import Update
from agent_ls.features.mcp.listing import run_command
from agent_ls.features.mcp.prompt_commands import PromptCommand
from agent_ls.features.skills.values import UserCommand
from agent_ls.features.slash_commands import slash_commands
from agent_ls.loop.events.types import Hunk
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.manager import SessionManager

OWN: dict[str, tuple[str, str]] = {
    "compact": (
        "Summarise the conversation to make room in the context window",
        "what the summary should focus on",
    ),
    "undo": (
        "Undo the changes that wait for your decision",
        "a file; without a file, all changes of this session",
    ),
    "changes": ("List the changes that wait for your decision", ""),
    "rules": ("List the permissions that you granted, or remove one", "remove NUMBER"),
    "trust": ("Trust this folder, or withdraw the trust", "forget"),
    "mcp": ("List the MCP servers, or switch one on or off", "on, off or restart NAME"),
}
"""The built-in commands by name: the description, and a hint for the arguments."""


def commands_update(in_files: Sequence[UserCommand], prompts: Sequence[PromptCommand] = ()) -> Update:
    """Return the update that lists all commands: built-in commands, skills and commands in files
    (`in_files`), and prompts of MCP servers.
    """
    listed = [
        *((it.name, it.description, it.argument_hint) for it in slash_commands()),
        *((name, description, hint) for name, (description, hint) in OWN.items()),
        *((it.name, it.description, it.argument_hint) for it in in_files if it.name not in OWN),
        *((it.name, it.description, it.argument_hint) for it in prompts),
    ]
    return {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [
            {"name": name, "description": description} | ({"input": {"hint": hint}} if hint else {})
            for name, description, hint in listed
        ],
    }


@dataclass(frozen=True, slots=True)
class BuiltInCommands:
    """Implementation of the built-in commands. `by` is the name of the client that the user works in."""

    manager: SessionManager
    by: str

    async def run(self, conversation: AcpConversation, name: str, arguments: str) -> str:
        """Carry out a built-in command and send the result to the user. Returns the stop reason.

        Raises:
            AppError, SessionError, EnvError: the command failed.
        """
        if name == "compact":
            session = conversation.live.session
            return await conversation.run_turn(lambda: session.compact(arguments))
        acts = {
            "undo": self._undo, "changes": self._changes, "rules": self._rules, "trust": self._trust,
            "mcp": self._mcp,
        }  # fmt: skip
        with conversation.sending_at_once():
            conversation.send_text(await acts[name](conversation, arguments))
        return "end_turn"

    async def _undo(self, conversation: AcpConversation, arguments: str) -> str:
        folder = conversation.live.summary().workspace_folder
        path = _path(folder, arguments) if arguments else None
        found = self.manager.review.open_hunks(session_id=conversation.id, path=path)
        ids = [hunk.id for hunks in found.values() for hunk in hunks]
        if not ids:
            return "There are no changes to undo."
        changed, refused = await self.manager.review.review("undo", Selection(hunk_ids=ids))
        undone = sum(hunk.state == "undone" for hunk in changed)
        words = f"Undone: {undone} of {len(ids)} changes."
        left = "".join(f"\n- {reason}" for reason in dict.fromkeys(reason for _, reason in refused))
        return words + (f" Not undone:{left}" if left else "")

    async def _changes(self, conversation: AcpConversation, arguments: str) -> str:
        del arguments
        found = self.manager.review.open_hunks(session_id=conversation.id)
        if not found:
            return "No changes wait for your decision."
        folder = conversation.live.summary().workspace_folder
        rows = [f"- {_display_path(path, folder)}: {_describe_lines(hunks)}" for path, hunks in found.items()]
        return "\n".join(("Changes that wait for your decision (`/undo` reverts them):", *rows))

    async def _rules(self, conversation: AcpConversation, arguments: str) -> str:
        folder = conversation.live.summary().workspace_folder
        rules = await self.manager.rules.rules(conversation.id, folder)
        verb, _, number = arguments.partition(" ")
        if verb == "remove":
            at = int(number) - 1 if number.strip().isdigit() else -1
            if not 0 <= at < len(rules):
                return "Give the number of a rule, as in `/rules remove 1`."
            rule = rules[at]
            is_own = rule.scope in ("turn", "session")
            await self.manager.rules.remove(rule.id, conversation.id if is_own else None, folder)
            return f"Removed: {rule.label}"
        if not rules:
            return "You have not granted any permissions that apply here."
        rows = [
            f"{n}. {rule.label} ({rule.scope}, used {rule.hits} times)" for n, rule in enumerate(rules, 1)
        ]
        return "\n".join(("Permissions that you granted (`/rules remove NUMBER` removes one):", "", *rows))

    async def _trust(self, conversation: AcpConversation, arguments: str) -> str:
        folder = conversation.live.summary().workspace_folder
        if arguments == "forget":
            trust_state = await self.manager.trust.decide(folder, None, self.by)
            return f"Your decision about {folder} was removed. The folder is {trust_state} now."
        await self.manager.trust.decide(folder, "trusted", self.by)
        trust_state = await anyio.to_thread.run_sync(self.manager.trust.get_trust, folder)
        return f"{folder} is {trust_state} now."

    async def _mcp(self, conversation: AcpConversation, arguments: str) -> str:
        return await run_command(conversation.live.servers, arguments)


def _path(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))


def _display_path(path: str, folder: str) -> str:
    inside = os.path.relpath(path, folder)
    return path if inside.startswith("..") else inside


def _describe_lines(hunks: Sequence[Hunk]) -> str:
    lines = [f"line {hunk.start + 1}" for hunk in hunks]
    return ", ".join(lines)
