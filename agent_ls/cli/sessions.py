"""agent-ls sessions: list, show, export and delete stored sessions, and relink the sessions of a moved
folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import print_error, to_single_row
from agent_ls.cli.parser import positive
from agent_ls.services.errors import AppError, BadChoiceError

if TYPE_CHECKING:
    from agent_ls.sessions.stored.queries import StoredSessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _list_arguments(parser)
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", description="without an action, the sessions are listed"
    )
    _list_arguments(actions.add_parser("list", help="list the sessions of this folder, newest first"))
    show = actions.add_parser("show", help="show a session's details and transcript")
    show.add_argument("id", metavar="ID")
    show.add_argument(
        "--json", action="store_true", dest="as_json", help="print the details as one JSON object"
    )
    show.add_argument(
        "--figures", action="store_true", help="time and tokens of each model call, round and tool"
    )
    export = actions.add_parser(
        "export",
        help="export a session as Markdown, as a web page, as a report for a pull request, as a patch, as commit "
        "trailers, or its events or calls as JSON lines",
    )
    export.add_argument("id", metavar="ID")
    export.add_argument(
        "--format",
        choices=("markdown", "html", "report", "patch", "trailers", "jsonl", "calls"),
        default="markdown",
    )
    export.add_argument(
        "--trailers",
        action="store_true",
        help="begin the patch with lines for the end of a commit message: session, model, decisions, evidence",
    )
    export.add_argument(
        "--redact",
        action="store_true",
        help="leave out keys, mail addresses, home folders and names of this machine (markdown, html)",
    )
    export.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")
    delete = actions.add_parser("delete", help="delete sessions from the disk; project files are not touched")
    delete.add_argument("ids", nargs="*", default=[], metavar="ID")
    delete.add_argument("--everything", action="store_true", help="delete every session of every folder")
    delete.add_argument(
        "--force", action="store_true", help="delete a session even if its changes still await a decision"
    )
    relink = actions.add_parser("relink", help="assign the sessions of a moved folder to its new location")
    relink.add_argument("old", metavar="OLD", help="the former path of the folder")
    relink.add_argument(
        "new", metavar="NEW", nargs="?", default=".", help="the new path of the folder (default: this folder)"
    )


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    # Use SUPPRESS, because the defaults of a subcommand must not override options given before the subcommand's
    # name.
    parser.add_argument(
        "--all", action="store_true", default=argparse.SUPPRESS, help="list the sessions of all folders"
    )
    parser.add_argument(
        "--running",
        action="store_true",
        default=argparse.SUPPRESS,
        help="list the sessions of all folders that are open in an editor or another process, and what each is doing",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="list at most N sessions (default 20)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        default=argparse.SUPPRESS,
        help="print one JSON object per line",
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.sessions.stored.queries import StoredSessions

    try:
        return _ACTIONS[options.action or "list"](StoredSessions(), options)
    except AppError as error:
        return print_error("sessions", error)


def _list(kept: StoredSessions, options: argparse.Namespace) -> int:
    from agent_ls.display.words import local_minute  # imported here: it loads the events

    is_all, limit = getattr(options, "all", False), max(getattr(options, "limit", 20), 1)
    if getattr(options, "running", False):
        return _list_running(kept, options, limit)
    found = kept.list_sessions(None if is_all else str(Path().resolve()))
    if getattr(options, "as_json", False):
        for it in found[:limit]:
            print(json.dumps(it.as_json, ensure_ascii=False))
        return 0
    for it in found[:limit]:
        owner = f"  [open in {it.owner}]" if it.owner else ""
        header, updated, title = it.stored.header, it.stored.updated, it.stored.title
        model = f"{header.provider}/{header.model}"
        print(to_single_row(f"{header.session_id}  {local_minute(updated)}  {model}  {title}{owner}"))
    if not found:
        print("no stored sessions" + ("" if is_all else " for this folder (--all lists all folders)"))
        for path in () if is_all else kept.find_moved(Path().resolve()):
            print(
                to_single_row(
                    f"sessions of {path}, which no longer exists: `agent-ls sessions relink {path}`"
                )
            )
    if len(found) > limit:
        print(f"(use --limit {limit * 2} to list more)")
    return 0


def _list_running(kept: StoredSessions, options: argparse.Namespace, limit: int) -> int:
    found = kept.list_running()
    if getattr(options, "as_json", False):
        for it in found[:limit]:
            print(json.dumps(it.as_json, ensure_ascii=False))
        return 0
    for it in found[:limit]:
        header, title = it.stored.header, it.stored.title
        cost = "" if it.progress.cost_usd is None else f"  ${it.progress.cost_usd:.2f}"
        where = f"{header.workspace_folder}{' (worktree)' if header.has_worktree else ''}"
        row = f"{header.session_id}  {it.progress.activity:8}  {it.stored.updated}{cost}  {where}  {title}"
        print(to_single_row(f"{row}  [open in {it.owner}]"))
    if not found:
        print("no session is open in any editor or process")
    return 0


def _show(kept: StoredSessions, options: argparse.Namespace) -> int:
    if options.figures:
        return _show_figures(kept, options)
    found = kept.read_one(options.id)
    if options.as_json:
        print(json.dumps(found.as_json, ensure_ascii=False))
        return 0
    for name, value in found.as_json.items():
        print(to_single_row(f"{name + ':':17} {value}"))
    print()
    print(kept.transcript(options.id), end="")
    return 0


def _show_figures(kept: StoredSessions, options: argparse.Namespace) -> int:
    from agent_ls.sessions.export.stats import as_json, as_text

    figures = kept.figures(options.id)
    print(json.dumps(as_json(figures)) if options.as_json else as_text(figures))
    return 0


def _export(kept: StoredSessions, options: argparse.Namespace) -> int:
    text = kept.export(options.id, options.format, redact=options.redact, has_trailers=options.trailers)
    if options.output is None:
        print(text, end="")
        return 0
    try:
        with options.output.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise BadChoiceError(f"{options.output} already exists", "name a new file") from None
    except OSError as error:
        raise BadChoiceError(f"{options.output} cannot be written: {error.strerror or error}") from None
    print(f"{options.output}: {len(text):,} characters")
    return 0


def _delete(kept: StoredSessions, options: argparse.Namespace) -> int:
    if bool(options.ids) == options.everything:
        raise BadChoiceError("say which sessions to delete", "give the ids of sessions, or --everything")
    if options.everything:
        if not options.force:
            raise BadChoiceError(
                "this deletes every session of every folder", "to confirm, use --everything --force"
            )
        swept = kept.delete_all()
        print(f"{len(swept.removed)} sessions deleted")
        for session_id in swept.in_use:
            print(f"{session_id} is open in another process, and was kept", file=sys.stderr)
        return 1 if swept.in_use else 0
    for session_id in options.ids:
        kept.delete(session_id, force=options.force)
        print(f"{session_id} deleted")
    return 0


def _relink(kept: StoredSessions, options: argparse.Namespace) -> int:
    ids = kept.relink(str(Path(options.old).absolute()), str(Path(options.new).resolve()))
    print(f"{len(ids)} sessions belong to {Path(options.new).resolve()} now")
    return 0


_ACTIONS = {"list": _list, "show": _show, "export": _export, "delete": _delete, "relink": _relink}
