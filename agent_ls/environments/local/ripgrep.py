"""The ripgrep program: where it is, how it is called, what its JSON says."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from agent_ls.environments import search
from agent_ls.environments.base import GrepLine, GrepOptions
from agent_ls.environments.errors import InvalidPatternError

# Hidden files are searched (a project's CI lives in some), .git is not; ignore files count outside git, too.
WALK_OPTIONS = (
    "--no-config",
    "--hidden",
    "--glob=!.git",
    "--no-require-git",
    "--no-messages",
    "--path-separator=/",
)
_VERSION = re.compile(r"ripgrep (\d+)\.(\d+)\.(\d+)")
_PLAIN_NAME_GLOB = re.compile(r"[\w.*?{},-]+")


def candidates() -> list[str]:
    """Where the `ripgrep` wheel may have put its program, then the one on PATH. Blocks."""
    name = "rg.exe" if os.name == "nt" else "rg"
    folders = (os.path.dirname(sys.executable), sysconfig.get_path("scripts"))
    places = [os.path.join(folder, name) for folder in folders]
    if not any(os.access(place, os.X_OK) for place in places):
        places += _installed_elsewhere(name)
    places += filter(None, [shutil.which("rg")])
    return list(dict.fromkeys(os.path.realpath(place) for place in places if os.access(place, os.X_OK)))


def _installed_elsewhere(name: str) -> list[str]:
    """Where the wheel's metadata say, for `pip install --user` and the like."""
    import importlib.metadata  # heavy: it knows of mail headers

    try:
        files = importlib.metadata.files("ripgrep") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [str(file.locate()) for file in files if file.name == name]


async def newest(programs: Sequence[str]) -> str:
    """The first of those with the highest version; "" when none runs."""
    versions = [(await _version(program), program) for program in programs]
    working = [(version, program) for version, program in versions if version]
    return max(working, key=lambda pair: pair[0])[1] if working else ""


async def _version(program: str) -> tuple[int, ...]:
    try:
        answer = await anyio.run_process([program, "--version"], check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return ()
    match = _VERSION.match(answer.stdout.decode("utf-8", "replace"))
    return tuple(map(int, match.groups())) if match else ()


def grep_arguments(pattern: str, path: str, options: GrepOptions) -> Iterator[str]:
    yield from ("--json", "--crlf", *WALK_OPTIONS)
    yield f"--max-filesize={search.SEARCH_LIMIT_BYTES}"
    yield f"--max-count={options.max_results + 1}"
    yield f"--before-context={options.before_lines}"
    yield f"--after-context={options.after_lines}"
    if options.case_insensitive:
        yield "--ignore-case"
    if options.literal:
        yield "--fixed-strings"
    if _PLAIN_NAME_GLOB.fullmatch(options.glob_filter):
        # Spares ripgrep files that are filtered out later. Not by --glob, which un-ignores what it matches.
        yield from (f"--type-add=wanted:{options.glob_filter}", "--type=wanted")
    yield from (f"--regexp={pattern}", "--", path)


@asynccontextmanager
async def running(arguments: Sequence[str], folder: str) -> AsyncIterator[Process]:
    """Runs ripgrep in `folder`; leaving the block ends it."""
    with anyio.CancelScope(shield=True):  # a start that is cancelled would leave the process to nobody
        process = await anyio.open_process(arguments, stdin=subprocess.DEVNULL, cwd=folder)
    async with process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def demand_good_pattern(process: Process, pattern: str) -> None:
    """To be asked at the end of its output: with --no-messages it complains of nothing but the pattern.

    Raises:
        InvalidPatternError
    """
    complaint = (await whole(process.stderr)).decode("utf-8", "replace").strip()
    if complaint:
        raise InvalidPatternError(pattern, complaint.removeprefix("rg: "))


async def whole(stream: ByteReceiveStream | None) -> bytes:
    assert stream, "ripgrep is started with pipes"
    return b"".join([chunk async for chunk in stream])


class JsonParser:
    """Reads ripgrep's JSON in whatever pieces it comes; `root` is what paths are shown relative to."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rest: list[bytes] = []
        self._found: list[GrepLine] = []

    def feed(self, chunk: bytes) -> Iterator[list[GrepLine]]:
        """For each file that ends in this piece and has matches: its lines. None of a binary file."""
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            message = json.loads(b"".join([*self._rest, line]))
            self._rest = []
            yield from self._take(message["type"], message["data"])
        self._rest.append(rest)

    def _take(self, kind: str, data: dict[str, Any]) -> Iterator[list[GrepLine]]:
        if kind in ("match", "context"):
            self._found.append(self._line(data, is_match=kind == "match"))
        elif kind == "end":
            found, self._found = self._found, []
            if found and data["binary_offset"] is None:
                yield found

    def _line(self, data: dict[str, Any], *, is_match: bool) -> GrepLine:
        shown = search.shown_path(os.fsdecode(_bytes(data["path"])), self._root)
        raw = _bytes(data["lines"])
        start_byte = data["submatches"][0]["start"] if data["submatches"] else 0
        start = len(raw[:start_byte].decode("utf-8", "replace"))
        text = raw.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
        return GrepLine(shown, data["line_number"], search.clip(text, start), is_match)


def _bytes(value: dict[str, str]) -> bytes:
    """ripgrep gives text where it is UTF-8, else base64."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
