"""ADAPTER Recorder: a session is written to its log, whole outputs beside it as files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from agent_ls.llm.messages import ImagePart, JsonValue, ToolResultPart
from agent_ls.loop.emission import output_part
from agent_ls.loop.events import AssistantTextEnd, Envelope, ProcessingEnd, ReasoningEnd, Title, ToolCallEnd
from agent_ls.loop.prefix import Prefix
from agent_ls.loop.turns import Turn
from agent_ls.store.errors import UnknownOutputError
from agent_ls.store.journal import Intent, Review, Standing, Written
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS, SessionLog, event_record, make_private_folder, record
from agent_ls.store.records import images_to_json, prefix_to_json, result_to_json, turn_to_json

LATEST_KINDS = frozenset(("usage", "plan"))
"""Of these events only the newest counts; who comes late is told it without a look through the log."""

OUTPUT_MAX_BYTES = 64 * 1024 * 1024  # E3: of a larger one, head and tail

_OUTPUT_REF = re.compile(r"[0-9a-f]{16}")


class StoreRecorder:
    """Writes to `log`; outputs go to `folder`. A failing disk goes to `on_failure` (as SessionLog's does).

    `latest` has the newest event of each of LATEST_KINDS, encoded.
    """

    def __init__(
        self,
        log: SessionLog,
        folder: Path,
        on_failure: Callable[[OSError], None],
        latest: Mapping[str, bytes] = MappingProxyType({}),
        title_file: Path | None = None,
    ) -> None:
        """`title_file` gets the newest title: lists of sessions look no further."""
        self.latest = dict(latest)
        self.also: Callable[[bytes], object] = lambda encoded: None
        """Is given each event too, once it is in the log. Must not raise."""
        self.on_shown: Callable[[str, str], object] = lambda path, digest: None
        """Is told what `shown` is. Must not raise."""
        self._log = log
        self._folder = folder
        self._title_file = title_file
        self._on_failure = on_failure
        self._partial_lengths: dict[str, int] = {}

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        self._log.append(event_record(encoded))
        self.also(encoded)
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
                keep_title(self._title_file, self._log.clean(title))
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
        """Only what is new since the last time is written: a log grows with what is said, not with its square."""
        offset = self._partial_lengths.get(part_id, 0)
        self._partial_lengths[part_id] = len(text)
        self._log.append(record("partial", {"partId": part_id, "offset": offset, "text": text[offset:]}))

    def result(self, call_id: str, result: ToolResultPart) -> None:
        self._log.append(record("result", {"callId": call_id, "part": result_to_json(result)}))

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        self._log.append(record("images", {"id": message_id, "images": images_to_json(images)}))

    def shown(self, path: str, digest: str) -> None:
        self._log.append(record("shown", {"path": path, "digest": digest}))
        self.on_shown(path, digest)

    def known(self, path: str, digest: str) -> None:
        """The model was told that a file which it has seen is another now: it has this content."""
        self._log.append(record("known", {"path": path, "digest": digest}))

    def config(self, settings: Mapping[str, JsonValue]) -> None:
        """Settings of the session as its face knows them; a resume gets the last of each name."""
        self._log.append(record("config", settings))

    def intents(self, intents: Sequence[Intent]) -> None:
        """Files that are about to be written: said before, so that a kill in between loses no hunk."""
        self._log.append(*(record("intent", intent.to_json()) for intent in intents))

    def review(self, review: Review) -> None:
        """What a call proposes: said before it is shown, so that a resume can go on waiting for the verdicts."""
        self._log.append(record("review", review.to_json()))

    def changes(self, changes: Sequence[Written]) -> None:
        """Files that were written: what a roll back goes by."""
        self._log.append(*(record("change", change.to_json()) for change in changes))

    def ledger(self, standing: Standing) -> None:
        """Where the session's hunks of a file stand now; a resume goes by the last of each path."""
        self._log.append(record("ledger", standing.to_json()))

    def notice(self, text: str) -> None:
        """What waits to be told to the model; it is told once a steering turn of source `review` holds it."""
        self._log.append(record("notice", text))

    def output(self, call_id: str, text: str) -> str:
        """The reference to read it by, "" when it could not be kept."""
        ref = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:16]
        data = self._log.clean(text).encode("utf-8", "replace")
        if len(data) > OUTPUT_MAX_BYTES:
            half = OUTPUT_MAX_BYTES // 2
            marker = f"\n[... {len(data) - 2 * half} bytes ...]\n".encode()
            data = data[:half] + marker + data[-half:]
        try:
            make_private_folder(self._folder)
            descriptor = os.open(
                output_path(self._folder, ref), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS, FILE_MODE
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError as error:
            self._on_failure(error)
            return ""
        return ref

    async def sync(self) -> None:
        await self._log.sync()

    def close(self) -> None:
        self._log.close()


def keep_title(path: Path, title: str) -> None:
    """Whole or not at all.

    Raises:
        OSError.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(title.encode("utf-8", "replace"))
    part.replace(path)


def output_path(folder: Path, output_ref: str) -> Path:
    """
    Raises:
        UnknownOutputError: no reference that was ever given out.
    """
    if not _OUTPUT_REF.fullmatch(output_ref):
        raise UnknownOutputError(output_ref)
    return folder / f"{output_ref}.txt"


def read_output(folder: Path, output_ref: str, offset: int, limit: int) -> bytes:
    """`limit` bytes of a kept output from byte `offset` on.

    Raises:
        UnknownOutputError.
    """
    try:
        with output_path(folder, output_ref).open("rb") as file:
            file.seek(max(offset, 0))
            return file.read(max(limit, 0))
    except FileNotFoundError:
        raise UnknownOutputError(output_ref) from None
