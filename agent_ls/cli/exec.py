"""agent-ls exec: arguments only."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_ls.app.settings import Settings

BELLS = ("off", "asked", "done")
APPROVALS = ("never", "ask", "edits", "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", help='what to do; "-" reads it from standard input')
    parser.add_argument(
        "--provider",
        default="",
        help="anthropic, openai, gemini, ollama, ... or walkthrough (scripted, no key)",
    )
    parser.add_argument("--model", default="", help="the provider's name of the model")
    parser.add_argument("--effort", default="", help="low, medium, high, or what the provider adds")
    parser.add_argument("--json", action="store_true", help="one event per line on standard output")
    parser.add_argument(
        "--approve",
        choices=APPROVALS,
        default="never",
        help="never: refuse what is not allowed (default); ask on the terminal; edits: allow edits in the folder; "
        "all: allow commands too, but for the never-silent list",
    )
    parser.add_argument(
        "--bell",
        choices=BELLS,
        default="asked",
        help="when a terminal's bell is rung: when something is asked (default), at the end too (done), or never (off)",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="trust the folder, for this once; `agent-ls trust add` does from now on. Without: nothing is changed or "
        "run in a folder that is not trusted",
    )
    parser.add_argument(
        "--sandbox",
        choices=("off", "on", "network"),
        default="off",
        help="on: commands write below the folder only and have no network; network: they have it. Needs bubblewrap or "
        "Landlock on Linux; where there is none every command is asked about",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHAT",
        help="allow this in this run besides: a tool of yours by its name, commands by their first words "
        "('npm test'), or pages of a site (https://HOST); may be given several times",
    )
    parser.add_argument("--cd", type=Path, default=Path(), metavar="FOLDER", help="work in this folder")
    parser.add_argument(
        "--add-dir",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="work in this folder besides; may be given several times. It is to be trusted as the first one",
    )
    parser.add_argument("--resume", default="", metavar="ID", help="go on with a stored session")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write all that the session is told to a new file, for `replay`",
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.app.errors import AppError
    from agent_ls.headless import exec as face

    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    problem = ""
    if not prompt.strip():
        problem = "the prompt is empty: say what to do"
    elif not options.cd.is_dir():
        problem = f"no such folder: {options.cd}"
    elif missing := next((folder for folder in options.add_dir if not folder.is_dir()), None):
        problem = f"no such folder: {missing}"
    elif options.record and options.resume:
        problem = "--record is for a new session: what went before would be missing in it"
    elif options.approve == "ask" and (options.prompt == "-" or not sys.stdin.isatty()):
        problem = "--approve ask needs a terminal on standard input"
    if problem:
        print(f"agent-ls exec: {problem}", file=sys.stderr)
        return face.USAGE
    try:
        return face.main(
            face.ExecOptions(
                prompt=prompt,
                folder=options.cd.resolve(),
                provider=options.provider,
                model=options.model,
                effort=options.effort,
                approve=options.approve,
                as_json=options.json,
                resume=options.resume,
                trust=options.trust,
                settings=_settings(options.sandbox),
                allow=options.allow,
                beside=[folder.resolve() for folder in options.add_dir],
                record=options.record.absolute() if options.record else None,
                bell=options.bell,
            )
        )
    except AppError as error:
        print(f"agent-ls exec: {error}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        return face.USAGE if error.is_usage else face.FAILED


def _settings(sandbox: str) -> Settings:
    from agent_ls.app.settings import SandboxSettings, Settings

    return Settings(sandbox=SandboxSettings(enabled=sandbox != "off", network=sandbox == "network"))
