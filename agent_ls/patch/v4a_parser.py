"""Parse a v4a patch by the strict grammar: accept exactly the patches that the program `apply_patch` accepts.

A heredoc wrapper is removed first. Line numbers count from 1 at the begin line. v4a_lenient_parser accepts more
patches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.patch.errors import PatchError, PatchProblem
from agent_ls.patch.hunks import Repair
from agent_ls.patch.typography import is_blank, right_trimmed, strip_blanks

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ENVIRONMENT = "*** Environment ID: "
ADD = "*** Add File: "
DELETE = "*** Delete File: "
UPDATE = "*** Update File: "
MOVE = "*** Move to: "
END_OF_FILE = "*** End of File"
HEREDOC_OPENINGS = ("<<EOF", "<<'EOF'", '<<"EOF"')

Sign: TypeAlias = Literal[" ", "-", "+"]
_SIGNS: dict[str, Sign] = {" ": " ", "-": "-", "+": "+"}


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a chunk. `number` is its line number in the patch.

    `without_ending`: the line is added as the last line of the file, without a line ending.
    """

    sign: Sign
    text: str
    number: int
    without_ending: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of an update. `anchors` are the non-empty `@@` lines. `stacked`: there were two or more `@@`
    lines, so all anchors must match.
    """

    number: int
    anchors: tuple[str, ...] = ()
    lines: tuple[PatchLine, ...] = ()
    at_end: bool = False
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class AddFile:
    path: str
    number: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteFile:
    path: str
    number: int


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """An update of one file. `move_to` is the file's new path, "" if the file is not moved.

    An update without chunks only renames the file. The strict parser refuses such an update.
    """

    path: str
    number: int
    move_to: str = ""
    chunks: tuple[Chunk, ...] = ()


Section: TypeAlias = AddFile | DeleteFile | UpdateFile


@dataclass(frozen=True, slots=True)
class ParsedPatch:
    """A parsed patch: its sections, and the problems. If there are problems, the sections must not be used.

    `repairs` are the recovery rules that the lenient parser used.
    """

    sections: tuple[Section, ...] = ()
    problems: tuple[PatchProblem, ...] = ()
    repairs: tuple[Repair, ...] = ()


def parse_strict(text: str) -> ParsedPatch:
    """Parse the patch as the reference program does; the result contains the first problem, if any."""
    try:
        return ParsedPatch(_Parser(_strip_frame(split_patch(text))).sections())
    except PatchError as error:
        return ParsedPatch(problems=error.problems)


def split_patch(text: str) -> list[str]:
    """Return the lines of a patch; CRLF counts as LF."""
    return [line.rstrip("\r") for line in strip_blanks(text).split("\n")]


def bad_header(line: str, number: int) -> PatchError:
    return _invalid(
        number,
        f"'{line}' is not a valid hunk header. Valid hunk headers: "
        "'*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'",
    )


def empty_update(path: str, number: int) -> PatchError:
    return _invalid(number, f"Update file hunk for path '{path}' is empty", path)


def empty_chunk(number: int) -> PatchError:
    return _invalid(number, "Update hunk does not contain any lines")


def _invalid(number: int, reason: str, path: str = "") -> PatchError:
    return PatchError.of("PARSE", f"Invalid patch hunk on line {number}: {reason}", path=path, line=number)


def _strip_frame(lines: list[str]) -> list[str]:
    """Return the lines from the begin line to the end line, without a heredoc wrapper."""
    problem = _frame_problem(lines)
    wrapped = len(lines) >= 4 and lines[0] in HEREDOC_OPENINGS and lines[-1].endswith("EOF")
    if problem and wrapped:
        lines = lines[1:-1]
        problem = _frame_problem(lines)
    if problem:
        raise problem
    return lines


def _frame_problem(lines: list[str]) -> PatchError | None:
    if strip_blanks(lines[0]) != BEGIN:
        return PatchError.of("PARSE", f"Invalid patch: The first line of the patch must be '{BEGIN}'")
    if len(lines) < 2 or strip_blanks(lines[-1]) != END:
        return PatchError.of("PARSE", f"Invalid patch: The last line of the patch must be '{END}'")
    return None


class _Parser:
    """Reads the lines once. After each method, `_at` is the index of the first line that was not used."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 1

    def sections(self) -> tuple[Section, ...]:
        self._skip_environment()
        sections: list[Section] = []
        while not self._is_at_end():
            sections.append(self._section())
        return tuple(sections)

    @property
    def _line(self) -> str:
        return self._lines[self._at]

    @property
    def _number(self) -> int:
        return self._at + 1

    def _skip_environment(self) -> None:
        line = strip_blanks(self._line)
        if line == ENVIRONMENT.rstrip():
            raise PatchError.of("PARSE", "Invalid patch: apply_patch environment_id cannot be empty", line=2)
        if line.startswith(ENVIRONMENT):
            self._at += 1

    def _is_at_end(self) -> bool:
        """Return whether the current line is an end line. Only blank lines and more end lines may follow it."""
        if strip_blanks(self._line) != END:
            return False
        for at in range(self._at, len(self._lines)):
            if strip_blanks(self._lines[at]) not in ("", END):
                raise bad_header(strip_blanks(self._lines[at]), at + 1)
        return True

    def _section(self) -> Section:
        line = strip_blanks(self._line)
        for prefix, read in ((ADD, self._add), (DELETE, self._delete), (UPDATE, self._update)):
            if line.startswith(prefix):
                number = self._number
                self._at += 1
                return read(line[len(prefix) :], number)
        raise bad_header(line, self._number)

    def _add(self, path: str, number: int) -> AddFile:
        lines = []
        while self._line.startswith("+"):
            lines.append(self._line[1:])
            self._at += 1
        return AddFile(path, number, tuple(lines))

    def _delete(self, path: str, number: int) -> DeleteFile:
        return DeleteFile(path, number)

    def _update(self, path: str, number: int) -> UpdateFile:
        move_to = ""
        line = right_trimmed(self._line)
        if line.startswith(MOVE):
            move_to = line[len(MOVE) :]
            self._at += 1
        # The reference program skips end-of-file markers here, although no chunk precedes them.
        while right_trimmed(self._line) == END_OF_FILE:
            self._at += 1
        chunks: list[Chunk] = []
        while not self._ends_update():
            chunks.append(self._chunk(is_first=not chunks))
        if not chunks:
            raise empty_update(path, number)
        return UpdateFile(path, number, move_to, tuple(chunks))

    def _ends_update(self) -> bool:
        line = right_trimmed(self._line)
        return self._at == len(self._lines) - 1 or line == END or line.startswith((ADD, DELETE, UPDATE))

    def _chunk(self, *, is_first: bool) -> Chunk:
        number = self._number
        anchors: tuple[str, ...] = ()
        opening = right_trimmed(self._line)
        if _opens_chunk(opening):
            anchors = (opening[3:],) if opening != "@@" else ()
            self._at += 1
        elif not is_first:
            raise _unexpected_line_error(self._line, number, is_first=False)
        lines = self._chunk_lines()
        stop = right_trimmed(self._line)
        if not lines and (stop == END_OF_FILE or strip_blanks(stop) == END):
            raise empty_chunk(self._number)
        if not lines or not (self._ends_update() or stop == END_OF_FILE or _opens_chunk(stop)):
            raise _unexpected_line_error(self._line, self._number, is_first=not lines)
        if stop == END_OF_FILE:
            self._at += 1
            self._skip_blank_lines()
        return Chunk(number, anchors, lines, at_end=stop == END_OF_FILE)

    def _chunk_lines(self) -> tuple[PatchLine, ...]:
        lines: list[PatchLine] = []
        while not self._ends_update():
            line = self._line or " "
            sign = _SIGNS.get(line[0])
            if sign is None:
                break
            lines.append(PatchLine(sign, line[1:], self._number))
            self._at += 1
        return tuple(lines)

    def _skip_blank_lines(self) -> None:
        while self._at < len(self._lines) - 1 and is_blank(self._line):
            self._at += 1


def _opens_chunk(line: str) -> bool:
    return line == "@@" or line.startswith("@@ ")


def _unexpected_line_error(line: str, number: int, *, is_first: bool) -> PatchError:
    if not is_first:
        return _invalid(number, f"Expected update hunk to start with a @@ context marker, got: '{line}'")
    return _invalid(
        number,
        f"Unexpected line found in update hunk: '{line}'. Every line should start with "
        "' ' (context line), '+' (added line), or '-' (removed line)",
    )
