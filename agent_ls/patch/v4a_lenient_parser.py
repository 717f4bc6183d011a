"""Parse v4a patches with the deviations that models really write, by the recovery rules R1 to R9.

Used only after the strict parser or the strict search has refused the patch. Each deviation is reported as a
Repair. A patch without its begin or end line is always refused, because it is probably truncated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import Repair
from agent_ls.patch.typography import is_blank, strip_blanks
from agent_ls.patch.v4a_parser import (
    BEGIN,
    END,
    AddFile,
    Chunk,
    DeleteFile,
    ParsedPatch,
    PatchLine,
    Section,
    UpdateFile,
    bad_header,
    empty_chunk,
    empty_update,
    split_patch,
)
from agent_ls.patterns import regex
from agent_ls.text import BOM, WHITE_SPACE

_MARKER = regex(
    r"\*{2,}\s*(?:"
    r"(?P<alone>begin\s+patch|end\s+patch|end\s+of\s+file)"
    r"|(?P<word>add\s+file|delete\s+file|update\s+file|move\s+to|environment\s+id)\s*:\s*(?P<value>\S.*?)"
    r")(?:\s+\*{2,})?\s*",
    re.IGNORECASE,
)
_STRICT_WORD = {
    "begin patch": BEGIN,
    "end patch": END,
    "end of file": "*** End of File",
    "add file": "*** Add File: ",
    "delete file": "*** Delete File: ",
    "update file": "*** Update File: ",
    "move to": "*** Move to: ",
    "environment id": "*** Environment ID: ",
}
_UNIFIED_RANGE = regex(r"@@\s*-\d+(?:,\d+)?\s+\+\d+(?:,\d+)?(?:\s*@@\s?(?P<rest>.*))?")
_CLOSED_ANCHOR = regex(r"@@ (?P<text>.*\S) @@")
_NO_NEWLINE = regex(r"\\ no newline at end of (?:the )?file\.?", re.IGNORECASE)
_WRAPPING = regex(r"[\s`~'\"\w]*")  # text allowed after an indented end line: a fence, a heredoc word


@dataclass(frozen=True, slots=True)
class _Marker:
    word: str
    value: str
    is_strict: bool


@dataclass(slots=True)
class _OpenChunk:
    number: int
    headings: int = 0
    anchors: list[str] = field(default_factory=list)
    lines: list[PatchLine] = field(default_factory=list)
    at_end: bool = False

    @property
    def is_blank(self) -> bool:
        return all(line.sign == " " and is_blank(line.text) for line in self.lines)

    def to_chunk(self) -> Chunk:
        return Chunk(
            self.number, tuple(self.anchors), tuple(self.lines), self.at_end, stacked=self.headings > 1
        )


@dataclass(slots=True)
class _OpenSection:
    """A section that is being parsed. `kind` is the keyword of the header: `add file`, `delete file` or `update
    file`.
    """

    kind: str
    path: str
    number: int
    move_to: str = ""
    added: list[str] = field(default_factory=list)
    chunks: list[_OpenChunk] = field(default_factory=list)


def parse_leniently(text: str) -> ParsedPatch:
    """Parse the patch by rules R1 to R9; the result contains the first problem, if any."""
    reader = _Reader(split_patch(text))
    try:
        sections = reader.read()
    except PatchError as error:
        return ParsedPatch(problems=error.problems)
    return ParsedPatch(tuple(sections), repairs=tuple(reader.repairs))


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._first = next(
            (at for at, line in enumerate(lines) if _is(_loose_marker(line), "begin patch")), -1
        )
        self._indented_end = _indented_end(lines)
        self._inside = False
        self._sections: list[_OpenSection] = []
        self.repairs: list[Repair] = []

    def read(self) -> list[Section]:
        if self._first < 0:
            raise PatchError.of("PARSE", f"Invalid patch: The first line of the patch must be '{BEGIN}'")
        if self._first:
            self._report_repair("R1", "ignored the text before the patch", self._first)
        at = self._first
        while at < len(self._lines):
            at += self._take(at)
        if self._inside:
            raise PatchError.of(
                "TRUNCATED",
                f"Invalid patch: The last line of the patch must be '{END}'",
                detail="The patch looks cut off. Send it again, complete, in smaller pieces if it is long.",
            )
        return [self._close_section(at, section) for at, section in enumerate(self._sections, 1)]

    def _take(self, at: int) -> int:
        """Parse the line at index `at`, and return how many lines were parsed (1 or 2)."""
        line = self._lines[at]
        section = self._sections[-1] if self._sections and self._inside else None
        in_update = section is not None and section.kind == "update file"
        may_be_indented = not in_update or at == self._indented_end
        marker = _loose_marker(line) if may_be_indented else _marker(line)
        if not self._inside:
            self._take_outside(marker, at)
        elif marker and self._take_frame(marker, at):
            pass
        elif section is None:
            self._take_blank(line, at)
        elif section.kind == "add file":
            self._take_added(section, line, at)
        elif section.kind == "delete file":
            self._take_blank(line, at)
        else:
            return self._take_updated(section, marker, at)
        return 1

    def _take_outside(self, marker: _Marker | None, at: int) -> None:
        if _is(marker, "begin patch"):
            self._inside = True
            if at > self._first:
                self._report_repair("R1", "treated several patches as one patch", at)
            self._check_spelling(marker, at)
        elif marker and marker.value:
            # The line is a marker with a path, not text after the patch. So the patch continues after a
            # premature end line.
            raise PatchError.of(
                "PARSE", bad_header(self._lines[at], self._number(at)).message, line=self._number(at)
            )
        elif not _is(marker, "end patch") and not is_blank(self._lines[at]):
            self._report_repair("R1", "ignored the text after the patch", at)

    def _take_frame(self, marker: _Marker, at: int) -> bool:
        """Handle begin lines, end lines and file headers. Returns False for markers that belong inside an update."""
        if marker.word == "begin patch":
            if self._sections:
                raise PatchError.of(
                    "TRUNCATED", f"Invalid patch: a second '{BEGIN}' before '{END}'", line=self._number(at)
                )
        elif marker.word == "end patch":
            self._inside = False
        elif marker.word.endswith(" file") and marker.value:
            self._sections.append(_OpenSection(marker.word, marker.value, self._number(at)))
        elif marker.word != "environment id" or self._sections:
            return False
        self._check_spelling(marker, at)
        return True

    def _take_blank(self, line: str, at: int) -> None:
        if not is_blank(line):
            raise bad_header(strip_blanks(line), self._number(at))
        self._report_repair("R6", "ignored blank lines between files", at)

    def _take_added(self, section: _OpenSection, line: str, at: int) -> None:
        if line.startswith("+"):
            section.added.append(line[1:])
        elif is_blank(line):
            section.added.append("")
            self._report_repair("R6", "accepted blank lines without '+' in an added file", at)
            # If such blank lines are the last lines of the added file, `_without_loose_tail` removes them
            # again.
        else:
            raise bad_header(strip_blanks(line), self._number(at))

    def _take_updated(self, section: _OpenSection, marker: _Marker | None, at: int) -> int:
        line = self._lines[at]
        chunk = section.chunks[-1] if section.chunks else None
        if marker and marker.word == "move to" and (chunk is None or (chunk.is_blank and not chunk.headings)):
            section.move_to = marker.value
            section.chunks.clear()
            self._check_spelling(marker, at)
        elif marker and marker.word == "end of file":
            if chunk and not chunk.lines:
                raise empty_chunk(self._number(at))
            if chunk:
                chunk.at_end = True
            self._check_spelling(marker, at)
        elif line.startswith("@@") and (anchor := self._parse_anchor(line, at)) is not None:
            self._open_chunk(section, chunk, anchor, at)
        elif self._is_diff_header(section, at):
            self._report_repair("R5", "ignored '---' and '+++' lines after the header", at)
            return 2
        elif _NO_NEWLINE.fullmatch(strip_blanks(line)) and not line.startswith((" ", "+", "-")):
            self._mark_no_newline(chunk, at)
        else:
            self._take_chunk_line(section, chunk, line, at)
        return 1

    def _parse_anchor(self, line: str, at: int) -> str | None:
        """Return the anchor of an `@@` line, "" for none; None if the line is not an `@@` line."""
        line = line.rstrip(WHITE_SPACE)
        ranged = _UNIFIED_RANGE.fullmatch(line)
        if ranged:
            self._report_repair("R4", "ignored line numbers after '@@'", at)
            return ranged["rest"] or ""
        closed = _CLOSED_ANCHOR.fullmatch(line)
        if closed:
            self._report_repair("R4", "treated '@@ text @@' as '@@ text'", at)
            return closed["text"]
        if line == "@@" or line.startswith("@@ "):
            return line[3:]
        return None

    def _open_chunk(self, section: _OpenSection, chunk: _OpenChunk | None, anchor: str, at: int) -> None:
        number = self._number(at)
        if chunk is None or chunk.lines:
            chunk = _OpenChunk(number)
            section.chunks.append(chunk)
        elif chunk.headings:
            self._report_repair("R3", "searched for each of several '@@' lines after the previous one", at)
        chunk.headings += 1
        chunk.anchors += [anchor] if anchor else []

    def _is_diff_header(self, section: _OpenSection, at: int) -> bool:
        # Only a pair of `---` and `+++` is a header: a single `---` line may remove a comment that begins with "--".
        pair = self._lines[at : at + 2]
        return (
            not section.chunks
            and len(pair) == 2
            and pair[0].startswith("--- ")
            and pair[1].startswith("+++ ")
        )

    def _mark_no_newline(self, chunk: _OpenChunk | None, at: int) -> None:
        self._report_repair("R5", "applied the line '\\ No newline at end of file'", at)
        if chunk and chunk.lines and chunk.lines[-1].sign == "+":
            chunk.lines[-1] = replace(chunk.lines[-1], without_ending=True)

    def _take_chunk_line(self, section: _OpenSection, chunk: _OpenChunk | None, line: str, at: int) -> None:
        if chunk is None or chunk.at_end:
            if chunk and is_blank(line):
                return
            if chunk:
                self._report_repair("R9", "started a new chunk after '*** End of File'", at)
            chunk = _OpenChunk(self._number(at))
            section.chunks.append(chunk)
        number = self._number(at)
        match line[:1]:
            case "" | " ":
                chunk.lines.append(PatchLine(" ", line[1:], number))
            case "-":
                chunk.lines.append(PatchLine("-", line[1:], number))
            case "+":
                chunk.lines.append(PatchLine("+", line[1:], number))
            case _:
                chunk.lines.append(PatchLine(" ", line, number))
                self._report_repair("R2", "treated lines without a leading sign as context", at)

    def _close_section(self, number: int, section: _OpenSection) -> Section:
        if section.kind == "add file":
            return AddFile(
                section.path, section.number, tuple(_without_loose_tail(section, self._lines, self._first))
            )
        if section.kind == "delete file":
            return DeleteFile(section.path, section.number)
        chunks = self._drop_empty_chunks(section, number)
        if not chunks and not section.move_to:
            raise empty_update(section.path, section.number)
        if not chunks:
            self.repairs.append(
                Repair("R8", "treated a move without chunks as a rename", number, line=section.number)
            )
        return UpdateFile(section.path, section.number, section.move_to, tuple(c.to_chunk() for c in chunks))

    def _drop_empty_chunks(self, section: _OpenSection, number: int) -> list[_OpenChunk]:
        """Return the chunks without those that have only blank context lines (rule R7).

        The anchors of a chunk that is left out apply to the next chunk.
        """
        kept: list[_OpenChunk] = []
        anchors: list[str] = []
        for chunk in section.chunks:
            if not chunk.is_blank:
                if anchors:
                    chunk.anchors[:0] = anchors
                    chunk.headings += len(anchors)
                    anchors = []
                kept.append(chunk)
                continue
            if chunk.anchors and chunk is section.chunks[-1]:
                raise empty_chunk(chunk.number)
            anchors += chunk.anchors
            self.repairs.append(Repair("R7", "ignored a chunk without content", number, line=chunk.number))
        return kept

    def _check_spelling(self, marker: _Marker | None, at: int) -> None:
        if marker and not marker.is_strict:
            self._report_repair("R1", "accepted a marker that differs from the grammar", at)

    def _number(self, at: int) -> int:
        return at - self._first + 1

    def _report_repair(self, rule: str, note: str, at: int) -> None:
        """Record the use of a rule. Each note is recorded once per section, with the first line that needs the
        rule.
        """
        section = len(self._sections)
        if not any(r.note == note and r.section == section for r in self.repairs):
            self.repairs.append(Repair(rule, note, section, line=max(self._number(at), 0)))


def _marker(line: str) -> _Marker | None:
    found = _MARKER.fullmatch(line)
    if not found:
        return None
    word = " ".join((found["alone"] or found["word"]).lower().split())
    value = found["value"] or ""
    if len(value) > 2 and value[0] == value[-1] and value[0] in "\"'`":
        value = value[1:-1]
    return _Marker(word, value, is_strict=line.rstrip(WHITE_SPACE) == _STRICT_WORD[word] + value)


def _loose_marker(line: str) -> _Marker | None:
    """Parse a marker line that may be preceded by blanks or a byte order mark."""
    marker = _marker(line.lstrip(WHITE_SPACE + BOM))
    return replace(marker, is_strict=False) if marker and BOM in line else marker


def _is(marker: _Marker | None, word: str) -> bool:
    return marker is not None and marker.word == word


def _indented_end(lines: list[str]) -> int:
    """Return the index of the last end line, which may be indented; -1 if there is none or more text follows.

    The reference program accepts an indented end line as the last line of a patch. Elsewhere in an update, an
    indented end line is a context line.
    """
    ends = [at for at, line in enumerate(lines) if _is(_loose_marker(line), "end patch")]
    if not ends or not all(_WRAPPING.fullmatch(line) for line in lines[ends[-1] + 1 :]):
        return -1
    return ends[-1]


def _without_loose_tail(section: _OpenSection, lines: list[str], first: int) -> list[str]:
    """Return the lines of an added file, without blank lines at the end that have no '+' in the patch."""
    added = list(section.added)
    start = section.number + first
    while added and not lines[start + len(added) - 1].startswith("+"):
        added.pop()
    return added
