"""Choose the walkthrough's next answer from the messages and the tool names alone.

A failed edit, a denied command or a steering message changes the answers that follow. The script does not depend on
the machine, except for the name of the Python command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from agent_ls.llm.messages import JsonObject, Message, Role, TextPart, ToolCallPart, ToolResultPart
from agent_ls.package_files import read_package_file


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One answer: reasoning, text and calls. An answer without calls ends the task."""

    thought: str
    say: str
    calls: tuple[ScriptedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call that was made, with its result."""

    name: str
    arguments: dict[str, Any]
    result: str
    is_error: bool


@cache
def load_script() -> dict[str, Any]:
    """Load the scripted task."""
    text = read_package_file("agent_ls.llm.providers.walkthrough", "script.json")
    loaded: dict[str, Any] = json.loads(text)
    loaded["test_command"] = f"{python_name(sys.platform, sys.executable)} -m unittest"
    return loaded


def python_name(platform: str, ours: str) -> str:
    """Return the command for Python. `platform` is sys.platform, `ours` the path of the running interpreter.

    On Windows, return `ours`, because the usual names may be missing or may open an app store.
    """
    if platform != "win32":
        return "python3"
    return f'"{ours}"' if " " in ours else ours


def next_answer(messages: Sequence[Message], tools: frozenset[str]) -> ScriptedAnswer:
    """Return the next answer to a conversation; deterministic."""
    words = load_script()
    missing = {"read_file", "edit_file", "shell"} - tools
    if missing:
        return ScriptedAnswer(
            "", f"{words['label']} I need the tools {', '.join(sorted(missing))}, which I was not given."
        )
    start = _task_start(messages)
    done = _calls_since(messages, start)
    steers = [m.text for m in messages[start + 1 :] if m.role is Role.USER]
    move = _choose_answer(done, steers)
    fresh = _unanswered_steers(messages, start)
    if fresh:
        move = ScriptedAnswer(move.thought, _acknowledge(fresh) + move.say, move.calls)
    if not done:
        move = ScriptedAnswer(move.thought, f"{words['label']}\n\n{move.say}", move.calls)
    return move


def _choose_answer(done: Sequence[CompletedCall], steers: Sequence[str]) -> ScriptedAnswer:
    words = load_script()
    if any(d.result.startswith("walkthrough finished") for d in done):
        return ScriptedAnswer("", "The walkthrough is over.")
    reads = [d for d in done if d.name == "read_file" and d.arguments.get("file_path") in words["sources"]]
    if not reads:
        calls = tuple(ScriptedCall("read_file", {"file_path": path}) for path in words["sources"])
        return ScriptedAnswer(
            "First the code, then what its tests expect.", "I begin by reading the code and its tests.", calls
        )
    if any(read.is_error for read in reads[: len(words["sources"])]):
        return ScriptedAnswer(
            "",
            "I know only the sample project, and its files are not here. "
            "`agent-ls demo` makes a copy of it and opens it. For work on your own code, choose a real model.",
        )
    last = done[-1]
    edits = [
        d for d in done if d.name == "edit_file" and d.arguments.get("file_path") != words["note"]["path"]
    ]
    made = [d for d in edits if not d.is_error]
    if last.name == "edit_file" and last.is_error:
        return _handle_failed_edit(last, edits)
    if last.name == "shell":
        return _after_tests(last, len(made), done, steers)
    if last.name == "read_file" and last.arguments.get("file_path") == words["note"]["path"]:
        note = words["note"]
        return ScriptedAnswer(
            "",
            "I add a line to CHANGES.md.",
            (_edit_call(note),),
        )
    if last.name == "edit_file" and last.arguments.get("file_path") == words["note"]["path"]:
        return _finish(steers)
    if last.name == "edit_file":
        return _run_tests("Now the tests.")
    return _edit(len(made))


def _edit(number: int) -> ScriptedAnswer:
    words = load_script()
    if number >= len(words["edits"]):
        return _run_tests("Both places are corrected; now the tests.")
    edit = words["edits"][number]
    return ScriptedAnswer(edit["thought"], edit["say"], (_edit_call(edit),))


def _edit_call(edit: dict[str, str]) -> ScriptedCall:
    arguments = {"file_path": edit["path"], "old_string": edit["old"], "new_string": edit["new"]}
    return ScriptedCall("edit_file", arguments)


def _run_tests(say: str) -> ScriptedAnswer:
    words = load_script()
    arguments = {"command": words["test_command"], "description": words["test_description"]}
    return ScriptedAnswer("", say, (ScriptedCall("shell", arguments),))


def _handle_failed_edit(last: CompletedCall, edits: Sequence[CompletedCall]) -> ScriptedAnswer:
    if _is_denied(last):
        return ScriptedAnswer(
            "",
            f"You did not want this edit, so I stop here and leave the file as it is. ({_first_line(last.result)})",
        )
    if len([d for d in edits if d.is_error]) > 1:
        return ScriptedAnswer("", f"The edit failed again, so I stop: {_first_line(last.result)}")
    call = ScriptedCall("read_file", {"file_path": str(last.arguments.get("file_path", ""))})
    return ScriptedAnswer("", "The edit did not fit: the file is not what I read. I read it again.", (call,))


def _after_tests(
    last: CompletedCall, made: int, done: Sequence[CompletedCall], steers: Sequence[str]
) -> ScriptedAnswer:
    words = load_script()
    if _is_denied(last):
        reason = _first_line(last.result)
        return ScriptedAnswer(
            "",
            f"You did not let me run the tests, so nothing is proven: {reason}\n\n"
            f"The edits wait for your review. To check them yourself: `{words['test_command']}`",
        )
    if last.is_error and made < len(words["edits"]):
        return _edit(made)
    if last.is_error:
        return ScriptedAnswer(
            "", f"The tests still fail and my script ends here. Their output:\n\n{last.result[-600:]}"
        )
    wants_note = any(word in steer.lower() for steer in steers for word in words["note_words"])
    noted = any(d.arguments.get("file_path") == words["note"]["path"] for d in done)
    if wants_note and not noted:
        return ScriptedAnswer(
            "You asked for a note while I worked.",
            "The tests pass. As you asked, I write it down in CHANGES.md.",
            (ScriptedCall("read_file", {"file_path": words["note"]["path"]}),),
        )
    return _finish(steers)


def _finish(steers: Sequence[str]) -> ScriptedAnswer:
    return ScriptedAnswer(
        "",
        "All tests pass. What I changed in `shop/cart.py`:\n\n"
        "- the discount is ten percent of the amount, not 0.1 off it\n"
        "- it begins at exactly 100\n\n"
        "Each change is a hunk in the file: keep or undo it there."
        + ("" if steers else " (Next time, send me a message while I work: that is steering.)"),
    )


def _acknowledge(steers: Sequence[str]) -> str:
    words = load_script()
    said = " / ".join(steer.strip() for steer in steers)
    known = any(word in said.lower() for word in words["note_words"])
    answer = (
        "I do that as soon as the tests pass."
        if known
        else "A real model would act on that; my script can only tell you that it arrived."
    )
    return f"You say: \u201c{said}\u201d {answer}\n\n"


def _task_start(messages: Sequence[Message]) -> int:
    """Return the index of the user message that started the current task.

    This is the last user message directly after an answer without calls, or else the first user message.
    """
    start = next((i for i, m in enumerate(messages) if m.role is Role.USER), 0)
    for i in range(1, len(messages)):
        before = messages[i - 1]
        if messages[i].role is Role.USER and before.role is Role.ASSISTANT and not before.tool_calls:
            start = i
    return start


def _calls_since(messages: Sequence[Message], start: int) -> list[CompletedCall]:
    results = {
        part.tool_call_id: part
        for message in messages[start:]
        for part in message.parts
        if isinstance(part, ToolResultPart)
    }
    return [
        CompletedCall(call.name, _arguments(call), result.content, result.is_error)
        for message in messages[start:]
        for call in message.tool_calls
        if (result := results.get(call.id))
    ]


def _unanswered_steers(messages: Sequence[Message], start: int) -> list[str]:
    """Return the user messages since the last answer, except the message that started the task."""
    last_answer = max((i for i, m in enumerate(messages) if m.role is Role.ASSISTANT), default=-1)
    since = max(last_answer, start)
    return [
        "".join(p.text for p in m.parts if isinstance(p, TextPart))
        for m in messages[since + 1 :]
        if m.role is Role.USER
    ]


def _arguments(call: ToolCallPart) -> dict[str, Any]:
    loaded = json.loads(call.arguments)
    return loaded if isinstance(loaded, dict) else {}


def _is_denied(done: CompletedCall) -> bool:
    """Return whether the call was refused before it ran."""
    return done.is_error and any(
        word in done.result.lower() for word in ("denied", "not approved", "refused")
    )


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:300]
