"""Drive the whole product: real Neovim with the plugin, the real server process, and a provider on 127.0.0.1."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.support import REPOSITORY, commands
from tests.support.loopback import AnthropicServer, LoopbackProvider, OpenAIResponsesServer, ToolCall
from tests.support.nvim_driver import DEADLINE_S, POLL_S, Nvim
from tests.support.processes import is_running

PLUGIN = REPOSITORY / "editors/nvim"

Said: TypeAlias = tuple[str, str]
"""Speaker and text of an entry of a request: ("user" | "assistant" | "call" | "result", text); for a call the
tool's name.
"""


@dataclass(frozen=True)
class Wire:
    """One provider: its loopback server, and how its model edits files and receives messages."""

    provider: str
    server: type[AnthropicServer] | type[OpenAIResponsesServer]

    def edit(self, path: str, old: str, new: str, *, context: Sequence[str] = ()) -> ToolCall:
        """Return a call that replaces the line `old` by `new`.

        To replace several such lines, give in `context` for each of them a line above it.
        """
        if self.provider == "anthropic":
            arguments = {"file_path": path, "old_string": f"{old}\n", "new_string": f"{new}\n"}
            return ToolCall("edit_file", arguments | ({"replace_all": True} if context else {}))
        chunks = [f"@@ {before}\n-{old}\n+{new}\n" for before in context] or [f"@@\n-{old}\n+{new}\n"]
        patch = f"*** Begin Patch\n*** Update File: {path}\n{''.join(chunks)}*** End Patch"
        return ToolCall("apply_patch", {"patch": patch})

    def said(self, body: Mapping[str, Any]) -> list[Said]:
        """Return the conversation of a request's body in order, without system prompt and reasoning.

        Texts about the editor's state are left out, because they depend on where the user moved.
        """
        if self.provider == "anthropic":
            parts = [
                _anthropic_part(message["role"], part)
                for message in body["messages"]
                for part in _parts(message["content"], "text")
            ]
        else:
            parts = [said for item in body["input"] for said in _openai_item(item)]
        return [part for part in parts if part and not part[1].startswith("[Editor: ")]

    def results(self, body: Mapping[str, Any]) -> list[str]:
        return [text for who, text in self.said(body) if who == "result"]


WIRES = (Wire("anthropic", AnthropicServer), Wire("openai", OpenAIResponsesServer))


def _parts(content: Any, kind: str) -> list[Mapping[str, Any]]:
    return [{"type": kind, "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    return "".join(part.get("text", "") for part in _parts(content, "text"))


def _anthropic_part(role: str, part: Mapping[str, Any]) -> Said | None:
    match part["type"]:
        case "text":
            return role, part["text"]
        case "tool_use":
            return "call", part["name"]
        case "tool_result":
            return "result", _text(part["content"])
    return None


def _openai_item(item: Mapping[str, Any]) -> list[Said | None]:
    match item.get("type", "message"):
        case "message" if item["role"] in ("user", "assistant"):
            return [(item["role"], part["text"]) for part in _parts(item["content"], "text")]
        case "function_call" | "custom_tool_call":
            return [("call", item["name"])]
        case "function_call_output" | "custom_tool_call_output":
            return [("result", _text(item["output"]))]
    return []


class NvimRig:
    """A project, a provider, and the Neovims that a user opens there, one after the other.

    `variables` is the user's environment, with the API key; sessions are kept from one Neovim to the next.
    """

    def __init__(self, project: Path, home: Path, model: LoopbackProvider, wire: Wire) -> None:
        self.project, self.model, self.wire = project, model, wire
        self.home = home
        self.nvim: Nvim
        self.variables = commands.provider_variables(model)
        self._opened: list[Nvim] = []
        self._asked: list[str] = []

    def open(
        self, *files: str, mode: str = "edits", columns: int = 120, rows: int = 40, **options: Any
    ) -> Nvim:
        """Start a Neovim on `files`; `mode` and `options` are passed to the plugin's setup()."""
        setup = {"cmd": commands.command("serve", "--stdio"), "provider": self.wire.provider, "mode": mode}
        encoded = json.dumps(setup | options)
        self._asked = []
        self.nvim = Nvim(
            columns=columns,
            rows=rows,
            runtime_path=[PLUGIN],
            cwd=self.project,
            env=commands.environment(self.home, **self.variables),
            arguments=["-c", f"lua require('agent_ls').setup(vim.json.decode([=[{encoded}]=]))", *files],
        )
        self._opened.append(self.nvim)
        return self.nvim

    def close(self) -> None:
        for nvim in self._opened:
            nvim.close()

    # -- actions of the user

    def submit(self, text: str) -> None:
        """Send a text from the panel's prompt, then return to the window where the user was."""
        here = self.nvim.lua("return vim.api.nvim_get_current_win()")
        self.nvim.cmd("AgentLs open")
        self.nvim.wait_mode("i")
        self.nvim.keys(text)
        self.nvim.wait_for("require('agent_ls.chat.input').read_text() == ...", text)
        self.nvim.keys("<C-s><Esc>")
        self.nvim.wait_for("require('agent_ls.chat.input').read_text() == ''")
        self.nvim.wait_mode("n")
        self.nvim.lua("vim.api.nvim_set_current_win(...)", here)

    def resume(self) -> None:
        """Continue the newest session of the folder."""
        self.nvim.cmd("AgentLs resume")
        self.nvim.wait_for("require('agent_ls.session').current_id()")

    def allow(self) -> None:
        """Allow the next pending request once."""
        self.wait_asked()
        shown = ("allow once", "trust it")
        self.nvim.wait_until(
            lambda: any(map(self.nvim.screen().__contains__, shown)), "the question in sight"
        )
        self.nvim.cmd("AgentLs approve")

    # -- text that the user sees

    @property
    def state(self) -> str:
        return str(self.nvim.lua("return require('agent_ls.session').snapshot().state"))

    @property
    def session_id(self) -> str:
        return str(self.nvim.lua("return require('agent_ls.session').current_id()"))

    def transcript(self) -> list[str]:
        """Return the lines of the panel, without virtual text at their ends."""
        return self.nvim.lines(self.nvim.lua("return require('agent_ls.chat.transcript').buffer()"))

    def wait_transcript(self, *texts: str) -> list[str]:
        for text in texts:
            self.nvim.wait_for(
                "table.concat(vim.api.nvim_buf_get_lines(require('agent_ls.chat.transcript').buffer(), 0, -1,"
                " false), '\\n'):find(..., 1, true)",
                text,
            )
        return self.transcript()

    def wait_state(self, state: str) -> None:
        self.nvim.wait_for("require('agent_ls.session').snapshot().state == ...", state)

    def wait_done(self, *texts: str) -> list[str]:
        """Wait until the transcript contains the texts and no turn is running."""
        self.wait_transcript(*texts)
        self.wait_state("IDLE")
        return self.transcript()

    def wait_asked(self) -> None:
        """Wait until a new request needs the user's answer.

        An answered request seems pending until the server's event arrives, which can be later than the
        effects of the answer.
        """
        oldest = "(require('agent_ls.snapshot').pending_approvals(require('agent_ls.session').snapshot())[1] or {}).id"
        asked = self.nvim.wait_for(f"not vim.list_contains(..., {oldest} or '') and {oldest}", self._asked)
        self._asked.append(asked)

    # -- answers of the server

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request as the plugin does; return its result."""
        self.nvim.lua(
            "answer = nil; local method, params = ...; require('agent_ls.client').request(method, params,"
            " function(problem, result) answer = { problem = problem, result = result } end)",
            method,
            params,
        )
        answer = self.nvim.wait_for("answer")
        assert "problem" not in answer, answer
        return answer["result"]

    def hunks(self, file: str) -> list[dict[str, Any]]:
        """Return the undecided hunks of a file, as agent/hunks lists them."""
        found = self.request("agent/hunks", {"uri": (self.project / file).as_uri()})
        return [hunk for entry in found["files"] for hunk in entry["hunks"]]

    def hunk_states(self) -> list[str]:
        """Return the states of all hunks of the session as the plugin knows them, in order of creation."""
        return list(
            self.nvim.lua(
                "local s = require('agent_ls.session').snapshot(); local out = {}"
                " for _, item in ipairs(s.items) do for _, id in ipairs(item.hunk_ids or {}) do"
                " out[#out + 1] = s.hunks[id].state end end return out"
            )
        )

    def wait_hunk_states(self, *states: str) -> None:
        self.nvim.wait_until(lambda: self.hunk_states() == list(states), f"hunks that are {states}")

    def marks(self) -> int:
        """Return the number of marked pending changes in the current buffer."""
        return int(
            self.nvim.lua(
                "return #require('agent_ls.review.signs').list_positions(vim.api.nvim_get_current_buf())"
            )
        )


def wait_ended(pid: int) -> None:
    """Block until a process has ended. Polls, because it is not a child of this process."""
    end = time.monotonic() + DEADLINE_S
    while is_running(pid):
        assert time.monotonic() < end, f"process {pid} still runs after {DEADLINE_S} s"
        time.sleep(POLL_S)


def end_process(pid: int) -> None:
    """End a process that a test leaves running on purpose."""
    if is_running(pid):
        os.kill(pid, 9)
