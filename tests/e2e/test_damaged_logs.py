"""A damaged log: after any damage by a disk, an editor or a sync program, all protocol messages stay valid."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.loopback import AnthropicServer
from tests.support.served import Served, served

pytestmark = pytest.mark.req("R3", "R5", "H3")

Damage = dict[str, Callable[[list[bytes], int], None]]


def replaced(line: bytes, **fields: Any) -> bytes:
    """Return the event of this line with other members."""
    event = json.loads(line)["event"]
    return json.dumps({"event": event | fields}, separators=(",", ":")).encode()


def set_line(make: Callable[[bytes], bytes]) -> Callable[[list[bytes], int], None]:
    def damage(lines: list[bytes], at: int) -> None:
        lines[at] = make(lines[at])

    return damage


def tear(lines: list[bytes], at: int) -> None:
    lines[at : at + 2] = [lines[at][: len(lines[at]) // 2] + lines[at + 1]]


def convert_line_ends(lines: list[bytes], at: int) -> None:
    lines[:] = [line + b"\r" for line in lines]


DAMAGES: Damage = {
    "a byte of the text is 0xfd": set_line(lambda line: line[:-10] + b"\xfd" + line[-9:]),
    "a lone surrogate in UTF-8": set_line(lambda line: line[:-10] + b"\xed\xa0\x80" + line[-9:]),
    "a NUL in the text": set_line(lambda line: line[:-10] + b"\0" + line[-9:]),
    "a block of NUL": set_line(lambda line: b"\0" * len(line)),
    "a torn line and another behind it": tear,
    "a cut end": set_line(lambda line: line[:-3]),
    "a member without its end": set_line(lambda line: line.replace(b'","', b",", 1)),
    "NaN": set_line(lambda line: line.replace(b'"data":{', b'"data":{"x":NaN,')),
    "data that is a list": set_line(lambda line: replaced(line, data=[])),
    "data without its members": set_line(lambda line: replaced(line, data={})),
    "data of another type": set_line(lambda line: replaced(line, data={"text": 7, "partId": []})),
    "a kind that is a number": set_line(lambda line: replaced(line, kind=7)),
    "a number that is a text": set_line(lambda line: replaced(line, seq="7")),
    "a number that is too high": set_line(lambda line: replaced(line, seq=999_999_999)),
    "a number that is too low": set_line(lambda line: replaced(line, seq=1)),
    "a number below zero": set_line(lambda line: replaced(line, seq=-3)),
    "another session": set_line(lambda line: replaced(line, sessionId="s-0000000000000000")),
    "a session that is a number": set_line(lambda line: replaced(line, sessionId=7)),
    "no timestamp": set_line(lambda line: replaced(line, timestamp=None)),
    "an event that is a text": set_line(lambda line: b'{"event":"hello"}'),
    "an event that is null": set_line(lambda line: b'{"event":null}'),
    "two lines that are lost": lambda lines, at: lines.__delitem__(slice(at, at + 2)),
    "other line ends": convert_line_ends,
}
STEP = 1 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 3
"""Only every third damage is tried, unless the whole sweep is requested."""


async def stored_session(found: Served) -> str:
    """Return a closed session of two turns."""
    session_id = await found.editor.new_session(provider="anthropic")
    for text in ("One?", "Two?"):
        await found.editor.say(session_id, text)
    await found.change("closeSession", session_id)
    await found.client.request("agent/unsubscribe", {"sessionId": session_id})
    return session_id


def damaged(log: Path, damage: Callable[[list[bytes], int], None], nth: int) -> None:
    """Damage the line of the nth text end in the log; -1 is the last one."""
    lines = log.read_bytes().split(b"\n")[:-1]
    events = [at for at, line in enumerate(lines) if line.startswith(b'{"event":') and b"text_end" in line]
    damage(lines, events[nth])
    log.write_bytes(b"\n".join(lines) + b"\n")


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*DAMAGES][::STEP])
async def test_a_client_gets_no_damaged_log_line_and_no_gap_in_the_event_numbers(
    name: str, tmp_path: Path
) -> None:
    with AnthropicServer(["First answer.", "Second answer.", "Third answer."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await stored_session(found)
            damaged(found.folder(session_id) / "log.jsonl", DAMAGES[name], 0)
            # The client parses strictly and validates each event against the schema.
            answer = await found.editor.subscribe(session_id)
            assert [event["seq"] for event in answer["events"]] == list(range(1, answer["lastSeq"] + 1))
            assert {event["sessionId"] for event in answer["events"]} == {session_id}
            said = [e["data"]["text"] for e in answer["events"] if e["kind"] == "assistant_text_end"]
            assert said[-1] == "Second answer."
            warnings = [e["data"] for e in answer["events"] if e["kind"] == "warning"]
            # Missing lines and other line ends do not count as damaged lines.
            if name not in ("two lines that are lost", "other line ends"):
                assert [(it["code"], "1 line" in it["message"]) for it in warnings] == [("damaged_log", True)]
            await found.editor.say(session_id, "Three?")
            exported = await found.ask("export", session_id, format="jsonl")
            numbers = [json.loads(line)["seq"] for line in exported["text"].splitlines()]
            assert numbers == sorted(set(numbers))
            assert "Third answer." in exported["text"]
            (listed,) = (await found.client.request("agent/sessions"))["sessions"]
            assert listed["id"] == session_id
            # The damage is reported once, however often the session is opened.
            await found.change("closeSession", session_id)
            again = await found.editor.subscribe(session_id)
            assert len([e for e in again["events"] if e["data"].get("code") == "damaged_log"]) == len(
                warnings
            )
            fork = await found.change("fork", session_id)
            assert fork["session"]["id"] != session_id


@pytest.mark.parametrize("since", [0, 5, 10])
async def test_subscribing_to_a_damaged_session_from_any_event_returns_the_rest_without_a_gap(
    since: int, tmp_path: Path
) -> None:
    with AnthropicServer(["First answer.", "Second answer."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await stored_session(found)
            log = found.folder(session_id) / "log.jsonl"
            damaged(log, DAMAGES["a byte of the text is 0xfd"], 0)
            damaged(log, DAMAGES["a number that is too high"], -1)
            answer = await found.editor.subscribe(session_id, since)
            assert [e["seq"] for e in answer["events"]] == list(range(since + 1, answer["lastSeq"] + 1))


async def test_a_follower_of_a_damaged_session_sends_only_valid_events(tmp_path: Path) -> None:
    with AnthropicServer(["First answer.", "Second answer."]) as provider:
        async with (
            served(tmp_path, provider=provider) as found,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await stored_session(found)
            log = found.folder(session_id) / "log.jsonl"
            damaged(log, DAMAGES["data of another type"], -1)
            damaged(log, DAMAGES["a lone surrogate in UTF-8"], 0)
            await found.editor.subscribe(session_id)
            answer = await second.editor.subscribe(session_id)
            assert answer["session"]["access"] == "readOnly"
            assert [e["seq"] for e in answer["events"]] == list(range(1, answer["lastSeq"] + 1))
