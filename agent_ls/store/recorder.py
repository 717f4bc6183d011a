"""The recorder of a stored session: writes the log, and complete outputs to files next to it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from agent_ls.llm.messages import ImagePart, JsonValue, ToolResultPart
from agent_ls.long_texts import run_for_text
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.emission import output_part
from agent_ls.loop.events.codec import camel_json
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    Envelope,
    ProcessingEnd,
    ReasoningEnd,
    Title,
    ToolCallEnd,
)
from agent_ls.loop.turns import Turn
from agent_ls.patterns import regex
from agent_ls.store.errors import UnknownOutputError
from agent_ls.store.journal import HunkPositions, Intent, ProposalRecord, RecordedWrite
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS, SessionLog, event_record, make_private_folder, record
from agent_ls.store.records import part_to_json, prefix_to_json, turn_to_json
from agent_ls.system import replace_file

LATEST_KINDS = frozenset(("usage", "plan"))
"""Kinds of events of which only the newest matters. The recorder keeps that event in memory, so that late
subscribers get it without reading the log.
"""

OUTPUT_MAX_BYTES = 64 * 1024 * 1024  # only the start and the end of a larger output are stored

_OUTPUT_REF = regex(r"[0-9a-f]{16}")


class StoreRecorder:
    """Writes records to `log` and complete outputs to files in `folder`. Disk errors are reported to
    `on_failure`. Implements Recorder.

    `latest` has the newest encoded event of each kind in LATEST_KINDS.
    """

    def __init__(
        self,
        log: SessionLog,
        folder: Path,
        on_failure: Callable[[OSError], None],
        latest: Mapping[str, bytes] = MappingProxyType({}),
        title_file: Path | None = None,
    ) -> None:
        """Create a recorder. The newest title is also written to `title_file`, so that lists of sessions need
        not read the log.
        """
        self.latest = dict(latest)
        self.observers: list[Callable[[bytes], object]] = []
        """Functions called with each encoded event after it was written to the log. They must not raise."""
        self.on_read: Callable[[str, str], object] = lambda path, digest: None
        """Called by `record_read` with its arguments: a file's path and its content's digest. Must not raise."""
        self._log = log
        self._folder = folder
        self._title_file = title_file
        self._on_failure = on_failure
        self._partial_lengths: dict[str, int] = {}

    @property
    def problem(self) -> str:
        """The reason why the last lines could not be written to the log, "" if they were written."""
        return self._log.problem

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        self._log.append(event_record(encoded))
        for observe in self.observers:
            observe(encoded)
        if envelope.kind in LATEST_KINDS and not envelope.agent_id:
            self.latest[envelope.kind] = encoded
        match envelope.event:
            case AssistantTextEnd(part_id=part_id) | ReasoningEnd(part_id=part_id):
                self._partial_lengths.pop(part_id, None)
            case ToolCallEnd(call_id=call_id):
                self._partial_lengths.pop(output_part(call_id), None)
            case ProcessingEnd():
                self._partial_lengths.clear()
            case Title(title=title):
                self._keep_title(title)
            case _:
                pass

    def _keep_title(self, title: str) -> None:
        if self._title_file:
            try:
                replace_file(self._title_file, self._log.clean(title).encode("utf-8", "replace"))
            except OSError as error:
                self._on_failure(error)

    def turn(self, turn: Turn) -> None:
        self._log.append(record("turn", turn_to_json(turn)))

    def agent_turn(self, agent_id: str, turn: Turn) -> None:
        self._log.append(record("agentTurn", {"agentId": agent_id, "turn": turn_to_json(turn)}))

    def prompt(self, system_prompt: str) -> None:
        self._log.append(record("prompt", system_prompt))

    def prefix(self, prefix: Prefix) -> None:
        self._log.append(record("prefix", prefix_to_json(prefix)))

    def partial(self, part_id: str, text: str) -> None:
        """Record `text`, the text of a part so far. Only the text since the last call is written."""
        offset = self._partial_lengths.get(part_id, 0)
        self._partial_lengths[part_id] = len(text)
        self._log.append(record("partial", {"partId": part_id, "offset": offset, "text": text[offset:]}))

    def result(self, call_id: str, result: ToolResultPart) -> None:
        self._log.append(record("result", {"callId": call_id, "part": part_to_json(result)}))

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        self._log.append(record("images", {"id": message_id, "images": list(map(part_to_json, images))}))

    def record_read(self, path: str, digest: str) -> None:
        self._log.append(record("shown", {"path": path, "digest": digest}))
        self.on_read(path, digest)

    def record_known(self, path: str, digest: str) -> None:
        """Record that the model was informed about a change of the file `path`. `digest` is the hash of the
        file's new content.
        """
        self._log.append(record("known", {"path": path, "digest": digest}))

    def config(self, settings: Mapping[str, JsonValue]) -> None:
        """Record settings of the session by name. A resume gets the last value of each setting."""
        self._log.append(record("config", settings))

    def intents(self, intents: Sequence[Intent]) -> None:
        """Record which files are about to be written. Called before the write, so that a resume finds the
        files that were changed before a crash, and their hunks.
        """
        self._log.append(*(record("intent", camel_json(intent)) for intent in intents))

    def review(self, review: ProposalRecord) -> None:
        """Record a call's proposal before it is displayed, so that a resume can continue to wait for the decisions."""
        self._log.append(record("review", camel_json(review)))

    def changes(self, changes: Sequence[RecordedWrite]) -> None:
        """Record files that were written, for a later revert."""
        self._log.append(*(record("change", camel_json(change)) for change in changes))

    def ledger(self, positions: HunkPositions) -> None:
        """Record the current positions of the session's hunks in a file. A resume uses the last record of each path."""
        self._log.append(record("ledger", positions.to_json()))

    def notice(self, text: str) -> None:
        """Record a notice for the model. The notice counts as delivered when a steering turn of source
        `review` has the same text.
        """
        self._log.append(record("notice", text))

    async def output(self, call_id: str, text: str, missing_bytes: int = 0) -> str:
        """Store a call's output, shortened to OUTPUT_MAX_BYTES. Return its reference, "" after a disk error.

        `missing_bytes` is the number of bytes by which the complete output is longer than `text`.
        """
        ref = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:16]
        try:
            await run_for_text(len(text), partial(self._write_output, ref, text, missing_bytes))
        except OSError as error:
            self._on_failure(error)
            return ""
        return ref

    def _write_output(self, ref: str, text: str, missing_bytes: int) -> None:
        data = self._log.clean(text).encode("utf-8", "replace")
        if len(data) > OUTPUT_MAX_BYTES:
            half = OUTPUT_MAX_BYTES // 2
            marker = f"\n[... {len(data) - 2 * half + missing_bytes} bytes ...]\n".encode()
            data = data[:half] + marker + data[-half:]
        make_private_folder(self._folder)
        descriptor = os.open(
            output_path(self._folder, ref), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS, FILE_MODE
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)

    async def sync(self) -> None:
        await self._log.sync()

    def close(self) -> None:
        self._log.close()


def output_path(folder: Path, output_ref: str) -> Path:
    """Return the path of a stored output.

    Raises:
        UnknownOutputError: the reference is invalid.
    """
    if not _OUTPUT_REF.fullmatch(output_ref):
        raise UnknownOutputError(output_ref)
    return folder / f"{output_ref}.txt"


def read_output(folder: Path, output_ref: str, offset: int, limit: int) -> bytes:
    """Return `limit` bytes of a stored output from byte `offset` on.

    Raises:
        UnknownOutputError: the output does not exist.
    """
    try:
        with output_path(folder, output_ref).open("rb") as file:
            file.seek(max(offset, 0))
            return file.read(max(limit, 0))
    except FileNotFoundError:
        raise UnknownOutputError(output_ref) from None
