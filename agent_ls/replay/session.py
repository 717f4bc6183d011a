"""Replay a recording: run the session in a scratch store, with the recorded answers of model and environment.

No network is used and no project file is changed. Each difference from the recording is reported. A file
change that differs from the recorded change is refused.
"""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    DirEntry,
    ExecResult,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import PathNotFoundError, UnsupportedError
from agent_ls.environments.instruction_names import is_looked_for
from agent_ls.environments.language_host import (
    ActionChanges,
    CallDirection,
    FileChanges,
    FileProblems,
    FoundCalls,
    FoundLocations,
    FoundSymbols,
    LanguageQuery,
    OfferedAction,
    SourcePosition,
    SourceSpan,
)
from agent_ls.features.recording.codec import to_json_value, value_of
from agent_ls.features.recording.recorders import FORMAT, conversation_messages
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent, StreamFinish
from agent_ls.loop.events.editor import EditNews
from agent_ls.patterns import regex
from agent_ls.replay.player import UserActionPlayer, extract_user_actions
from agent_ls.services.errors import AppError
from agent_ls.services.permissions.trust import Trusting
from agent_ls.services.settings.model import parse_settings
from agent_ls.sessions.host import ClientState, EditorServices, ProgramParts
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.tools.web_fetch import WebPage

T = TypeVar("T")

_OUR_ID = regex(r"\b[a-z]{1,4}-[0-9a-f]{16}\b")
# Fields that may differ in a correct replay: ids, times, and sizes of texts, which may contain other paths.
_VOLATILE = frozenset(
    (
        "id", "durationMs", "firstOutputMs", "timestamp", "clientKey", "digest", "link", "sessionId", "outputRef",
        "outputChars", "modelChars", "outputBytes", "changes", "contextTokens", "context", "calibration", "total",
        "totalCostUsd",
    )
)  # fmt: skip
_TRUSTING: Mapping[object, Trusting] = {"unknown": "asked", "restricted": "restricted"}
_SKIPPED = frozenset(
    # Kinds of events that are not compared. Queued messages are compared when the model gets them. The other
    # events can differ in a correct replay, for example because of timing.
    "title session_end state retry hunk_state queue queue_splice turn_facts steering_queued steering_removed "
    "terminal_waiting".split()
)


class BadRecordingError(AppError):
    kind = "bad_recording"
    is_usage = True


@dataclass(frozen=True, slots=True)
class Recording:
    """The content of a recording file. `events` are the session's events as JSON.

    `calls_before` lists, for each event, the number of model calls that had begun before it. `asked` (requests)
    and `said` (responses) contain one entry for each model call. `place` lists the calls to the environment
    with their results.
    """

    header: Mapping[str, Any]
    events: list[dict[str, Any]]
    calls_before: list[int]
    asked: list[dict[str, Any]]
    said: list[list[Any]]
    place: list[dict[str, Any]]


@dataclass
class ReplayResult:
    """The result of a replay. `differences` is empty if the replay matched the recording. `files` maps the path
    of each written file to its new content, None for a deleted file.
    """

    events: int = 0
    calls: int = 0
    files: dict[str, bytes | None] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)


def read_recording(path: Path) -> Recording:
    """Read a recording (blocking). A truncated last line is dropped.

    Raises:
        BadRecordingError: the file is not a recording, or a newer version wrote it.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
        header, *rest = [json.loads(line) for line in lines]
        if not isinstance(header["recording"], int) or header["recording"] > FORMAT:
            raise BadRecordingError(f"{path} was made by a newer version", "update agent-ls")
    except OSError as error:
        raise BadRecordingError(
            f"{path}: {error.strerror}", "give a file that was written by `agent-ls exec --record`"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise BadRecordingError(
            f"{path} is not a recording of agent-ls", "record a session with `agent-ls exec --record FILE`"
        ) from None
    found = Recording(header, [], [], [], [], [])
    for line in rest:
        if "event" in line:
            found.events.append(line["event"])
            found.calls_before.append(len(found.asked))
        elif "asked" in line:
            found.asked.append(line["asked"])
            found.said.append([])
        elif "said" in line and found.said:
            found.said[-1].append(line["said"])
        elif "place" in line:
            found.place.append(line)
    return found


async def replay(recording: Recording) -> ReplayResult:
    """Replay a recording.

    Raises:
        AppError: the session could not be created.
    """
    result = ReplayResult()
    header = recording.header
    settings, _ = parse_settings(_with_detected_packs(header))
    place = _RecordedEnvironment(recording, result)
    player = UserActionPlayer(
        extract_user_actions(list(zip(recording.calls_before, recording.events, strict=True)))
    )
    provider = str(header["provider"])
    with tempfile.TemporaryDirectory(prefix="agent-ls-replay-") as scratch:
        manager = SessionManager(
            settings=settings,
            credentials=Credentials(),
            state_dir=Path(scratch),
            editor=EditorServices(status=place, language=place),
            program=ProgramParts(
                adapters={provider: _Model(provider, recording, result, player)},
                environment=place,
                pages=place,
                confines=True,
            ),
            client=ClientState(
                trusting=_TRUSTING.get(header.get("trust"), "trusted"),
                folders=lambda: _string_list(header.get("folders")),
                notebooks=header.get("notebooks") is True,
            ),
        )
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            live = await manager.new_session(
                SessionSpec(
                    workspace_folder=place.working_directory(),
                    provider=provider,
                    model=str(header["model"]),
                    mode=header.get("mode"),
                    review=header.get("review"),
                )
            )
            await player.play(live)
            events = [json.loads(encoded) for encoded in live.events_since(0)]
            tasks.cancel_scope.cancel()
    result.events = len(events)
    result.differences += _compare_lanes(recording.events, events)
    return result


def _with_detected_packs(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded settings, extended by the tool packs that the recorded session detected in its folder.

    Replay cannot detect the packs, because it does not have the folder.
    """
    settings = dict(header.get("settings", {}))
    if detected := _string_list(header.get("packs")):
        packs = dict(settings.get("toolPacks", {}))
        packs["packs"] = [*_string_list(packs.get("packs")), *detected]
        settings["toolPacks"] = packs
    return settings


def _string_list(value: object) -> Sequence[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class _Model:
    """A ProviderAdapter that returns the recorded answers in order, and reports requests that differ."""

    def __init__(
        self, name: str, recording: Recording, result: ReplayResult, player: UserActionPlayer
    ) -> None:
        self._name = name
        self._recording = recording
        self._result = result
        self._player = player
        self._messages: list[Any] = []

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        said: Any = None
        for raw in self._read_next(request):
            said = value_of(raw)
            if isinstance(said, Exception):
                raise said
            await anyio.lowlevel.checkpoint()
            yield said
        if not isinstance(said, StreamFinish) and self._player.stop_as_recorded(self._result.calls):
            await anyio.sleep_forever()

    async def complete(self, request: Request) -> Response:
        (raw,) = self._read_next(request)
        said = value_of(raw)
        if isinstance(said, Exception):
            raise said
        assert isinstance(said, Response)
        return said

    async def close(self) -> None:
        return None

    def _read_next(self, request: Request) -> Sequence[Any]:
        number, self._result.calls = self._result.calls, self._result.calls + 1
        if number >= len(self._recording.asked):
            self._result.differences.append(f"the recording has no model call {number + 1}")
            raise ConfigurationError("the recording has no further model calls", provider=self._name)
        self._player.call_begins(number + 1)
        asked = self._recording.asked[number]
        self._messages = [*self._messages[: asked["from"]], *asked["messages"]]
        now = conversation_messages(request.messages)
        if (place := _first_difference(self._messages, now)) is not None:
            self._result.differences.append(
                f"model call {number + 1}: message {place + 1} is now {_truncate(now, place)}, but was "
                f"{_truncate(self._messages, place)} in the recording"
            )
        return self._recording.said[number]


class _RecordedEnvironment:
    """An ExecutionEnvironment, WebFetcher, EditorStatus and LanguageHost that returns the recorded answers.

    Repeated calls with the same arguments get the recorded answers in order, and after the last one the last
    answer again.
    """

    def __init__(self, recording: Recording, result: ReplayResult) -> None:
        self._root = str(recording.header["workspaceFolder"])
        self._result = result
        self._answers: dict[str, deque[Any]] = {}
        for line in recording.place:
            # Decode and encode the arguments again, so that fields added after the recording get their
            # defaults.
            key = _key(line["place"], to_json_value(value_of(line["given"])))
            self._answers.setdefault(key, deque()).append(line["answer"])

    async def initialize(self) -> None:
        return None

    async def cleanup(self) -> None:
        return None

    def working_directory(self) -> str:
        return self._root

    def platform(self) -> str:
        return self._answer(str, "platform")

    def os_version(self) -> str:
        return self._answer(str, "os_version")

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        return self._look(bytes, "read_bytes", path, max_bytes)

    async def file_exists(self, path: str) -> bool:
        # Paths without a recorded answer count as missing. The replay checks such paths if the replayed folder
        # has more parent folders than the recorded one.
        answers = self._answers.get(_key("file_exists", [path]))
        return bool(answers and (answers.popleft() if len(answers) > 1 else answers[0]))

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        return self._look(tuple, "list_directory", path, depth)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        states: Sequence[FileState] = self._answer(tuple, "commit", list(writes))
        self._result.files |= {state.path: state.after for state in states}
        return states

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        result = self._answer(ExecResult, "exec_command", command, options.working_dir)
        if on_output and result.output:
            on_output("stdout", result.output)
        return result

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        return self._answer(ProcessInfo, "start_process", command)

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return self._answer(tuple, "list_processes")

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        text, end = self._answer(tuple, "read_process", process_id, offset)
        return text, end

    async def wait_process(self, process_id: str) -> ProcessInfo:
        return self._answer(ProcessInfo, "wait_process", process_id)

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        return self._answer(ProcessInfo, "write_process", process_id, text)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        return self._answer(ProcessInfo, "kill_process", process_id)

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        return self._answer(GrepResult, "grep", pattern, path, options)

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        return self._answer(tuple, "glob", pattern, path)

    def private_address(self, url: str) -> str:
        return self._answer(str, "private_address", url)

    async def fetch(self, url: str, private_address: str) -> WebPage:
        return self._answer(WebPage, "fetch", url, private_address)

    def situation(self, shown: Callable[[str], str]) -> str:
        return self._answer(str, "situation") if self._is_known("situation") else ""

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        async def news() -> EditNews:
            given = list(paths)
            known = self._is_known("edit_news", given)
            return self._answer(EditNews, "edit_news", given) if known else EditNews()

        return news

    def supported_queries(self) -> frozenset[LanguageQuery]:
        return frozenset(self._answer(tuple, "answers") if self._is_known("answers") else ())

    async def definition(self, position: SourcePosition) -> FoundLocations:
        return self._answer(FoundLocations, "definition", position)

    async def references(self, position: SourcePosition) -> FoundLocations:
        return self._answer(FoundLocations, "references", position)

    async def symbols_of(self, path: str) -> FoundSymbols:
        return self._answer(FoundSymbols, "symbols_of", path)

    async def symbols_named(self, query: str) -> FoundSymbols:
        return self._answer(FoundSymbols, "symbols_named", query)

    async def rename(self, position: SourcePosition, new_name: str) -> Sequence[FileChanges]:
        return self._answer(tuple, "rename", position, new_name)

    async def hover(self, position: SourcePosition) -> Sequence[str]:
        return self._answer(tuple, "hover", position)

    async def implementations(self, position: SourcePosition) -> FoundLocations:
        return self._answer(FoundLocations, "implementations", position)

    async def calls(self, position: SourcePosition, direction: CallDirection) -> FoundCalls:
        return self._answer(FoundCalls, "calls", position, direction)

    async def actions(self, span: SourceSpan) -> Sequence[OfferedAction]:
        return self._answer(tuple, "actions", span)

    async def action_changes(self, span: SourceSpan, title: str) -> ActionChanges:
        return self._answer(ActionChanges, "action_changes", span, title)

    async def problems(self, path: str) -> Sequence[FileProblems]:
        return self._answer(tuple, "problems", path)

    def _is_known(self, what: str, *given: Any) -> bool:
        """Return whether the recording contains an answer to a call of the method `what` with the arguments
        `given`.

        A recording without an editor has no answers to calls that need an editor.
        """
        return _key(what, to_json_value(list(given))) in self._answers

    def _look(self, expected: type[T], what: str, path: str, limit: int) -> T:
        # The version that made the recording may not have looked for this file.
        if is_looked_for(path) and not self._is_known(what, path, limit):
            raise PathNotFoundError(path)
        return self._answer(expected, what, path, limit)

    def _answer(self, expected: type[T], what: str, *given: Any) -> T:
        waiting = self._answers.get(_key(what, to_json_value(list(given))))
        if not waiting:
            words = f"{what} {json.dumps(to_json_value(list(given)), ensure_ascii=False)[:200]}"
            self._result.differences.append(f"not recorded: {words}")
            raise UnsupportedError(f"the recording has no answer to {words}")
        # The last answer is repeated, because the replay may read a folder more often than the recorded
        # session.
        answer = value_of(waiting.popleft() if len(waiting) > 1 or what == "commit" else waiting[0])
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, expected):
            raise UnsupportedError(
                f"the recording is damaged: its answer to {what} is no {expected.__name__}"
            )
        return answer


def _key(what: str, given: Any) -> str:
    return f"{what} {json.dumps(given, ensure_ascii=False, sort_keys=True)}"


def _compare_lanes(recorded: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the first difference between `recorded` and `now` for each tool call, and for all events outside
    of tool calls.

    Each of these groups is compared on its own, because the order between calls may differ.
    """
    then_lanes, now_lanes = _lanes(recorded), _lanes(now)
    found = []
    for lane in dict.fromkeys((*then_lanes, *now_lanes)):
        then = then_lanes.get(lane, [])
        this = _without_new_fields(now_lanes.get(lane, []), then)
        if (place := _first_difference(then, this)) is not None:
            name = f"call {lane}" if lane else "the session"
            found.append(
                f"{name}, event {place + 1}: is now {_truncate(this, place)}, but was {_truncate(then, place)} "
                "in the recording"
            )
    return found


def _lanes(events: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    commands = {it["data"]["callId"] for it in events if it["kind"] == "terminal_open"}
    names: dict[str, str] = {}
    lanes: dict[str, list[Any]] = {}
    for event in events:
        call_id = str(event["data"].get("callId", ""))
        # Skip warnings about the machine's sandbox and programs, because replay may run on another machine.
        if event["data"].get("code") in ("sandbox", "bad_tools"):
            continue
        # File changes of commands are detected on a disk, which replay does not have.
        if event["kind"] in _SKIPPED or (event["kind"] == "file_change" and call_id in commands):
            continue
        # The estimate of a call that was cut depends on the length of paths, and so do the totals after it.
        if event["data"].get("estimated"):
            continue
        lanes.setdefault(call_id, []).append([event["kind"], _remove_volatile(event["data"], names)])
    return lanes


def _remove_volatile(value: Any, names: dict[str, str]) -> Any:
    """Remove fields that differ in every run, and replace generated ids by numbers in order of appearance."""
    if isinstance(value, Mapping):
        return {key: _remove_volatile(it, names) for key, it in value.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [_remove_volatile(it, names) for it in value]
    if isinstance(value, str):
        return _OUR_ID.sub(lambda found: names.setdefault(found[0], f"#{len(names)}"), value)
    return value


def _first_difference(then: Sequence[Any], now: Sequence[Any]) -> int | None:
    for place in range(max(len(then), len(now))):
        if then[place : place + 1] != now[place : place + 1]:
            return place
    return None


def _without_new_fields(now: Sequence[Any], then: Sequence[Any]) -> list[Any]:
    """Return events without the fields that their kinds got after the recording."""
    kept = [
        [kind, _without_new_keys(data, then_data) if kind == then_kind else data]
        for (kind, data), (then_kind, then_data) in zip(now, then, strict=False)
    ]
    return [*kept, *now[len(kept) :]]


def _without_new_keys(now: Any, then: Any) -> Any:
    if isinstance(now, Mapping) and isinstance(then, Mapping):
        return {key: _without_new_keys(it, then[key]) for key, it in now.items() if key in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [_without_new_keys(*pair) for pair in zip(now, then, strict=True)]
    return now


def _truncate(items: Sequence[Any], place: int) -> str:
    if place >= len(items):
        return "missing"
    words = json.dumps(items[place], ensure_ascii=False)
    return words if len(words) <= 300 else f"{words[:300]}…"
