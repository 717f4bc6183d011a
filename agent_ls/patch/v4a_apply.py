r"""Apply a v4a patch to the files that it names: the whole patch or nothing. Never opens a file.

Two phases, for callers that read asynchronously:

    patch = parse(text)                                   # raises PatchError
    files = {path: ... for path in patch.paths}           # the caller reads the files
    change_set = plan(patch, files)                       # raises PatchError; nothing was written

First the patch is applied strictly, exactly as the reference program `apply_patch` does. Only if that fails, the
whole patch is tried again with the recovery rules R1 to R14. Each rule that was used is reported as a Repair:

    R1  text around the patch, several patches, markers spelled differently
    R2  lines without a sign are context            R3  stacked `@@` lines all have to match
    R4  unified diff ranges after `@@`              R5  `---`/`+++` headers, `\ No newline at end of file`
    R6  blank lines between files                   R7  blank context at the ends of a chunk, empty chunks
    R8  a move without chunks is a rename           R9  lines after `*** End of File` begin a chunk
    R10 an anchor that is only advice               R11 an anchor that is the chunk's first line
    R12 context that overlaps the previous chunk    R13 chunks out of order
    R14 blanks and compatible characters ignored
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.patch.chunk_edits import find_overlap, line_edits, sort_line_edits
from agent_ls.patch.diagnosis import LISTED_PLACES, Diagnosis
from agent_ls.patch.errors import PatchError, PatchProblem
from agent_ls.patch.hunks import ChangeSet, Placement, Repair, ReportLine
from agent_ls.patch.line_search import EXACT, FileLines
from agent_ls.patch.overlay import Contents, Overlay, Unreadable
from agent_ls.patch.recovery_placement import ChunkRecovery
from agent_ls.patch.strict_placement import PlacedChunk, equal_positions, old_texts, place_strictly
from agent_ls.patch.unified_input import to_v4a
from agent_ls.patch.v4a_lenient_parser import parse_leniently
from agent_ls.patch.v4a_parser import AddFile, DeleteFile, ParsedPatch, Section, UpdateFile, parse_strict
from agent_ls.patterns import regex

__all__ = ["Contents", "Patch", "Unreadable", "lexical_path", "parse", "plan"]

_SURROGATE = regex("[\ud800-\udfff]")
_MISSING = "No such file or directory (os error 2)"  # the wording of the reference program


@dataclass(frozen=True, slots=True)
class Patch:
    """A parsed patch. `paths` lists the paths that must be read before `plan`: each once, as spelled in the
    patch.
    """

    strict: ParsedPatch
    lenient: ParsedPatch
    paths: tuple[str, ...]


def lexical_path(path: str) -> str:
    """Remove `./` and `a/../` from a path. Symbolic links are not resolved."""
    return posixpath.normpath(path)


def parse(text: str) -> Patch:
    """Parse the patch twice: strictly, and leniently by the recovery rules R1 to R9. A unified diff is rewritten first.

    Raises:
        PatchError: PARSE or TRUNCATED, if both fail.
    """
    if _SURROGATE.search(text):
        raise PatchError.of(
            "PARSE", "Invalid patch: it contains a lone surrogate, which cannot be written to a file"
        )
    strict, lenient = parse_strict(text), parse_leniently(text)
    if strict.problems and lenient.problems:
        if rewritten := to_v4a(text):
            return parse(rewritten)
        raise PatchError(_join_problems(strict.problems, lenient.problems))
    sections = [*strict.sections, *lenient.sections]
    return Patch(strict, lenient, tuple(dict.fromkeys(path for s in sections for path in _paths(s))))


def plan(
    patch: Patch,
    files: Mapping[str, Contents],
    resolve: Callable[[str], str] = lexical_path,
    *,
    refuse_ambiguous: bool = False,
) -> ChangeSet:
    """Return the changes that the patch makes to these files; nothing is written.

    The keys of `files` are all paths of `patch.paths`, resolved or as spelled. `resolve` maps a path to the
    name under which its changes are reported, and may refuse a path with PatchError (PATH_OUTSIDE). If
    `refuse_ambiguous`, a chunk that matches loosely at several positions is refused. Otherwise the first
    position is used.

    Raises:
        PatchError: some chunks or sections cannot be applied; the error lists all of them.
    """
    if not (patch.strict.sections or patch.lenient.sections):
        raise PatchError.of("NO_CHANGES", "No files were modified.", detail="The patch has no file sections.")
    if not patch.strict.problems:
        strict = _Planner(files, resolve, patch.strict, recovers=False, refuses=refuse_ambiguous)
        if strict.run():
            return strict.change_set()
    readable = patch.strict if patch.lenient.problems else patch.lenient
    lenient = _Planner(files, resolve, readable, recovers=True, refuses=refuse_ambiguous)
    if lenient.run():
        return lenient.change_set()
    raise PatchError(_join_problems(patch.strict.problems, lenient.problems))


def _paths(section: Section) -> list[str]:
    moves_to = section.move_to if isinstance(section, UpdateFile) else ""
    return [section.path, moves_to] if moves_to else [section.path]


def _join_problems(first: Sequence[PatchProblem], then: Sequence[PatchProblem]) -> list[PatchProblem]:
    """Return the strict parser's problems (`first`) that are not in `then`, followed by all of `then`."""
    repeated = {problem.message for problem in then}
    return [*(problem for problem in first if problem.message not in repeated), *then]


class _Planner:
    """One attempt to apply the whole patch, to copies of the files in memory (overlay.py).

    `recovers`: chunks may be placed by recovery rules. `refuses`: loose matches at several positions are
    refused.
    """

    def __init__(
        self,
        files: Mapping[str, Contents],
        resolve: Callable[[str], str],
        parsed: ParsedPatch,
        *,
        recovers: bool,
        refuses: bool,
    ) -> None:
        self._files = files
        self._resolve = resolve
        self._sections = parsed.sections
        self._recovers = recovers
        self._refuses_ambiguous = refuses
        self._known: dict[str, Contents] = {}
        self._overlay = Overlay(self._known)
        self._reported: list[ReportLine] = []
        self._placements: list[Placement] = []
        self._repairs = list(parsed.repairs)
        self.problems: list[PatchProblem] = []

    def run(self) -> bool:
        """Apply all sections to the overlay. Return True if every section can be applied.

        The strict attempt stops at the first section that cannot be applied; the attempt with recovery rules
        continues.
        """
        for number, section in enumerate(self._sections, 1):
            try:
                self._execute(section, number)
            except PatchError as error:
                self.problems += [
                    replace(p, section=number, line=p.line or section.number, path=p.path or section.path)
                    for p in error.problems
                ]
                if not self._recovers:
                    return False
        return not self.problems

    def change_set(self) -> ChangeSet:
        return ChangeSet(
            self._overlay.changes(),
            self._overlay.writes(),
            tuple(self._reported),
            tuple(self._placements),
            tuple(self._repairs),
        )

    def _execute(self, section: Section, number: int) -> None:
        match section:
            case AddFile():
                self._add(section)
            case DeleteFile():
                self._delete(section)
            case UpdateFile():
                self._update(section, number)

    def _add(self, section: AddFile) -> None:
        path = self._locate(section.path)
        self._check_writable(section.path, path)
        self._overlay.add(path, "".join(f"{line}\n" for line in section.lines).encode())
        self._reported.append(ReportLine("A", section.path))

    def _delete(self, section: DeleteFile) -> None:
        path = self._locate(section.path)
        contents = self._overlay.contents(path)
        if not isinstance(contents, bytes):
            raise _refuse(f"Failed to delete file {section.path}", contents)
        self._overlay.delete(path)
        self._reported.append(ReportLine("D", section.path))

    def _update(self, section: UpdateFile, number: int) -> None:
        path = self._locate(section.path)
        destination = self._locate(section.move_to) if section.move_to else path
        contents = self._overlay.contents(path)
        if not isinstance(contents, bytes):
            reason = contents.reason if isinstance(contents, Unreadable) else _MISSING
            raise _refuse(f"Failed to read file to update {section.path}: {reason}", contents)
        self._check_writable(section.move_to or section.path, destination)
        if section.chunks:
            self._edit(section, number, path, destination)
        if destination != path:
            self._overlay.move(path, destination)
        self._reported.append(ReportLine("M", section.move_to or section.path))

    def _edit(self, section: UpdateFile, number: int, path: str, destination: str) -> None:
        text = self._overlay.text(path)
        file = FileLines.of(text.lines)
        placed_chunks = self._place(section, number, file)
        placed = sort_line_edits(
            [edit for placed_chunk in placed_chunks for edit in line_edits(placed_chunk, file)]
        )
        clash = find_overlap(placed)
        if clash:
            message = f"Two chunks change the same lines of {section.path}: from line {clash.start + 1} on"
            raise PatchError.of("OVERLAP", message, detail="Merge these chunks into one chunk.")
        edited = text.apply_edits(placed)
        if edited.lines == text.lines:
            self._check_meant(section, number, moves=destination != path)
            return
        self._overlay.edit(path, edited)

    def _place(self, section: UpdateFile, number: int, file: FileLines) -> Sequence[PlacedChunk]:
        placed_chunks = (
            self._recover(section, number, file) if self._recovers else place_strictly(file, section.chunks)
        )
        if placed_chunks is None:
            raise PatchError.of("CONTEXT_NOT_FOUND", f"Failed to find expected lines in {section.path}")
        if self._refuses_ambiguous:
            _require_one_position(section, placed_chunks, file)
        for at, (chunk, placed_chunk) in enumerate(zip(section.chunks, placed_chunks, strict=True), 1):
            lines = tuple(place + 1 for place in equal_positions(file, placed_chunk, LISTED_PLACES))
            self._placements.append(
                Placement(
                    section.path,
                    number,
                    at,
                    placed_chunk.start + 1,
                    placed_chunk.level,
                    placed_chunk.candidates,
                    lines,
                )
            )
            self._repairs += [
                Repair(rule, note, number, at, chunk.number) for rule, note in placed_chunk.repairs
            ]
        return placed_chunks

    def _recover(self, section: UpdateFile, number: int, file: FileLines) -> list[PlacedChunk]:
        recovery = ChunkRecovery(file, section.path)
        placed_chunks: list[PlacedChunk] = []
        problems: list[PatchProblem] = []
        for at, chunk in enumerate(section.chunks, 1):
            answer = recovery.place(chunk, at)
            if isinstance(answer, PlacedChunk):
                placed_chunks.append(answer)
            else:
                problems.append(answer)
        if problems:
            raise PatchError(problems)
        return placed_chunks

    def _check_meant(self, section: UpdateFile, number: int, *, moves: bool) -> None:
        """Refuse a section that changes nothing, if only the lenient parser accepted it.

        Such a section probably lost the signs of its lines.
        """
        repaired = any(r.section == number and r.rule != "R1" for r in self._repairs)
        if not self._recovers or moves or not repaired:
            return
        raise PatchError.of(
            "NO_CHANGES",
            f"Invalid patch: the update of {section.path} changes nothing",
            detail="Lines to remove begin with '-', lines to add with '+', context with a space.",
        )

    def _locate(self, spelled: str) -> str:
        resolved = self._resolve(spelled)
        if resolved not in self._known:
            self._known[resolved] = self._files[resolved] if resolved in self._files else self._files[spelled]
        return resolved

    def _check_writable(self, spelled: str, path: str) -> None:
        contents = self._overlay.contents(path)
        if isinstance(contents, Unreadable):
            raise _refuse(f"Failed to write file {spelled}", contents)


def _require_one_position(section: UpdateFile, placed_chunks: Sequence[PlacedChunk], file: FileLines) -> None:
    """Refuse loose matches at several positions. Exact matches are accepted: the format defines which one is used.

    Raises:
        PatchError: AMBIGUOUS, for each chunk that matches loosely at several positions.
    """
    problems = [
        PatchProblem(
            "AMBIGUOUS",
            "\n".join([f"Failed to find expected lines in {section.path}:", *old_texts(chunk.lines)]),
            section.path,
            chunk=at,
            line=chunk.number,
            detail=Diagnosis(file).ambiguous(equal_positions(file, placed_chunk)),
        )
        for at, (chunk, placed_chunk) in enumerate(zip(section.chunks, placed_chunks, strict=True), 1)
        if placed_chunk.candidates > 1 and placed_chunk.level > EXACT
    ]
    if problems:
        raise PatchError(problems)


def _refuse(message: str, contents: Contents) -> PatchError:
    if isinstance(contents, Unreadable):
        return PatchError.of(contents.code, message, detail=f"The reason: {contents.reason}.")
    return PatchError.of(
        "FILE_MISSING",
        message,
        detail="There is no such file. Search for the right name before you try again.",
    )
