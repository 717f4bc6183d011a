"""Awkward programs in real Neovim's own terminals, with the real server: seen, typed into, stopped there (H5)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import PLUGIN
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H5", "H10", "T5")

COLUMNS = 120


@dataclass(frozen=True)
class Program:
    """`keys` are typed when the command waits for input, one after the other; each is in the terminal's Insert mode."""

    name: str
    command: str
    says: Callable[[str], bool]
    keys: tuple[str, ...] = ()


def has(*texts: str, code: int = 0) -> Callable[[str], bool]:
    ending = f"Exit code: {code}"
    return lambda told: all(text in told for text in texts) and ending in told


PYTHON = sys.executable
PROGRAMS = [
    Program(
        "password prompt",
        "read -rsp 'Password: ' word </dev/tty; echo; echo length ${#word}",
        lambda told: "length 7\n" in told and "hunter2" not in told,
        ("hunter2<CR>",),
    ),
    Program("prompt", "read -rp 'Go on? ' word; echo \"[$word]\"", has("Go on? yes\n[yes]\n"), ("yes<CR>",)),
    Program("REPL", f"TERM=dumb {PYTHON} -q", has(">>> 6*7\n42\n"), ("6*7<CR>", "<C-d>")),
    Program("pager", "seq 90 | more", has("1\n2\n"), ("q",)),
    Program("input to its end", "cat; echo end", has("a\na\nend\n"), ("a<CR>", "<C-d>")),
    Program("stopped by a key", "cat; echo never", has("^C", code=-2), ("<C-c>",)),
    Program("progress bar", "for n in 1 2; do printf '%s0%%\\r' $n; done; echo done", has("10%\r20%\rdone")),
    Program("many lines", "seq 200000", has("1\n2\n3\n", "199999\n200000\n")),
    Program("binary output", "printf '\\000\\001\\377\\n'", has("\ufffd\n")),
    Program("invalid UTF-8", "printf 'gr\\374\\303\\274n'", has("gr\ufffdün")),
    Program("alternate screen", "printf '\\033[?1049hfull\\033[?1049l'", has("full")),
    Program("background writer", "(sleep 600; echo late) & echo now", has("now\n", "Left running")),
    Program("slow drip", "for n in 1 2 3 4; do printf $n; sleep 0.05; done", has("1234")),
    Program("end by a signal", "kill -SEGV $$", has(code=-11)),
    Program("TERM ignored", "trap '' TERM; echo ready; kill -TERM $$; echo still here", has("still here")),
    Program("huge line", "head -c 300000 /dev/zero | tr '\\0' x", has("xxxx")),
    Program("environment", "env; echo [$ADA_API_KEY]", has("HOME=", "[]\n")),
    Program("unicode path", "mkdir -p 'größe 漢字'; cd 'größe 漢字' && pwd", has("größe 漢字\n")),
    Program("cwd removed", "mkdir d && cd d && rmdir ../d && echo still here", has("still here\n")),
    Program("input closed", "exec <&-; cat; echo $?", has("1\n")),
    Program("daemon", "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo started", has("started\n")),
    Program("both streams and a code", "echo out; echo err >&2; exit 3", has("out\nerr\n", code=3)),
]


@pytest.fixture
def provider() -> Iterator[AnthropicServer]:
    calls = [[ToolCall("shell", {"command": program.command, "timeout_ms": 60_000})] for program in PROGRAMS]
    with AnthropicServer([*calls, "All done."]) as server:
        yield server


@pytest.fixture
def nvim(project: Path, tmp_path: Path, provider: AnthropicServer) -> Iterator[Nvim]:
    env = {
        "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
        "ANTHROPIC_API_KEY": "sk-test-loopback",
        "ANTHROPIC_BASE_URL": provider.base_url,
        "ADA_API_KEY": "of-the-editor",
        "AGENT_LS_TRUSTED_FOLDERS": "/",
    }
    with Nvim(runtime_path=[PLUGIN], cwd=project, columns=COLUMNS, rows=40, env=env) as nvim:
        nvim.lua(
            "require('agent_ls').setup({ cmd = { ..., '-m', 'agent_ls', 'serve', '--stdio' }, "
            "provider = 'anthropic', mode = 'full', settings = { review = 'after' } })",
            PYTHON,
        )
        yield nvim


def told(provider: AnthropicServer, at: int) -> str:
    """The result of the call at this place, as the model was told."""
    content: Any = provider.requests[at + 1].body["messages"][-1]["content"]
    result = next(part for part in content if part["type"] == "tool_result")["content"]
    return result if isinstance(result, str) else "".join(part["text"] for part in result)


def wait(nvim: Nvim, condition: Callable[[], bool], waited_for: str) -> None:
    """Allows what is asked about meanwhile: programs that are not in sight are, in every mode."""

    def looked() -> bool:
        if "◆ waiting for you" in nvim.screen():
            nvim.cmd("AgentLs approve")
            nvim.wait_gone("◆ waiting for you")
        return condition()

    nvim.wait_until(looked, waited_for)


def answers(nvim: Nvim, provider: AnthropicServer, at: int, program: Program) -> None:
    for keys in program.keys:
        wait(nvim, lambda: "waits for your input" in nvim.screen(), f"{program.name} to wait")
        nvim.cmd("AgentLs terminal")
        nvim.wait_mode("t")
        nvim.keys(keys)
        wait(
            nvim,
            lambda: len(provider.requests) > at + 1 or "waits for your input" not in nvim.screen(),
            f"{program.name} to take {keys}",
        )
        nvim.keys("<C-\\><C-n>q")


def test_awkward_programs_run_in_the_editors_terminals(nvim: Nvim, provider: AnthropicServer) -> None:
    nvim.cmd("AgentLs")
    nvim.keys("go<C-s>")
    for at, program in enumerate(PROGRAMS):
        answers(nvim, provider, at, program)
        wait(nvim, lambda at=at: len(provider.requests) > at + 1, f"the end of {program.name}")  # type: ignore[misc]
        said = told(provider, at)
        assert program.says(said), (program.name, said[-600:])
    nvim.wait_screen("All done.")

    nvim.cmd("AgentLs terminal")
    nvim.wait_screen("[exit 3")
    terminals = nvim.lua(
        "return vim.tbl_filter(function(b) return vim.bo[b].buftype == 'terminal' end, vim.api.nvim_list_bufs())"
    )
    assert len(terminals) == 1, "one terminal for all that runs one after the other"
