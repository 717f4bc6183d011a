"""A v4a patch and the files it names -> a change set, all or nothing (SEMANTICS 2 to 8). Never opens a file.

Two phases, for callers that read asynchronously:

    patch = parse(text)                                   # raises PatchError
    files = {path: ... for path in patch.paths}           # the caller reads, as it can
    change_set = plan(patch, files)                       # raises PatchError; nothing was written

The strict phase does what the reference program does, apart from deviations D1 to D9. Only when it refuses, the
whole patch is tried once more from the start with the recovery rules R1 to R14.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.patch.diagnosis import LISTED_PLACES, Diagnosis
from agent_ls.patch.edits import in_file_order, overlap, runs
from agent_ls.patch.errors import PatchError, Problem
from agent_ls.patch.hunks import ChangeSet, Placement, Repair, Reported
from agent_ls.patch.matching import EXACT, FileLines
from agent_ls.patch.overlay import Contents, Overlay, Unreadable
from agent_ls.patch.placing import Spot, fitting, old_texts, place_strictly
from agent_ls.patch.recovery import Recovery
from agent_ls.patch.v4a_parser import AddFile, DeleteFile, Parsed, Section, UpdateFile, parse_strict
from agent_ls.patch.v4a_recovery import parse_leniently

__all__ = ["Contents", "Patch", "Unreadable", "apply_patch", "lexical_path", "parse", "plan"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = "No such file or directory (os error 2)"  # the reference program's words


@dataclass(frozen=True, slots=True)
class Patch:
    """A parsed patch. `paths` are all paths to read before `plan`: as spelled, in order, without repeats."""

    strict: Parsed
    lenient: Parsed
    paths: tuple[str, ...]


def lexical_path(path: str) -> str:
    """`./` and `a/../` removed; links are not known here."""
    return posixpath.normpath(path)


def parse(text: str) -> Patch:
    """Both readings of the patch: strict, and with the recovery rules R1 to R9.

    Raises:
        PatchError: PARSE, TRUNCATED: neither reading makes sense of it.
    """
    if _SURROGATE.search(text):
        raise PatchError.of("PARSE", "Invalid patch: it holds lone surrogates, which no file can hold")
    strict, lenient = parse_strict(text), parse_leniently(text)
    if strict.problems and lenient.problems:
        raise PatchError(_joined(strict.problems, lenient.problems))
    sections = [*strict.sections, *lenient.sections]
    return Patch(strict, lenient, tuple(dict.fromkeys(path for s in sections for path in _paths(s))))


def plan(
    patch: Patch,
    files: Mapping[str, Contents],
    resolve: Callable[[str], str] = lexical_path,
    *,
    refuse_ambiguous: bool = False,
) -> ChangeSet:
    """What the patch does to these files; nothing is written here.

    `files` holds every path of `patch.paths`, resolved or as spelled. `resolve` gives the one name of a path under
    which changes are told, and may refuse it with PatchError (PATH_OUTSIDE, deviation D8). `refuse_ambiguous`: a chunk
    that fits loosely at several places is refused, instead of taking the first (3.2).

    Raises:
        PatchError: with every chunk and section that does not fit.
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
    raise PatchError(_joined(patch.strict.problems, lenient.problems))


def apply_patch(
    text: str, read: Callable[[str], Contents], resolve: Callable[[str], str] = lexical_path
) -> ChangeSet:
    """`parse` and `plan` in one, for callers that read synchronously; `read` is given resolved paths.

    Raises:
        PatchError: as `parse` and `plan`.
    """
    patch = parse(text)
    files: dict[str, Contents] = {}
    for path in patch.paths:
        try:
            resolved = resolve(path)
        except PatchError:
            continue  # plan() asks again, and tells it with the section's number
        files[resolved] = read(resolved)
    return plan(patch, files, resolve)


def _paths(section: Section) -> list[str]:
    moves_to = section.move_to if isinstance(section, UpdateFile) else ""
    return [section.path, moves_to] if moves_to else [section.path]


def _joined(first: Sequence[Problem], then: Sequence[Problem]) -> list[Problem]:
    """The strict reader's problem leads, unless the second reading says the same or knows better."""
    told = {problem.message for problem in then}
    return [*(problem for problem in first if problem.message not in told), *then]


class _Planner:
    """One attempt at the whole patch, on an overlay of its own."""

    def __init__(
        self,
        files: Mapping[str, Contents],
        resolve: Callable[[str], str],
        parsed: Parsed,
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
        self._reported: list[Reported] = []
        self._placements: list[Placement] = []
        self._repairs = list(parsed.repairs)
        self.problems: list[Problem] = []

    def run(self) -> bool:
        """True when every section fits. The strict attempt stops at the first that does not."""
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
        self._reported.append(Reported("A", section.path))

    def _delete(self, section: DeleteFile) -> None:
        path = self._locate(section.path)
        contents = self._overlay.contents(path)
        if not isinstance(contents, bytes):
            raise _refusal(f"Failed to delete file {section.path}", contents)
        self._overlay.delete(path)
        self._reported.append(Reported("D", section.path))

    def _update(self, section: UpdateFile, number: int) -> None:
        path = self._locate(section.path)
        destination = self._locate(section.move_to) if section.move_to else path
        contents = self._overlay.contents(path)
        if not isinstance(contents, bytes):
            reason = contents.reason if isinstance(contents, Unreadable) else _MISSING
            raise _refusal(f"Failed to read file to update {section.path}: {reason}", contents)
        self._check_writable(section.move_to or section.path, destination)
        if section.chunks:
            self._edit(section, number, path, destination)
        if destination != path:
            self._overlay.move(path, destination)
        self._reported.append(Reported("M", section.move_to or section.path))

    def _edit(self, section: UpdateFile, number: int, path: str, destination: str) -> None:
        text = self._overlay.text(path)
        file = FileLines.of(text.lines)
        spots = self._place(section, number, file)
        placed = in_file_order([run for spot in spots for run in runs(spot, file)])
        clash = overlap(placed)
        if clash:
            message = f"Two chunks change the same lines of {section.path}: from line {clash.start + 1} on"
            raise PatchError.of("OVERLAP", message, detail="Join these chunks into one.")
        edited = text.edited(placed)
        if edited.lines == text.lines:
            self._check_meant(section, number, moves=destination != path)
            return
        self._overlay.edit(path, edited)

    def _place(self, section: UpdateFile, number: int, file: FileLines) -> Sequence[Spot]:
        spots = (
            self._recover(section, number, file) if self._recovers else place_strictly(file, section.chunks)
        )
        if spots is None:
            raise PatchError.of("CONTEXT_NOT_FOUND", f"Failed to find expected lines in {section.path}")
        if self._refuses_ambiguous:
            _demand_one_place(section, spots, file)
        for at, (chunk, spot) in enumerate(zip(section.chunks, spots, strict=True), 1):
            lines = tuple(place + 1 for place in fitting(file, spot, LISTED_PLACES))
            self._placements.append(
                Placement(section.path, number, at, spot.start + 1, spot.level, spot.candidates, lines)
            )
            self._repairs += [Repair(rule, note, number, at, chunk.number) for rule, note in spot.repairs]
        return spots

    def _recover(self, section: UpdateFile, number: int, file: FileLines) -> list[Spot]:
        recovery = Recovery(file, section.path)
        spots: list[Spot] = []
        problems: list[Problem] = []
        for at, chunk in enumerate(section.chunks, 1):
            answer = recovery.place(chunk, at)
            if isinstance(answer, Spot):
                spots.append(answer)
            else:
                problems.append(answer)
        if problems:
            raise PatchError(problems)
        return spots

    def _check_meant(self, section: UpdateFile, number: int, *, moves: bool) -> None:
        """A section that only recovery made understandable, and that then changes nothing, lost a sign (R2)."""
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
            raise _refusal(f"Failed to write file {spelled}", contents)


def _demand_one_place(section: UpdateFile, spots: Sequence[Spot], file: FileLines) -> None:
    """An exact match behind the chunk before it is what the format means; a loose one may be any of them.

    Raises:
        PatchError: AMBIGUOUS, for each chunk that fits loosely at several places.
    """
    problems = [
        Problem(
            "AMBIGUOUS",
            "\n".join([f"Failed to find expected lines in {section.path}:", *old_texts(chunk.lines)]),
            section.path,
            chunk=at,
            line=chunk.number,
            detail=Diagnosis(file).ambiguous(fitting(file, spot)),
        )
        for at, (chunk, spot) in enumerate(zip(section.chunks, spots, strict=True), 1)
        if spot.candidates > 1 and spot.level > EXACT
    ]
    if problems:
        raise PatchError(problems)


def _refusal(message: str, contents: Contents) -> PatchError:
    if isinstance(contents, Unreadable):
        return PatchError.of(contents.code, message, detail=f"The reason: {contents.reason}.")
    return PatchError.of(
        "FILE_MISSING", message, detail="No such file. Look for its name before you try again."
    )
