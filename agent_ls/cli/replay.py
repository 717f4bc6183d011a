"""agent-ls replay: replay a recording without network or file changes, and report differences."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_ls.cli.output import print_error
from agent_ls.services.errors import AppError, BadChoiceError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording", type=Path, metavar="LOG", help="a file that `agent-ls exec --record` has written"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER", help="write the resulting files to a new folder"
    )


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.replay.session import read_recording, replay

    try:
        recording = read_recording(options.recording)
        result = anyio.run(replay, recording)
        if options.write:
            _write(options.write, str(recording.header["workspaceFolder"]), result.files)
    except AppError as error:
        return print_error("replay", error)
    for words in result.differences:
        print(f"differs: {words}", file=sys.stderr)
    outcome = "as recorded" if not result.differences else f"{len(result.differences)} differences"
    print(
        f"{result.calls} calls of the model, {result.events} events, {len(result.files)} files written: {outcome}"
    )
    return 1 if result.differences else 0


def _write(folder: Path, root: str, files: dict[str, bytes | None]) -> None:
    try:
        folder.mkdir(parents=True)
        for name, content in files.items():
            if content is not None:
                # Write only below the folder, even if the recording contains other paths.
                parts = [
                    part for part in Path(name.removeprefix(root)).parts if part not in ("/", "..", "\\")
                ]
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    except OSError as error:
        raise BadChoiceError(
            f"{folder}: {error.strerror or error}", "name a folder that does not exist yet"
        ) from None
