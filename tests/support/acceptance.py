"""The whole product on one desk: real Neovim with our plugin, the real server process, a provider on 127.0.0.1."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.support import commands
from tests.support.loopback import AnthropicServer, LoopbackProvider, OpenAIResponsesServer, ToolCall
from tests.support.nvim_driver import DEADLINE_S, POLL_S, REPOSITORY, Nvim
from tests.support.processes import is_running

PLUGIN = REPOSITORY / "editors/nvim"

Said: TypeAlias = tuple[str, str]
"""Who said what in a request: ("user" | "assistant" | "call" | "result", text; of a call its name)."""


@dataclass(frozen=True)
class Wire:
    """One provider: its server, and how its model edits and is told things."""

    provider: str
    server: type[AnthropicServer] | type[OpenAIResponsesServer]

    def edit(self, path: str, old: str, new: str, *, context: Sequence[str] = ()) -> ToolCall:
        """A call that puts line `new` in place of every line `old`; `context` has the lines to be found."""
        if self.provider == "anthropic":
            arguments = {"file_path": path, "old_string": f"{old}\n", "new_string": f"{new}\n"}
            return ToolCall("edit_file", arguments | ({"replace_all": True} if context else {}))
        chunks = [f"@@ {before}\n-{old}\n+{new}\n" for before in context] or [f"@@\n-{old}\n+{new}\n"]
        patch = f"*** Begin Patch\n*** Update File: {path}\n{''.join(chunks)}*** End Patch"
        return ToolCall("apply_patch", {"patch": patch})

    def said(self, body: Mapping[str, Any]) -> list[Said]:
        """The conversation in a request's body, in order, without the system prompt and the reasoning.

        Without what the editor told of itself, too: it comes when the user has moved.
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
        case "function_call":
            return [("call", item["name"])]
        case "function_call_output":
            return [("result", _text(item["output"]))]
    return []


class Desk:
    """A project and a provider, and the Neovims that a user opens there, one after the other.

    `key` is what the user's environment holds; sessions are kept from one Neovim to the next.
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
        """Starts a Neovim on `files`; `mode` and `options` go to the plugin's setup()."""
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

    # -- what the user does

    def submit(self, text: str) -> None:
        """Writes in the panel's prompt and sends; then goes back to where the user was."""
        here = self.nvim.lua("return vim.api.nvim_get_current_win()")
        self.nvim.cmd("AgentLs open")
        self.nvim.wait_mode("i")
        self.nvim.keys(text)
        self.nvim.wait_for("require('agent_ls.chat.input').text() == ...", text)
        self.nvim.keys("<C-s><Esc>")
        self.nvim.wait_for("require('agent_ls.chat.input').text() == ''")
        self.nvim.wait_mode("n")
        self.nvim.lua("vim.api.nvim_set_current_win(...)", here)

    def resume(self) -> None:
        """Goes on with the newest session of the folder."""
        self.nvim.cmd("AgentLs resume")
        self.nvim.wait_for("require('agent_ls.session').current_id()")

    def allow(self) -> None:
        """Says yes, once, to what is asked next."""
        self.wait_asked()
        self.nvim.cmd("AgentLs approve")

    # -- what the user sees

    @property
    def state(self) -> str:
        return str(self.nvim.lua("return require('agent_ls.session').snapshot().state"))

    @property
    def session_id(self) -> str:
        return str(self.nvim.lua("return require('agent_ls.session').current_id()"))

    def transcript(self) -> list[str]:
        """The lines of the panel, without what is drawn behind their ends."""
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
        """Until the texts stand in the transcript and no turn runs."""
        self.wait_transcript(*texts)
        self.wait_state("IDLE")
        return self.transcript()

    def wait_asked(self) -> None:
        """Until something waits for the user's answer that was not there the last time.

        What was answered seems to wait until the server's word has come, which may be behind what the answer led to.
        """
        oldest = "(require('agent_ls.snapshot').pending(require('agent_ls.session').snapshot())[1] or {}).id"
        asked = self.nvim.wait_for(f"not vim.list_contains(..., {oldest} or '') and {oldest}", self._asked)
        self._asked.append(asked)

    # -- what the server says

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Asks the server as the plugin does; its result."""
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
        """The hunks of a file that wait for a verdict, as agent/hunks lists them."""
        found = self.request("agent/hunks", {"uri": (self.project / file).as_uri()})
        return [hunk for entry in found["files"] for hunk in entry["hunks"]]

    def hunk_states(self) -> list[str]:
        """The states of all hunks of the session, in the order in which they were made, as the plugin was told."""
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
        """How many places of the current buffer are marked as changes that wait."""
        return int(
            self.nvim.lua("return #require('agent_ls.review.signs').places(vim.api.nvim_get_current_buf())")
        )


def wait_ended(pid: int) -> None:
    """Blocks until a process is gone; nobody tells us when the end of another's child has come."""
    end = time.monotonic() + DEADLINE_S
    while is_running(pid):
        assert time.monotonic() < end, f"process {pid} still runs after {DEADLINE_S} s"
        time.sleep(POLL_S)


def end_process(pid: int) -> None:
    """For what a test leaves behind on purpose."""
    if is_running(pid):
        os.kill(pid, 9)
