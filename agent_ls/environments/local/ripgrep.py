"""The ripgrep program: find it, build its arguments, and parse its JSON output."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from anyio.abc import ByteReceiveStream, Process

from agent_ls.environments import search
from agent_ls.environments.base import GrepLine, GrepOptions
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.patterns import regex
from agent_ls.program_lookup import find_program
from agent_ls.text import HEAD_BYTES, decode

# Hidden files are searched, because some of them configure CI. `.git` is not searched.
WALK_OPTIONS = (
    "--no-config",
    "--hidden",
    "--glob=!.git",
    "--no-ignore-global",  # it reads the settings of git in its own way: user_rules.py does
    "--no-messages",
    "--path-separator=/",
)
ALL_PARENTS = ("--no-require-git",)
"""The options with which all ignore files above the searched folder apply."""
OF_REPOSITORY: tuple[str, ...] = ()
"""The options with which those of the repository apply."""
NO_PARENTS = (*ALL_PARENTS, "--no-ignore-parent")
"""The options with which those above the searched folder do not apply."""
NO_GIT_RULES = ("--no-ignore-vcs", "--no-ignore-files")
"""The options that leave the rules of git aside, and keep those for search programs."""
_OPTION_ADVICE = regex(r"\s*\n\s*Consider enabling")
"""Begins what ripgrep says about its own options, which the model cannot set."""
_VERSION = regex(r"ripgrep (\d+)\.(\d+)\.(\d+)")
_VERSION_S = 10
"""Seconds after which a program that does not print its version counts as broken."""
# Matches file name globs that ripgrep and `globs.compile_glob` interpret in the same way.
_WORD = r"[\w.*?-]"
# Names with accents have two forms, of which ripgrep would find one.
_PLAIN_NAME_GLOB = regex(rf"(?!.*\.\.)(?:{_WORD}|\{{{_WORD}+(?:,{_WORD}+)*\}})+", re.ASCII)


def candidates() -> list[str]:
    """Return the paths where the `ripgrep` wheel may have put its program, then the program on PATH. Blocks."""
    name = "rg.exe" if os.name == "nt" else "rg"
    folders = (os.path.dirname(sys.executable), sysconfig.get_path("scripts"))
    places = [os.path.join(folder, name) for folder in folders]
    if not any(os.access(place, os.X_OK) for place in places):
        places += _installed_elsewhere(name)
    places += filter(None, [find_program("rg")])
    return list(dict.fromkeys(os.path.realpath(place) for place in places if os.access(place, os.X_OK)))


def _installed_elsewhere(name: str) -> list[str]:
    """Return the paths of program `name` that are listed in the metadata of the installed `ripgrep` wheel.

    The metadata also lists programs in unusual folders, for example after `pip install --user`.
    """
    import importlib.metadata  # imported here, because it is slow: it imports the email package

    try:
        files = importlib.metadata.files("ripgrep") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [str(file.locate()) for file in files if file.name == name]


def find_working(programs: Sequence[str]) -> str:
    """Return the first of the programs that runs and prints a version of ripgrep; "" if there is none. Blocks.

    After a program was found, later calls with the same `programs` return the same result and run nothing.
    """
    wanted = tuple(programs)
    with _asking:
        if wanted not in _working:
            found = next(filter(_version, wanted), "")
            if not found:
                return ""  # not memoised, because ripgrep may be installed later
            _working[wanted] = found
        return _working[wanted]


_asking = threading.Lock()
_working: dict[tuple[str, ...], str] = {}


def _version(program: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [program, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    match = _VERSION.match(answer.stdout.decode("utf-8", "replace"))
    return tuple(map(int, match.groups())) if match else ()


def limit_computing(argv: Sequence[str], limit_s: int) -> Sequence[str]:
    """Return the command line that runs `argv` and ends it after `limit_s` seconds of processor time.

    Where the system has no such limit, `argv` is returned.
    """
    if os.name != "posix":
        return argv
    return ("/bin/sh", "-c", f'ulimit -S -t {limit_s} 2>/dev/null; exec "$@"', "sh", *argv)


def is_ended_at_limit(process: Process) -> bool:
    """Return whether a finished process of `limit_computing` has reached its limit."""
    return os.name == "posix" and process.returncode == -signal.SIGXCPU


def rules_arguments(rules: str) -> tuple[str, ...]:
    """Return the option for the user's ignore file `rules`, "" for none."""
    return (f"--ignore-file={rules}",) if rules else ()


def grep_arguments(pattern: str, path: str, options: GrepOptions) -> Iterator[str]:
    yield from ("--json", "--crlf", *WALK_OPTIONS)
    yield f"--max-filesize={search.SEARCH_LIMIT_BYTES}"
    yield f"--max-count={options.max_results + 1}"
    yield f"--before-context={options.before_lines}"
    yield f"--after-context={options.after_lines}"
    if options.case_insensitive:
        yield "--ignore-case"
    if options.literal and not options.multiline:
        yield "--fixed-strings"
    if options.multiline:
        yield from ("--multiline", "--multiline-dotall")
        pattern = (
            "\n".join(map(re.escape, pattern.replace("\r\n", "\n").split("\n")))
            if options.literal
            else pattern
        )
        pattern = search.replace_line_ends(pattern, r"\r?\n")
    yield from _name_options(options.glob_filter, options.names)
    yield from (f"--regexp={pattern}", "--", path)


def list_arguments(folder: str, name_glob: str) -> Iterator[str]:
    """Return the arguments that make ripgrep list the files below a folder as paths that end with NUL.

    ripgrep cannot apply every `name_glob`, so the caller has to filter the listed files.
    """
    yield from ("--files", "--null", *WALK_OPTIONS, *_name_options(name_glob), "--", folder)


def _name_options(*name_globs: str) -> Iterator[str]:
    """Return options that make ripgrep skip files which do not match the first plain glob of `name_globs`.

    A glob is plain if ripgrep and `globs.compile_glob` match it in the same way. Without one, no options.
    """
    if glob := next(filter(_PLAIN_NAME_GLOB.fullmatch, name_globs), ""):
        # Skip files that the caller would filter out later. --glob is not used, because it would add ignored
        # files.
        yield from (f"--type-add=wanted:{glob}", "--type=wanted")


async def check_pattern_errors(process: Process, pattern: str) -> None:
    """Check whether a finished ripgrep has reported an invalid pattern.

    With --no-messages, ripgrep writes no other errors.

    Raises:
        InvalidPatternError
    """
    complaint = (await read_all(process.stderr)).decode("utf-8", "replace").strip()
    if complaint:
        raise InvalidPatternError(pattern, _OPTION_ADVICE.split(complaint.removeprefix("rg: "))[0])


async def read_all(stream: ByteReceiveStream | None) -> bytes:
    assert stream, "ripgrep is started with pipes"
    return b"".join([chunk async for chunk in stream])


class JsonParser:
    """Parses ripgrep's JSON in chunks of any size; displayed paths are relative to `root`."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rest: list[bytes] = []
        self._found: list[GrepLine] = []

    def feed(self, chunk: bytes) -> Iterator[list[GrepLine]]:
        """Yield the result lines of each file whose results end in this chunk; skip binary files."""
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            message = json.loads(b"".join([*self._rest, line]))
            self._rest = []
            yield from self._take(message["type"], message["data"])
        self._rest.append(rest)

    def _take(self, kind: str, data: dict[str, Any]) -> Iterator[list[GrepLine]]:
        if kind in ("match", "context"):
            self._found += self._lines(data, is_match=kind == "match")
        elif kind == "end":
            found, self._found = self._found, []
            if found and (data["binary_offset"] is None or data["binary_offset"] >= HEAD_BYTES):
                yield found

    def _lines(self, data: dict[str, Any], *, is_match: bool) -> Iterator[GrepLine]:
        """Yield the lines of one message; a match may span several lines."""
        shown = search.shown_path(os.fsdecode(_bytes(data["path"])), self._root)
        raw = _bytes(data["lines"])
        start_byte = data["submatches"][0]["start"] if data["submatches"] else 0
        encoding = decode(raw).encoding
        start = len(raw[:start_byte].decode(encoding, "replace"))
        lines = raw.decode(encoding, "replace").removesuffix("\n").split("\n")
        for number, line in enumerate(lines, data["line_number"]):
            yield GrepLine(shown, number, search.clip(line.removesuffix("\r"), start), is_match)
            start = max(0, start - len(line) - 1)


def _bytes(value: dict[str, str]) -> bytes:
    """Decode a value, which ripgrep writes as text if it is UTF-8, else as base64."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
