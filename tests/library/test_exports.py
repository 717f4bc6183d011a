"""A program exports its session as text, and the command line finds the sessions of a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import agent_ls
from agent_ls.sessions.stored.archive import ExportFormat
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text
from tests.support.wire_schema import misfit, schema, whole

pytestmark = pytest.mark.req("H13")

BEGINS = {"markdown": "# go\n", "html": "<!DOCTYPE html>", "trailers": "Agent-Session: "}


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
async def test_a_session_is_exported_in_each_format(stored: bool, tmp_path: Path) -> None:
    model = FakeProvider([call("write_file", file_path="made", content="x\n"), text("Done.")])
    given = options(tmp_path, model, mode="edits") | ({} if stored else {"stored": False, "state_dir": None})
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        found = {name: await session.export(name) for name in get_args(ExportFormat)}
        assert await session.export() == found["markdown"]
        wrong: Any = "pdf"
        with pytest.raises(agent_ls.AppError):
            await session.export(wrong)
        with pytest.raises(agent_ls.AppError):
            await session.export("jsonl", redact=True)
    assert all(found[name].startswith(begin) for name, begin in BEGINS.items())
    assert "made" in found["report"] and "Done." in found["markdown"]
    events = [json.loads(line) for line in found["jsonl"].splitlines()]
    assert [it["seq"] for it in events] == [*range(1, len(events) + 1)]


@pytest.mark.parametrize("redact", [True, False])
async def test_a_redacted_export_has_no_mail_addresses(redact: bool, tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("Write to ada.lovelace@mail.org.")]))
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        exported = await session.export(redact=redact)
    assert ("ada.lovelace@mail.org" in exported) is not redact


async def test_the_command_line_finds_the_sessions_of_a_program_in_its_state_folder(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("Done.")]))) as session:
        await session.ask("go")
        exported = await session.export()

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agent_ls", "sessions", "export", session.id]
        return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)

    found = run(AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    assert found.returncode == 0 and "Done." in found.stdout and session.id in exported
    lost = run(AGENT_LS_STATE_DIR=str(tmp_path / "other"))
    assert lost.returncode != 0 and "AGENT_LS_STATE_DIR" in lost.stderr


async def test_events_of_a_program_and_of_an_export_fit_the_published_schema(tmp_path: Path) -> None:
    model = FakeProvider([call("write_file", file_path="made", content="x\n"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, mode="edits", trusted=True)) as session:
        read = session.events(since=0)
        (turn,) = {event.turn_id for event in [it async for it in session.run("go")] if event.turn_id}
        await session.review("undo")
        await session.roll_back(turn)
        exported = [json.loads(line) for line in (await session.export("jsonl")).splitlines()]
    events = [event.as_json() async for event in read]
    published = whole(schema()["printedEvent"])
    assert {"file_change", "hunk_state", "reverted"} <= {event["kind"] for event in exported}
    assert [found for event in (*events, *exported) if (found := misfit(event, published))] == []
