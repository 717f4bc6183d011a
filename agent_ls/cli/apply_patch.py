"""agent-ls apply-patch: apply a v4a patch to files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

USAGE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "patch",
        nargs="?",
        default="-",
        metavar="FILE",
        help='a file that holds the patch, or the text of the patch itself; without it, or with "-", standard input',
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(), metavar="FOLDER", help="change files below this folder"
    )
    parser.add_argument("--check", action="store_true", help="only check whether the patch applies")


def run(options: argparse.Namespace) -> int:
    from agent_ls.headless import apply_patch as face

    problem, data = "", b""
    if not options.folder.is_dir():
        problem = f"the folder does not exist: {options.folder}"
    else:
        try:
            data = _patch(options.patch)
        except OSError as error:
            problem = f"{options.patch} cannot be read: {error.strerror or error}"
        else:
            problem = "" if data.strip() else "the patch is empty: name a file, or send it on standard input"
    if problem:
        print(f"agent-ls apply-patch: {problem}", file=sys.stderr)
        return USAGE
    return face.main(data, options.folder.resolve(), is_check=options.check)


def _patch(named: str) -> bytes:
    """Return the patch: from standard input for "-", from the argument itself if it has several lines,
    otherwise from the named file.

    Raises:
        OSError: the file or standard input cannot be read.
    """
    if named == "-":
        return sys.stdin.buffer.read()
    if "\n" in named:  # the reference program accepts the patch itself as its argument
        return named.encode("utf-8", "surrogateescape")
    return Path(named).read_bytes()
