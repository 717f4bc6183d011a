"""agent-ls replay: a recording played again, with no network and no file touched; what differs is told."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", type=Path, metavar="LOG", help="a file of `agent-ls exec --record`")
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER", help="put the files as they came out into a new folder"
    )


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.app.errors import AppError
    from agent_ls.app.recording.replay import read_recording, replay

    try:
        recording = read_recording(options.recording)
        told = anyio.run(replay, recording)
        if options.write:
            _write(options.write, str(recording.header["workspaceFolder"]), told.files)
    except AppError as error:
        print(f"agent-ls replay: {error}\n  {error.hint}", file=sys.stderr)
        return 2 if error.is_usage else 1
    for words in told.differences:
        print(f"differs: {words}", file=sys.stderr)
    outcome = "as recorded" if not told.differences else f"{len(told.differences)} differences"
    print(
        f"{told.calls} calls of the model, {told.events} events, {len(told.files)} files written: {outcome}"
    )
    return 1 if told.differences else 0


def _write(folder: Path, root: str, files: dict[str, bytes | None]) -> None:
    from agent_ls.app.errors import BadChoiceError

    try:
        folder.mkdir(parents=True)
        for name, content in files.items():
            if content is not None:
                # Never above the folder, whatever a recording says.
                parts = [
                    part for part in Path(name.removeprefix(root)).parts if part not in ("/", "..", "\\")
                ]
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    except OSError as error:
        raise BadChoiceError(
            f"{folder}: {error.strerror or error}", "name a folder that is not there yet"
        ) from None
