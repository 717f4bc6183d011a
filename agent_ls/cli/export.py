"""agent-ls export: redact a recording so that it can be shared."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from agent_ls.cli.output import print_error
from agent_ls.services.errors import AppError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording", type=Path, metavar="LOG", help="a file that `agent-ls exec --record` has written"
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        required=True,
        help="remove keys, addresses and names of this machine",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")


def run(options: argparse.Namespace) -> int:
    from agent_ls.features.recording.sharing import redaction_of_this_machine
    from agent_ls.replay.session import read_recording
    from agent_ls.services.models.key_store import load_credentials

    try:
        read_recording(options.recording)
    except AppError as error:
        print_error("export", error)
        return 2
    text = options.recording.read_text("utf-8", "backslashreplace")
    known = load_credentials().known_secrets()
    text = redaction_of_this_machine(known).redact_recording(text)
    if options.output is None:
        print(text, end="")
        return 0
    try:
        descriptor = os.open(options.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        print(
            f"agent-ls export: {options.output}: {error.strerror}; name a file that does not exist yet",
            file=sys.stderr,
        )
        return 2
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return 0
