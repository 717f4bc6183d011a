"""The scenarios. agent-ls and the floor get the same messages; each scenario returns figures by name.

Times are in milliseconds. They are comparable between processes, because client and model use the same monotonic clock.
"""

from __future__ import annotations

import json
import statistics
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.processes import Model, Received, Server, is_event
from benchmarks.scripted_model import PIECE, Exchange

Figures: TypeAlias = Mapping[str, float]

PAUSE_S = 1.5  # a user who has just opened an editor does not type at once
PIECE_CHARS = len(PIECE.format(0))

BURST_ID = 2_000_000
"""The id of the request that is sent while the model streams many deltas without a pause."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers of turns, rounds, deltas and edits. At a smaller scale the figures have more noise."""

    turns: int = 200
    first_turns: int = 50
    rounds: int = 1000
    deltas: int = 10_000
    paced_deltas: int = 400
    edits: int = 9
    keystrokes: int = 50


class Session:
    """A new session on an initialized server."""

    def __init__(self, server: Server, folder: Path, mode: str = "full") -> None:
        self.server = server
        wanted = {
            "clientKey": _key(),
            "workspaceFolder": folder.as_uri(),
            "provider": "anthropic",
            "mode": mode,
        }
        made = server.request("agent/newSession", wanted)[1].json["result"]
        self.id: str = made["session"]["id"]
        server.request("agent/subscribe", {"sessionId": self.id, "since": 0})

    @classmethod
    def of(cls, server: Server, session_id: str) -> Session:
        """Return an existing session of the server."""
        session = cls.__new__(cls)
        session.server, session.id = server, session_id
        return session

    def submit(self) -> int:
        """Send a message without waiting. Returns the time at which it was sent."""
        words = [{"type": "text", "text": "go"}]
        return self.server.send(
            "agent/submit", {"sessionId": self.id, "clientKey": _key(), "input": words}, 1_000_000
        )

    def work_off(self, passed: list[Received] | None = None) -> tuple[int, int]:
        """Run a whole turn. Returns the times at which the message was sent and the end was reported."""
        sent_ns = self.submit()
        return sent_ns, self.server.wait(lambda body: is_event(body, "processing_end"), passed).at_ns


def greet(server: Server) -> int:
    """Initialize the server. Returns the time of its answer."""
    ability = {"version": 1, "events": True, "review": True, "approvals": True}
    capabilities = {"workspace": {"applyEdit": True}, "experimental": {"agentLs": ability}}
    answer = server.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})[
        1
    ]
    server.send("initialized", {})
    return answer.at_ns


def starting(server: Server, model: Model, folder: Path) -> Figures:
    """Send a message directly after the start of the server, and measure the time until the model is called."""
    model.play({"text": "Hello."})
    initialized_ns = greet(server)
    session = Session(server, folder)
    session.submit()
    asked_ns = _first_request(model)["asked_ns"]
    return {
        "initialize": _ms(server.spawned_ns, initialized_ns),
        "first_request": _ms(server.spawned_ns, asked_ns),
    }


def beginning(server: Server, model: Model, folder: Path, scale: Scale) -> Figures:
    """Run the first turns of a process, with no pause between its start and the turns."""
    greet(server)
    session = Session(server, folder)
    model.play({"text": "Hello."})
    session.work_off()
    return {"first_turns_p99": _p99(list(_empty_turns(session, model, scale.first_turns)))}


def conversing(server: Server, model: Model, folder: Path, scale: Scale) -> Figures:
    greet(server)
    time.sleep(PAUSE_S)
    idle = server.resident_mib()
    session = Session(server, folder)
    time.sleep(PAUSE_S)
    model.play({"text": "Hello."})
    sent_ns, _ = session.work_off()
    (first,) = model.take()
    after_turn = server.resident_mib()
    turns = list(_empty_turns(session, model, scale.turns))
    return {
        "first_submit": _ms(sent_ns, first["asked_ns"]),
        "resident_idle": idle,
        "resident_turn": after_turn,
        "empty_turn": statistics.median(turns),
        "empty_turn_p99": _p99(turns),
        **_streaming(Session(server, folder), model, scale),
        **_rounds(Session(server, folder), model, folder, scale.rounds),
    }


def _empty_turns(session: Session, model: Model, count: int) -> Iterator[float]:
    model.play({"text": "Hello.", "times": count})
    for _ in range(count):
        yield _ms(*session.work_off())


def _rounds(session: Session, model: Model, folder: Path, count: int) -> Figures:
    """Run one turn of `count` rounds. The calls differ, so that the loop detector does not stop them."""
    for number in range(10):
        (folder / f"note{number}.txt").write_text("a note of one line\n")
    calls = [{"tool": "read_file", "arguments": {"file_path": f"note{number}.txt"}} for number in range(10)]
    model.play({"text": "Hello."})
    session.work_off()
    before = session.server.resident_mib()
    model.play(*(calls[number % 10] for number in range(count)), {"text": "Done."})
    session.work_off()
    time.sleep(PAUSE_S)  # the server returns freed memory about a second after a turn
    grown = session.server.resident_mib() - before
    times = between_rounds(model.take())
    share = max(10, count // 20)
    slope = statistics.linear_regression(range(len(times)), times).slope
    return {
        "round": statistics.median(times[:share]),
        "round_late": statistics.median(times[-share:]),
        "round_growth": slope * 1000,
        "resident_growth": grown,
    }


def _streaming(session: Session, model: Model, scale: Scale) -> Figures:
    model.play({"deltas": scale.deltas})
    received: list[Received] = []
    _, done_ns = session.work_off(received)
    (flood,) = model.take()
    shown = next(it for it in received if is_event(it.body, "assistant_text_delta"))
    model.play({"deltas": scale.paced_deltas, "pause_ms": 5})
    passed: list[Received] = []
    session.work_off(passed)
    (paced,) = model.take()
    late = list(_lateness(passed, paced))
    assert len(late) == scale.paced_deltas
    return {
        "first_delta": _ms(flood["first_ns"], shown.at_ns),
        "deltas": _ms(flood["first_ns"], done_ns),
        "burst_request": _request_in_a_burst(session, model, scale.deltas),
        "late": statistics.median(late),
        "late_p99": _p99(late),
    }


def _request_in_a_burst(session: Session, model: Model, deltas: int) -> float:
    """Return the response time of a request that is sent while the model streams deltas without a pause.

    The request is sent when the first delta has arrived.
    """
    session.server.request("agent/commands", {})  # not measured: the first request of this kind loads modules
    model.play({"deltas": deltas})
    session.submit()
    session.server.event("assistant_text_delta")
    asked_ns = session.server.send("agent/commands", {}, BURST_ID)
    at_ns: dict[bool, int] = {}
    while len(at_ns) < 2:
        received = session.server.wait(lambda body: is_event(body, "processing_end") or _is_answer(body))
        at_ns[_is_answer(received.body)] = received.at_ns
    return _ms(asked_ns, at_ns[True])


def _is_answer(body: bytes) -> bool:
    return b'"method"' not in body[:80] and str(BURST_ID).encode() in body[:80]


def _lateness(passed: Sequence[Received], exchange: Exchange) -> Iterator[float]:
    for received in passed:
        if is_event(received.body, "assistant_text_delta"):
            params = received.json["params"]
            first, count = params["offset"] // PIECE_CHARS, len(params["data"]["text"]) // PIECE_CHARS
            for sent_ns in exchange["deltas_ns"][first : first + count]:
                yield _ms(sent_ns, received.at_ns)


def editing(server: Server, model: Model, folder: Path, scale: Scale) -> Figures:
    greet(server)
    time.sleep(PAUSE_S)
    return {
        **_large_file(Session(server, folder), model, folder, scale.edits),
        "edit_open": _open_document(Session(server, folder), model, folder, scale.edits),
        **_stopping(Session(server, folder), model, scale.edits),
        **_approving(Session(server, folder, mode="ask"), model, scale.edits),
        **_hunks(Session(server, folder), model, folder, scale),
    }


def _large_file(session: Session, model: Model, folder: Path, count: int) -> Figures:
    (folder / "large.txt").write_text(_large_text())
    model.play(*_reads_and_edits("large.txt", count), {"text": "Done."})
    session.work_off()
    times = between_rounds(model.take())
    assert (folder / "large.txt").read_text().count("other") == count
    return {"read": statistics.median(times[0::2]), "edit": statistics.median(times[1::2])}


def _large_text() -> str:
    return "".join(f"line {n}: words of an ordinary length\n" for n in range(1, 50_001))


def _reads_and_edits(name: str, count: int) -> list[dict[str, Any]]:
    """Return answers of the model: alternately a read of a few lines and an edit of one of them."""
    answers: list[dict[str, Any]] = []
    for number in range(count):
        line = 5_000 * (number % 9) + 2_500
        change = {
            "old_string": f"line {line + number}: words",
            "new_string": f"line {line + number}: other words",
        }
        answers += [
            {"tool": "read_file", "arguments": {"file_path": name, "offset": line, "limit": 5}},
            {"tool": "edit_file", "arguments": {"file_path": name, **change}},
        ]
    return answers


def _open_document(session: Session, model: Model, folder: Path, count: int) -> float:
    """Return the time of an edit of a file that is open in the editor. The editor applies each edit at once."""
    path, server = folder / "open.txt", session.server
    path.write_text(_large_text())
    document = {"uri": path.as_uri(), "languageId": "text", "version": 0, "text": _large_text()}
    server.send("textDocument/didOpen", {"textDocument": document})
    model.play(*_reads_and_edits(path.name, count), {"text": "Done."})
    session.submit()
    version = 0
    while not is_event((body := server.wait(_is_edit_or_end).body), "processing_end"):
        request = json.loads(body)
        (edited,) = request["params"]["edit"]["documentChanges"]
        version += 1
        changes = [{"range": edit["range"], "text": edit["newText"]} for edit in edited["edits"]]
        identifier = {"uri": path.as_uri(), "version": version}
        server.send("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})
        server.answer(request["id"], {"applied": True})
    assert version == count, "not every edit was sent to the editor"
    return statistics.median(between_rounds(model.take())[1::2])


def _is_edit_or_end(body: bytes) -> bool:
    return b'"method":"workspace/applyEdit"' in body or is_event(body, "processing_end")


def _stopping(session: Session, model: Model, count: int) -> Figures:
    times = []
    model.play({"text": "I begin", "hold": True, "times": count})
    for _ in range(count):
        session.submit()
        session.server.event("assistant_text_delta")
        sent_ns = session.server.send("agent/interrupt", {"sessionId": session.id}, 1_000_001)
        times.append(_ms(sent_ns, session.server.event("processing_end").at_ns))
    return {"interrupt": statistics.median(times)}


def _approving(session: Session, model: Model, count: int) -> Figures:
    """Return the time from the user's approval to the first output of the command."""
    times = []
    for _ in range(count):
        model.play({"tool": "shell", "arguments": {"command": "touch went && echo go"}}, {"text": "Done."})
        session.submit()
        asked = session.server.event("approval_requested").json["params"]["data"]
        answer = {
            "sessionId": session.id,
            "requestId": asked["requestId"],
            "clientKey": _key(),
            "decision": "allow",
        }
        sent_ns = session.server.send("agent/approve", answer, 1_000_002)
        times.append(_ms(sent_ns, session.server.event("tool_call_output_delta").at_ns))
        session.server.event("processing_end")
    return {"approve": statistics.median(times)}


def _hunks(session: Session, model: Model, folder: Path, scale: Scale) -> Figures:
    many, some = folder / "many.txt", folder / "some.txt"
    _change_each_tenth_line(session, model, many, 1000)
    changed = _change_each_tenth_line(session, model, some, 200)
    asked = [session.server.request("agent/hunks", {"uri": many.as_uri()}) for _ in range(scale.edits)]
    assert all(len(answer.json["result"]["files"][0]["hunks"]) == 1000 for _, answer in asked)
    return {
        "hunks": statistics.median(_ms(sent_ns, answer.at_ns) for sent_ns, answer in asked),
        "keystroke": statistics.median(_keystrokes(session.server, some, changed, scale.keystrokes)),
    }


def _change_each_tenth_line(session: Session, model: Model, path: Path, hunks: int) -> str:
    lines = [f"line {n}: words of an ordinary length\n" for n in range(hunks * 10)]
    path.write_text("".join(lines))
    changed = "".join(f"changed {line}" if n % 10 == 4 else line for n, line in enumerate(lines))
    model.play(
        {"tool": "read_file", "arguments": {"file_path": path.name, "limit": 5}},
        {"tool": "write_file", "arguments": {"file_path": path.name, "content": changed}},
        {"text": "Done."},
    )
    session.work_off()
    assert path.read_text() == changed
    return changed


def _keystrokes(server: Server, path: Path, text: str, count: int) -> Iterator[float]:
    """Yield the time that the server needs for each of `count` keystrokes.

    A keystroke is a notification, to which the server does not reply. The reply to a small request after it shows when
    the notification has been processed.
    """
    document = {"uri": path.as_uri(), "languageId": "text", "version": 0, "text": text}
    server.send("textDocument/didOpen", {"textDocument": document})
    for number in range(count):
        at = {"line": 1_000, "character": number}
        change = {"range": {"start": at, "end": at}, "text": "x"}
        identifier = {"uri": path.as_uri(), "version": number + 1}
        sent_ns = server.send(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]}
        )
        _, answer = server.request("agent/unsubscribe", {"sessionId": "none"})
        yield _ms(sent_ns, answer.at_ns)


def between_rounds(exchanges: Sequence[Exchange]) -> list[float]:
    """Return for each answer of the model the time from its end to the next request to the model."""
    return [_ms(before["last_ns"], after["asked_ns"]) for before, after in pairwise(exchanges)]


def _first_request(model: Model) -> Exchange:
    while not (noted := model.take()):
        time.sleep(0.005)
    return noted[0]


def _key() -> str:
    return str(uuid.uuid4())


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, round(len(values) * 0.99))]


def _ms(start_ns: int, end_ns: int) -> float:
    return (end_ns - start_ns) / 1e6
