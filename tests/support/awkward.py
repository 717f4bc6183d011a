"""Commands that are difficult to run in a terminal, with a check of the result that the model must receive.

The tests of each editor run all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.loopback import AnthropicServer, ToolCall

ENTER, END_OF_INPUT, INTERRUPT = "\r", "\x04", "\x03"


@dataclass(frozen=True)
class Program:
    """A command. `keys` are typed one after the other, each when the command waits for input.

    `says` checks the result text that the model received.
    """

    name: str
    command: str
    says: Callable[[str], bool]
    keys: tuple[str, ...] = ()


def has(*texts: str, code: int = 0) -> Callable[[str], bool]:
    ending = f"Exit code: {code}"
    return lambda result_text: all(text in result_text for text in texts) and ending in result_text


PYTHON = sys.executable
PROGRAMS = [
    Program(
        "password prompt",
        "read -rsp 'Password: ' word </dev/tty; echo; echo length ${#word}",
        lambda result_text: "length 7\n" in result_text and "hunter2" not in result_text,
        ("hunter2" + ENTER,),
    ),
    Program(
        "prompt", "read -rp 'Go on? ' word; echo \"[$word]\"", has("Go on? yes\n[yes]\n"), ("yes" + ENTER,)
    ),
    Program("REPL", f"TERM=dumb {PYTHON} -q", has(">>> 6*7\n42\n"), ("6*7" + ENTER, END_OF_INPUT)),
    Program("pager", "seq 90 | more", has("1\n2\n"), ("q",)),
    Program("input to its end", "cat; echo end", has("a\na\nend\n"), ("a" + ENTER, END_OF_INPUT)),
    Program("stopped by a key", "cat; echo never", has("^C", code=-2), (INTERRUPT,)),
    Program(
        "progress bar",
        "for n in 1 2; do printf '%s0%%\\r' $n; done; echo done",
        lambda result_text: result_text.startswith("done\n"),
    ),
    Program("many lines", "seq 200000", has("1\n2\n3\n", "199999\n200000\n")),
    Program("binary output", "printf '\\000\\001\\377\\n'", has("\ufffd\n")),
    Program("invalid UTF-8", "printf 'gr\\374\\303\\274n'", has("gr\ufffdün")),
    Program(
        "alternate screen",
        "printf '\\033[?1049hfull\\033[?1049lback'",
        lambda result_text: result_text.startswith("back\n"),
    ),
    Program(
        "background writer", "(sleep 600; echo late) & echo now", has("now\n", "Processes still running")
    ),
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
CALLS: list[list[Any] | str] = [
    *([ToolCall("shell", {"command": program.command, "timeout_ms": 60_000})] for program in PROGRAMS),
    "All done.",
]
"""The script of a model that runs the programs one after the other."""


def is_reported(provider: AnthropicServer, at: int) -> bool:
    """Return whether the model has received the result of the program with this index."""
    return len(provider.requests) > at + 1


def result_text(provider: AnthropicServer, at: int) -> str:
    """Return the result of the program with this index, as the model received it."""
    content: Any = provider.requests[at + 1].body["messages"][-1]["content"]
    result = next(part for part in content if part["type"] == "tool_result")["content"]
    return result if isinstance(result, str) else "".join(part["text"] for part in result)
