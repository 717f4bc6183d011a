"""The recordings of this process's sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.loop.calls.redaction import Known
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.services.permissions.trust import TrustState
from agent_ls.services.settings.model import Settings
from agent_ls.store.log import Header

if TYPE_CHECKING:
    from agent_ls.features.recording.recorders import RecordingWriter


class SessionRecordings:
    """Starts and closes recordings.

    `first` is the file for the first new session, which is recorded even if the settings record no session;
    None: the settings decide.
    """

    def __init__(self, folder: Path, secrets: Known, first: Path | None) -> None:
        self._folder = folder
        self._secrets = secrets
        self._first = first
        self._running: dict[str, RecordingWriter] = {}

    async def start(
        self,
        header: Header,
        mode: Mode,
        review: ReviewSetting,
        settings: Settings,
        trust: Callable[[], TrustState],
        folders: Sequence[str],
        tools: Mapping[str, object],
    ) -> None:
        """Start the session's recording, if one is configured. `tools` are the properties of the folder and the
        machine that determine which tools the session has.

        Raises:
            OSError: the file exists, or cannot be created.
        """
        path, self._first = self._first, None
        if path is None and settings.record:
            path = self._folder / f"{header.session_id}.jsonl"
        if path is None:
            return
        # Imported here, because few sessions are recorded.
        from agent_ls.features.recording.recorders import create_recording

        kept = settings.model_dump(mode="json", by_alias=True, exclude={"providers", "record"})
        facts = {
            "mode": mode,
            "review": review,
            "settings": kept,
            "trust": await anyio.to_thread.run_sync(trust),
            "folders": list(folders),
            **tools,
        }
        recording = partial(create_recording, path, header, facts, self._secrets)
        self._running[header.session_id] = await anyio.to_thread.run_sync(recording)

    def find(self, session_id: str) -> RecordingWriter | None:
        return self._running.get(session_id)

    def close(self, session_id: str) -> None:
        if recording := self._running.pop(session_id, None):
            recording.close()
