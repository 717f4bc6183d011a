"""Store the diagnostics that the client reports, and determine which ones an edit introduced.

The texts of diagnostics come from other programs, so they are untrusted and are truncated. Every edit moves
lines, so a problem is recognised by its message, code and the text of its line, never by the line's number.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import anyio

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.environments.errors import NoAnswerError
from agent_ls.loop.events.editor import DiagnosedFile, EditNews
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.text import split_lines

if TYPE_CHECKING:
    from agent_ls.server.protocol import Diagnostic

MAX_KEPT = 500  # diagnostics per file
OWN_SOURCE = "agent-ls"
"""The `source` of agent-ls's own diagnostics. A client reports them back with those of other tools; they are
ignored, because the model wrote them.
"""

MAX_FILES = 10_000
MAX_REPORTED = 20
MAX_MESSAGE_CHARS = 300
MAX_LABEL_CHARS = 60
REPORTED_SEVERITY = 2
"""Maximum LSP severity number of problems that are reported to the model after an edit: errors (1) and
warnings (2), so that hints do not hide them.
"""

SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}

FindDocument = Callable[[str], OpenDocument | None]


@dataclass(frozen=True, slots=True)
class Problem:
    """One diagnostic. `line` counts from 0; `text` is the text of that line, None if it is not known."""

    line: int
    severity: int
    message: str
    source: str
    code: str
    text: str | None

    @property
    def id(self) -> str:
        """A short name that equal problems have in common."""
        text = "\0".join((self.message, self.code))
        return f"{crc32(text.encode('utf-8', 'replace')):08x}"

    def is_same(self, other: Problem) -> bool:
        alike = (self.message, self.code) == (other.message, other.code)
        return alike and (self.text == other.text or None in (self.text, other.text))


@dataclass(slots=True)
class _File:
    version: int | None = None
    is_settled: bool = True
    problems: tuple[Problem, ...] = ()
    count: int = 0
    """How often diagnostics were published for this file."""


PullDiagnostics: TypeAlias = Callable[[], "Callable[[Sequence[str]], Awaitable[None]] | None"]


@dataclass(slots=True)
class EditorDiagnostics:
    """All reported diagnostics. `document` finds the synced document of a path; `limit_ms` limits how long
    the result of an edit waits for diagnostics.

    `pull` returns the function that requests the problems of files from a client that does not push them, None if
    the client pushes them. The function raises NoAnswerError.
    """

    document: FindDocument
    pull: PullDiagnostics = lambda: None
    limit_ms: int = 0
    _files: dict[str, _File] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def publish(self, uri: str, version: int | None, items: Sequence[Diagnostic], *, settled: bool) -> None:
        """Replace all problems of a file. URIs that are not files are ignored, and so are diagnostics of
        agent-ls. `settled` False: the editor's tools are still checking this version of the file.
        """
        path = maybe_path(uri)
        if path is None or (path not in self._files and len(self._files) >= MAX_FILES):
            return
        file = self._files.setdefault(path, _File())
        document = self.document(path)
        is_current = document is not None and version in (None, document.version)
        lines = split_lines(document.text) if document and is_current else None
        others = [item for item in items if item.source != OWN_SOURCE]
        file.problems = tuple(_problem(item, lines) for item in others[:MAX_KEPT])
        file.version, file.is_settled = version, settled
        file.count += 1
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def clear(self) -> None:
        """Remove all problems, but keep the number of reports of each file. Call before the client reports
        all files again.
        """
        for file in self._files.values():
            file.problems = ()

    def all_of(self, path: str) -> Sequence[tuple[str, Sequence[Problem], bool]]:
        """Return `(path, problems, is_settled)` of one file, or of all files with problems if `path` is ""."""
        if path:
            file = self._files.get(path, _File())
            return [(path, file.problems, file.is_settled)]
        return [(name, file.problems, file.is_settled) for name, file in self._files.items() if file.problems]

    @property
    def counts(self) -> tuple[int, int]:
        """Number of problems, and number of files with problems."""
        found = [len(file.problems) for file in self._files.values() if file.problems]
        return sum(found), len(found)

    def format_problems(self, path: str | None, shown: Callable[[str], str]) -> str:
        """Format the problems of one file, or of all files, for the model. `shown` formats a path."""
        chosen = [path] if path else sorted(self._files)
        found = [(name, problem) for name in chosen for problem in self._problems(name)]
        of = f" of {shown(path)}" if path else ""
        if not found:
            return f"The editor's tools report no problems{of}."
        found.sort(key=lambda pair: pair[1].severity)
        return "\n".join([f"Problems{of} that the editor reports:", *_rows(found, shown)])

    def watch(self, paths: Sequence[str], shown: Callable[[str], str]) -> Callable[[], Awaitable[EditNews]]:
        """Start watching before an edit of these files. Await the returned function after the edit to get the new
        problems.

        The returned function waits until the client has sent the diagnostics of the text after the edit, at
        most `limit_ms`. Files that are not open are left out, because no tool checks them.
        """
        before = {path: (self._problems(path), self._count(path)) for path in paths}
        return partial(self._news, before, shown)

    async def _news(
        self, before: Mapping[str, tuple[Sequence[Problem], int]], shown: Callable[[str], str]
    ) -> EditNews:
        opened = ((path, self.document(path)) for path in before)
        wanted = {path: document.version for path, document in opened if document}
        if not wanted or not self.limit_ms:
            return EditNews()

        def unchecked() -> list[str]:
            return [path for path in wanted if not self._is_checked(path, wanted[path], before[path][1])]

        with anyio.move_on_after(self.limit_ms / 1000):
            await (self._pull(unchecked()) if self.pull() else self._wait_until_checked(unchecked))
        found = [(path, new) for path in wanted for new in _new(before[path][0], self._problems(path))]
        reported = [pair for pair in found if pair[1].severity <= REPORTED_SEVERITY]
        lines = (
            ["[New problems that the editor reports after this edit:]", *_rows(reported, shown)]
            if reported
            else []
        )
        if late := unchecked():
            names = ", ".join(shown(path) for path in late)
            lines.append(f"[The editor has not finished checking {names}.]")
        files = []
        for path in wanted:
            new = [problem.id for name, problem in reported if name == path]
            gone = _new(self._problems(path), before[path][0])
            fixed = [problem.id for problem in gone if problem.severity <= REPORTED_SEVERITY]
            files.append(DiagnosedFile(path, len(new), path not in late, tuple(new), tuple(fixed)))
        return EditNews("\n".join(lines), tuple(files))

    async def _wait_until_checked(self, unchecked: Callable[[], Sequence[str]]) -> None:
        while unchecked():
            await self._changed.wait()

    async def _pull(self, paths: Sequence[str]) -> None:
        if pull := self.pull():
            with suppress(NoAnswerError):
                await pull(paths)

    def _is_checked(self, path: str, version: int, count: int) -> bool:
        """Return whether the client has sent a final report for this or a later version, after its first
        `count` reports.
        """
        file = self._files.get(path)
        if file is None or file.count == count or not file.is_settled:
            return False
        return file.version is None or file.version >= version

    def _problems(self, path: str) -> tuple[Problem, ...]:
        file = self._files.get(path)
        return file.problems if file else ()

    def _count(self, path: str) -> int:
        file = self._files.get(path)
        return file.count if file else 0


def _problem(item: Diagnostic, lines: Sequence[str] | None) -> Problem:
    text = None
    if lines is not None:
        text = lines[item.start_line].strip() if item.start_line < len(lines) else ""
    return Problem(
        line=item.start_line,
        severity=item.severity,
        message=_cut(item.message, MAX_MESSAGE_CHARS),
        source=_cut(item.source or "", MAX_LABEL_CHARS),
        code=_cut("" if item.code is None else str(item.code), MAX_LABEL_CHARS),
        text=text,
    )


def _new(before: Sequence[Problem], after: Iterable[Problem]) -> list[Problem]:
    """Return the problems of `after` that are not in `before`. Equal problems are matched one to one."""
    left = list(before)
    new = []
    for problem in after:
        same = next((known for known in left if known.is_same(problem)), None)
        if same:
            left.remove(same)
        else:
            new.append(problem)
    return new


def _rows(found: Sequence[tuple[str, Problem]], shown: Callable[[str], str]) -> list[str]:
    rows = [_row(shown(path), problem) for path, problem in found[:MAX_REPORTED]]
    if len(found) > MAX_REPORTED:
        rows.append(f"... and {len(found) - MAX_REPORTED} more")
    return rows


def _row(name: str, problem: Problem) -> str:
    by = " ".join(word for word in (problem.source, problem.code) if word)
    label = f" ({by})" if by else ""
    return f"{name}:{problem.line + 1}: {SEVERITIES[problem.severity]}: {problem.message}{label}"


def _cut(text: str, chars: int) -> str:
    """Return the text as one line of at most `chars` characters, so that a text from another program cannot
    imitate agent-ls's own lines in a message to the model.
    """
    words = " ".join(text.split())
    return words if len(words) <= chars else words[: chars - 1] + "…"
