"""agent-ls blame: who wrote each line of a file, you or the agent, and for which message."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import add_json_option, print_error, print_json, to_single_row
from agent_ls.cli.waiting import waiting_line
from agent_ls.services.errors import AppError

if TYPE_CHECKING:
    from agent_ls.sessions.stored.provenance import BlamedLine, BlamedText

MESSAGE_CHARS = 30
_AUTHORS = {"user": "you", "unknown": "?"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", nargs="?")
    parser.add_argument("--line", type=int, metavar="N", help="all that is known of one line, counted from 1")
    parser.add_argument("--summary", action="store_true", help="only the number of lines by author")
    parser.add_argument(
        "--notes",
        metavar="COMMIT",
        nargs="?",
        const="HEAD",
        help="write which lines of a commit (default: HEAD) are the agent's into a git note, in refs/notes/agent-ls",
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    if (options.file is None) == (options.notes is None):
        print("agent-ls blame: name a file, or use --notes without a file", file=sys.stderr)
        return 2
    return _write_note(options.notes) if options.file is None else _blame(options)


def _write_note(commit: str) -> int:
    from functools import partial

    import anyio

    from agent_ls.sessions.stored.notes import REF, make_git, write_note
    from agent_ls.sessions.stored.provenance import Blamer
    from agent_ls.sessions.stored.queries import state_layout

    try:
        name, count = anyio.run(partial(write_note, make_git(), Path.cwd(), commit, Blamer(state_layout())))
    except AppError as error:
        return print_error("blame", error)
    if count:
        print(f"{name[:12]}: {count} line{'s' * (count > 1)} by the agent, in {REF}")
    else:
        print(f"{name[:12]}: no line by the agent, so there is no note")
    return 0


def _blame(options: argparse.Namespace) -> int:
    from agent_ls.sessions.stored.provenance import UnblamableError, blame
    from agent_ls.sessions.stored.queries import state_layout

    try:
        with waiting_line("Reading the history of the file"):
            lines = blame(options.file, state_layout())
    except OSError as error:
        print(f"agent-ls blame: {options.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    except UnblamableError as error:
        print(f"agent-ls blame: {options.file} {error}", file=sys.stderr)
        return 2
    if options.line is not None and not 1 <= options.line <= len(lines):
        print(f"agent-ls blame: {options.file} has {len(lines)} lines", file=sys.stderr)
        return 2
    first = options.line or 1
    chosen = lines if options.line is None else [lines[options.line - 1]]
    if options.json:
        print_json(_json(number, line) for number, line in enumerate(chosen, first))
    elif options.summary:
        _print_summary(lines)
    elif options.line is not None:
        _print_details(first, chosen[0])
    else:
        _print_table(lines)
    return 0


def _json(number: int, line: BlamedLine) -> dict[str, object]:
    found: dict[str, object] = {"line": number, "author": line.author, "text": line.text}
    if line.is_forgotten:
        found["isOfDeletedSession"] = True
    if origin := line.origin:
        found |= {
            "sessionId": origin.session_id,
            "turnId": origin.turn_id,
            "callId": origin.call_id,
            "message": origin.message,
            "model": origin.model,
            "time": origin.time,
            "decision": origin.decision,
        }
    return found


def _print_table(lines: BlamedText) -> None:
    width = len(str(len(lines)))
    heads = [_head(line) for line in lines]
    columns = max(map(len, heads), default=0)
    for number, (line, head) in enumerate(zip(lines, heads, strict=True), 1):
        print(f"{number:{width}} {head:{columns}} | {to_single_row(line.text)}")


def _head(line: BlamedLine) -> str:
    if line.origin is None:
        return _AUTHORS[line.author]
    words = " ".join(line.origin.message.split())
    said = words if len(words) <= MESSAGE_CHARS else f"{words[: MESSAGE_CHARS - 1]}…"
    return to_single_row(f"agent {line.origin.time[:10]} {said}")


def _print_details(number: int, line: BlamedLine) -> None:
    print(f"line {number}: {to_single_row(line.text)}")
    if line.origin is None:
        known = "you, or a program other than agent-ls" if line.author == "user" else "not known"
        if line.is_forgotten:
            known += ": a session that was deleted wrote a line with this text"
        print(f"author:   {known}")
        return
    origin = line.origin
    rows = {
        "author": f"the agent ({origin.model})" if origin.model else "the agent",
        "message": origin.message,
        "time": origin.time,
        "decision": {"kept": "kept", "pending": "not decided", "edited": "edited by you"}.get(
            origin.decision, ""
        ),
        "session": f"{origin.session_id} (turn {origin.turn_id}, call {origin.call_id})",
    }
    for name, value in rows.items():
        if value:
            print(f"{name + ':':9} {to_single_row(value)}")


def _print_summary(lines: BlamedText) -> None:
    for author, name in (("agent", "agent"), ("user", "you"), ("unknown", "unknown")):
        count = sum(count for whose, _, count in lines.runs() if whose == author)
        if count:
            print(f"{name:8} {count:6} lines  {100 * count / len(lines):3.0f} %")
