"""Read the user's answers from the terminal, one line per question. Lines typed before the question are
discarded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, Protocol, TextIO, TypeAlias

import anyio

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, RuleOffer
from agent_ls.text import strip_controls

BELL = "\a"
Bell: TypeAlias = Literal["off", "asked", "done"]
"""When to ring the terminal's bell: `off` never, `asked` when the user is asked, `done` when the user is
asked and when the run has ended.
"""


class Lines(Protocol):
    """Reads the lines in which the user answers questions."""

    async def ask(self, prompt: str) -> str:
        """Return the line that is typed after the prompt was displayed, "" at the end of input."""
        ...


class TerminalLines:
    """Reads answers from standard input. A cancelled `ask` consumes no line, and does not keep the process
    alive.
    """

    def __init__(self, err: TextIO, *, bell: bool = True) -> None:
        self._err = err
        self._bell = BELL if bell and err.isatty() else ""

    async def ask(self, prompt: str) -> str:
        descriptor = sys.stdin.fileno()
        _forget_what_was_typed(descriptor)
        self._err.write(f"{self._bell}{prompt}")
        self._err.flush()
        await anyio.wait_readable(descriptor)
        # A terminal delivers one line at a time.
        return os.read(descriptor, 4096).decode("utf-8", "replace").partition("\n")[0]


async def ask(request: ApprovalRequested, lines: Lines) -> ApprovalAnswer:
    """Ask the user to approve a request. The effect of the call must have been printed already.

    Every line except "yes" or an offered rule denies the request, and the line is sent as the reason.
    """
    line = (await lines.ask(_choices(request.rules))).strip()
    word = line.lower()
    if word in ("y", "yes"):
        return ApprovalAnswer("allow", decided_by="terminal")
    offered = _keyed(request.rules)
    by_scope = {rule.scope: rule for key, rule in offered.items() if key.isalpha()}
    rule = offered.get(word) or next((rule for scope, rule in by_scope.items() if scope == word), None)
    if rule:
        return ApprovalAnswer("allow", rule.scope, rule.id, decided_by="terminal")
    reason = "" if word in ("", "n", "no") else line
    return ApprovalAnswer("deny", reason=reason, decided_by="terminal")


def _keyed(rules: Iterable[RuleOffer]) -> dict[str, RuleOffer]:
    """Return the rules by the first letter of their scope, or by number if two scopes have the same first
    letter.
    """
    offered = list(rules)
    letters = {rule.scope[0]: rule for rule in offered}
    return letters if len(letters) == len(offered) else {str(n): rule for n, rule in enumerate(offered, 1)}


def _choices(rules: Iterable[RuleOffer]) -> str:
    offered = [(key, strip_controls(rule.label)) for key, rule in _keyed(rules).items()]
    explained = "".join(f"    {number}: {label}\n" for number, label in offered)
    choices = ["[y]es", *(f"[{number}]" for number, _ in offered), "[n]o, or type the reason for denying"]
    return f"{explained}    {', '.join(choices)}: "


def _forget_what_was_typed(descriptor: int) -> None:
    """Discard characters typed before the question was displayed, because they are not an answer to it."""
    with suppress(ImportError, OSError):
        import termios

        with suppress(termios.error):
            termios.tcflush(descriptor, termios.TCIFLUSH)
