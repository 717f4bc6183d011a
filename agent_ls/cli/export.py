"""agent-ls export: a recording made fit to be shown to others."""

from __future__ import annotations

import argparse
import getpass
import os
import socket
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", type=Path, metavar="LOG", help="a file of `agent-ls exec --record`")
    parser.add_argument(
        "--redact",
        action="store_true",
        required=True,
        help="take out keys, addresses, and names of this machine",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")


def run(options: argparse.Namespace) -> int:
    from agent_ls.app.errors import AppError
    from agent_ls.app.keys import load_credentials
    from agent_ls.app.recording.replay import read_recording
    from agent_ls.app.recording.sharing import shareable

    try:
        read_recording(options.recording)
    except AppError as error:
        print(f"agent-ls export: {error}\n  {error.hint}", file=sys.stderr)
        return 2
    text = options.recording.read_text("utf-8", "backslashreplace")
    known = load_credentials().known_secrets()
    text = shareable(text, home=str(Path.home()), user=_user(), host=socket.gethostname(), known=known)
    if options.output is None:
        print(text, end="")
        return 0
    try:
        descriptor = os.open(options.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        print(
            f"agent-ls export: {options.output}: {error.strerror}; name a file that is not there",
            file=sys.stderr,
        )
        return 2
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
