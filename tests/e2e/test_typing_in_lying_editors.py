"""The user types in the lines of an edit while the editor reports false results: no text is lost and no
result is wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from tests.e2e.unreliable_editor import Buffer, UnreliableEditor, is_user_mark, manners_of
from tests.support.framed_client import is_event, server_process
from tests.support.loopback import AnthropicServer, ToolCall

RUNS = 1_000 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 40
AT_ONCE = 40

OLD_MARKS, NEW_MARKS = 0x3041, 0x3100
"""The first characters of two ranges. Each line of the file, and each line that the agent writes, has a unique
character.
"""
LINES = 12
TEXT = "".join(f"line {number} {chr(OLD_MARKS + number)} of the file\n" for number in range(LINES))

NOT_KNOWN = ("may have applied", "in time")
"""Words in a result that leaves open whether the edit was applied."""


@dataclass(frozen=True)
class Change:
    """An edit of the agent, and the unique characters that it adds and removes."""

    call: ToolCall
    added: frozenset[str]
    removed: frozenset[str]


def change_of(random: Random, name: str) -> Change:
    lines = TEXT.splitlines(keepends=True)
    places = random.sample(range(LINES), random.choice((1, 1, 2, 4)))
    added, removed = set(), set()
    for number in sorted(places, reverse=True):
        mark = chr(NEW_MARKS + number)
        what = random.choice(("replace", "insert", "delete", "add words"))
        if what == "delete" and len(places) > 1:
            lines[number] = ""
            removed.add(chr(OLD_MARKS + number))
        elif what == "insert":
            lines.insert(number, f"a new line {mark}\n")
            added.add(mark)
        elif what == "add words":
            lines[number] = lines[number].replace(" of the", f" {mark} of the")
            added.add(mark)
        else:
            lines[number] = f"wholly other {mark} here\n"
            added.add(mark)
            removed.add(chr(OLD_MARKS + number))
    call = ToolCall("write_file", {"file_path": name, "content": "".join(lines)})
    if len(places) == 1:
        (number,) = places
        old = TEXT.splitlines(keepends=True)
        end = len(lines) - (LINES - number - 1)
        arguments = {"old_string": old[number], "new_string": "".join(lines[number:end])}
        call = ToolCall("edit_file", {"file_path": name, **arguments})
    return Change(call, frozenset(added), frozenset(removed))


def answer(seeds: Mapping[str, Change], body: Mapping[str, Any]) -> Any:
    name = next(iter(re.findall(r"edit (\w+\.txt)", str(body["messages"]))))
    match sum(message["role"] == "assistant" for message in body["messages"]):
        case 0:
            return [ToolCall("read_file", {"file_path": name})]
        case 1:
            return [seeds[name].call]
        case _:
            return "done"


def problems(
    buffer: Buffer, change: Change, result: Mapping[str, Any], hunks: list[dict[str, Any]]
) -> list[str]:
    """Return a sentence for each lost text and each false result."""
    text, output = buffer.text, result["output"]
    found = [f"lost: {char}" for char in sorted(buffer.typed) if char not in text]
    if not buffer.was_doubled:
        found += [f"{char} is there twice" for char in sorted(buffer.typed) if text.count(char) > 1]
        found += [f"{mark} is there twice" for mark in change.added if text.count(mark) > 1]
    is_unknown = any(words in output for words in NOT_KNOWN)
    if not result["isError"]:
        found += [f"{mark} is not in the text" for mark in change.added if mark not in text]
        found += [f"{mark} is still in the text" for mark in change.removed if mark in text]
        excerpt = [line.split(" | ", 1)[1] for line in output.splitlines() if re.match(r" *\d+ \| ", line)]
        shown = "\n".join(excerpt)
        found += [] if any(shown in it for it in buffer.history) else [f"an excerpt of no text: {shown}"]
    elif not is_unknown:
        found += [f"{mark} is in the text" for mark in change.added if mark in text]
    if result["isError"] and hunks:
        found.append(f"hunks of an edit that failed: {hunks}")
    lines = text.splitlines(keepends=True)
    for hunk in hunks:
        own = "".join(hunk["newLines"])
        if hunk["state"] == "pending" and any(map(is_user_mark, own)):
            found.append(f"the user's text in a pending hunk: {own}")
        if lines[slice(*hunk["newRange"])] != hunk["newLines"]:
            found.append(f"a hunk at a wrong place: {hunk}")
    return found


@pytest.mark.req("H4", "H6", "R5")
@pytest.mark.sweep
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, RUNS, AT_ONCE))
async def test_typing_while_the_editor_reports_false_edit_results_loses_no_text_and_gives_true_results(
    tmp_path: Path, first: int
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    seeds = range(first, first + AT_ONCE)
    changes = {f"f{seed}.txt": change_of(Random(seed), f"f{seed}.txt") for seed in seeds}
    failures: dict[str, list[str]] = {}
    env = {"AGENT_LS_STATE_DIR": str(tmp_path / "state"), "ANTHROPIC_API_KEY": "sk-test-loopback"}
    with AnthropicServer(partial(answer, changes)) as provider:
        env["ANTHROPIC_BASE_URL"] = provider.base_url
        async with server_process(env=env) as server, anyio.create_task_group() as tasks:
            editor = UnreliableEditor(server.client)
            await editor.start(folder)
            tasks.start_soon(editor.do_as_asked)

            async def run(seed: int) -> None:
                name = f"f{seed}.txt"
                (folder / name).write_text(TEXT)
                random = Random(f"editor {seed}")
                buffer = await editor.show((folder / name).as_uri(), TEXT, random, manners_of(random))
                session_id = await editor.new_session(provider="anthropic", mode="edits")
                await editor.submit(session_id, f"edit {name}")
                ended = await server.client.wait_for(
                    lambda m: (
                        is_event("tool_call_end")(m)
                        and m["params"]["sessionId"] == session_id
                        and m["params"]["data"]["name"] != "read_file"
                    ),
                    deadline_s=120,
                )
                async with buffer.busy:
                    asked = {"sessionId": session_id}
                    files = (await server.client.request("agent/hunks", asked))["files"]
                hunks = [hunk for file in files for hunk in file["hunks"]]
                result = ended["params"]["data"]
                if found := problems(buffer, changes[name], result, hunks):
                    failures[name] = [*found, result["output"], str(buffer.manners), buffer.text]

            async with anyio.create_task_group() as runs:
                for seed in seeds:
                    runs.start_soon(run, seed)
            tasks.cancel_scope.cancel()
    assert not failures, "\n".join(f"{name}: {line}" for name, lines in failures.items() for line in lines)
