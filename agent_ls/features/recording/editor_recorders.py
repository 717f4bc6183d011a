"""Record a session's information from the editor: its state, diagnostics and language tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from agent_ls.environments.errors import EnvError
from agent_ls.environments.language_host import (
    ActionChanges,
    CallDirection,
    FileChanges,
    FileProblems,
    FoundCalls,
    FoundLocations,
    FoundSymbols,
    LanguageHost,
    LanguageQuery,
    OfferedAction,
    SourcePosition,
    SourceSpan,
)
from agent_ls.features.recording.codec import to_json_value
from agent_ls.features.recording.recorders import RecordingWriter
from agent_ls.loop.events.editor import EditNews
from agent_ls.services.context.editor import EditorStatus

T = TypeVar("T")


class RecordingEditorStatus:
    """Implements EditorStatus: forwards to another EditorStatus and records the results."""

    def __init__(self, inner: EditorStatus, recording: RecordingWriter) -> None:
        self._inner = inner
        self._recording = recording

    def situation(self, shown: Callable[[str], str]) -> str:
        return _record_note(self._recording, "situation", (), self._inner.situation(shown))

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        news = self._inner.watch_edit(paths, shown)

        async def noted() -> EditNews:
            return _record_note(self._recording, "edit_news", (list(paths),), await news())

        return noted


class RecordingLanguage:
    """Implements LanguageHost: forwards to another LanguageHost and records results and errors."""

    def __init__(self, inner: LanguageHost, recording: RecordingWriter) -> None:
        self._inner = inner
        self._recording = recording

    def supported_queries(self) -> frozenset[LanguageQuery]:
        answers = self._inner.supported_queries()
        _record_note(self._recording, "answers", (), sorted(answers))
        return answers

    async def definition(self, position: SourcePosition) -> FoundLocations:
        return await self._record_answer("definition", (position,), self._inner.definition(position))

    async def references(self, position: SourcePosition) -> FoundLocations:
        return await self._record_answer("references", (position,), self._inner.references(position))

    async def symbols_of(self, path: str) -> FoundSymbols:
        return await self._record_answer("symbols_of", (path,), self._inner.symbols_of(path))

    async def symbols_named(self, query: str) -> FoundSymbols:
        return await self._record_answer("symbols_named", (query,), self._inner.symbols_named(query))

    async def rename(self, position: SourcePosition, new_name: str) -> Sequence[FileChanges]:
        return await self._record_answer(
            "rename", (position, new_name), self._inner.rename(position, new_name)
        )

    async def hover(self, position: SourcePosition) -> Sequence[str]:
        return await self._record_answer("hover", (position,), self._inner.hover(position))

    async def implementations(self, position: SourcePosition) -> FoundLocations:
        return await self._record_answer(
            "implementations", (position,), self._inner.implementations(position)
        )

    async def calls(self, position: SourcePosition, direction: CallDirection) -> FoundCalls:
        return await self._record_answer(
            "calls", (position, direction), self._inner.calls(position, direction)
        )

    async def actions(self, span: SourceSpan) -> Sequence[OfferedAction]:
        return await self._record_answer("actions", (span,), self._inner.actions(span))

    async def action_changes(self, span: SourceSpan, title: str) -> ActionChanges:
        return await self._record_answer(
            "action_changes", (span, title), self._inner.action_changes(span, title)
        )

    async def problems(self, path: str) -> Sequence[FileProblems]:
        return await self._record_answer("problems", (path,), self._inner.problems(path))

    async def _record_answer(self, what: str, given: Sequence[Any], answer: Awaitable[T]) -> T:
        try:
            return _record_note(self._recording, what, given, await answer)
        except EnvError as error:
            _record_note(self._recording, what, given, error)
            raise


def _record_note(recording: RecordingWriter, what: str, given: Sequence[Any], answer: T) -> T:
    recording.write({"place": what, "given": to_json_value(list(given)), "answer": to_json_value(answer)})
    return answer
