"""Measure large projects and many sessions: python -m benchmarks.scale [--quick] [PART ...].

Each part runs at a tenth of its size and at its full size, each time with a new server, and prints how much each figure
grew. A figure is either independent of the size ("flat"), or grows at most in proportion to it ("linear"). The run
fails if a figure grows faster. Times are in milliseconds, sizes in MiB. If an operation can be repeated, its time is
the shortest of several, because other programs can only make it longer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.processes import AGENT_LS, Model, Server, is_event
from benchmarks.scenarios import Figures, Session, greet

REPEATS = 5
TOLERATED = 1.6
"""A figure may grow by this factor more than promised, because caches and other programs affect the times."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one measurement: `work` is the project, `state` is where agent-ls stores sessions."""

    work: Path
    state: Path


def repository(folders: Folders, model: Model, size: int) -> Figures:
    """Measure a git repository with `size` files in folders of 100."""
    _write_files(folders.work, size)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "files"]):
        subprocess.run([*git, *words], cwd=folders.work, check=True)
    last = f"folder{size // 100 - 1}/file{size - 1}.txt"
    with _server(folders, model) as server:
        made_ms, session = _timed(lambda: Session(server, folders.work))
        model.play({"text": "Hello."})
        sent_ns, _ = session.work_off()
        first_submit = (model.take()[0]["asked_ns"] - sent_ns) / 1e6

        def complete() -> None:
            items = server.request("agent/complete", _completion(session, last[:-4]))[1].json["result"][
                "items"
            ]
            assert items[0]["label"] == last, items[:1]

        return {
            "make a session": made_ms,
            "first submit to model request": first_submit,
            "complete a file name, first": _timed(complete)[0],
            "complete a file name, again": _least(complete),
            "find a file by name": _call_ms(session, model, "glob", {"pattern": f"**/file{size - 1}.txt"}),
            "search a word in all files": _call_ms(
                session, model, "grep", {"pattern": f"number {size - 1}$"}
            ),
            "memory": server.resident_mib(),
        }


def stored(folders: Folders, model: Model, size: int) -> Figures:
    """Measure a folder with `size` stored sessions of one turn each."""
    with _server(folders, model) as server:
        session = Session(server, folders.work)
        model.play({"text": "Hello."})
        session.work_off()
        server.request("agent/closeSession", {"sessionId": session.id, "clientKey": "close"})
    _copy_session(folders.state, session.id, size - 1)
    with _server(folders, model) as server:
        page = {"workspaceFolder": folders.work.as_uri(), "limit": 50}
        first_ms, first = _timed(lambda: server.request("agent/sessions", page)[1].json["result"])
        assert len(first["sessions"]) == 50
        stored_session = {"sessionId": _copied_id(size // 2), "since": 0}
        resumed_ms, _ = _timed(lambda: server.request("agent/subscribe", stored_session))
        return {
            "list the newest 50, first": first_ms,
            "list the newest 50, again": _least(lambda: server.request("agent/sessions", page)),
            "find one by its title": _least(
                lambda: server.request("agent/sessions", {**page, "query": "no"})
            ),
            "open a stored one": resumed_ms,
            "make a session": _timed(lambda: Session(server, folders.work))[0],
            "memory": server.resident_mib(),
        }


def events(folders: Folders, model: Model, size: int) -> Figures:
    """Measure a stored session of at least `size` events."""
    with _server(folders, model) as server:
        session = Session(server, folders.work)
        model.play({"text": "Hello."})
        session.work_off()
        before = _last_seq(server, session.id)
        model.play({"text": "Hello.", "times": size})
        session.work_off()
        for _ in range(size // (_last_seq(server, session.id) - before)):
            session.work_off()
        server.request("agent/closeSession", {"sessionId": session.id, "clientKey": "close"})
    with _server(folders, model) as server:
        newest = {"sessionId": session.id, "since": size, "maxEvents": 100}
        opened_ms, _ = _timed(lambda: server.request("agent/subscribe", newest))
        assert _last_seq(server, session.id) >= size
        page = {"sessionId": session.id, "limit": 10}
        model.play({"text": "Hello."})
        sent_ns = Session.of(server, session.id).submit()
        end = server.wait(lambda body: is_event(body, "processing_end"))
        return {
            "open it": opened_ms,
            "a page of its transcript": _least(lambda: server.request("agent/history", page)),
            "a turn after opening it": (end.at_ns - sent_ns) / 1e6,
            "memory": server.resident_mib(),
        }


def running(folders: Folders, model: Model, size: int) -> Figures:
    """Measure one server with `size` sessions: a turn of one session, and simultaneous turns of half of them."""
    with _server(folders, model) as server:
        idle = server.resident_mib()
        made_ms, sessions = _timed(lambda: [Session(server, folders.work) for _ in range(size)])
        many = sessions[: size // 2]
        model.play({"text": "Hello.", "times": REPEATS + 2 * len(many)})
        one_ms = _least(lambda: sessions[0].work_off())

        def work_off_many() -> None:
            for session in many:
                session.submit()
            for _ in many:
                server.wait(lambda body: is_event(body, "processing_end"))

        work_off_many()  # not measured: the first turn of a session also builds its system prompt
        return {
            "make them": made_ms,
            "a turn beside them": one_ms,
            "a turn in half of them": _timed(work_off_many)[0],
            "memory for all": server.resident_mib() - idle,
        }


def documents(folders: Folders, model: Model, size: int) -> Figures:
    """Measure `size` documents that are open in the editor."""
    _write_files(folders.work, size)
    with _server(folders, model) as server:
        session = Session(server, folders.work)
        idle = server.resident_mib()

        def open_all() -> None:
            for number in range(size):
                uri = (folders.work / _name(number)).as_uri()
                document = {"uri": uri, "languageId": "text", "version": 1, "text": _text(number)}
                server.send("textDocument/didOpen", {"textDocument": document})
            server.request("agent/unsubscribe", {"sessionId": "none"})

        opened_ms, _ = _timed(open_all)
        model.play({"text": "Hello.", "times": REPEATS + 1})
        session.work_off()
        return {
            "open them": opened_ms,
            "a keystroke": _least(lambda: _type(server, folders.work / _name(size // 2))),
            "a turn beside them": _least(lambda: session.work_off()),
            "complete a file name": _least(
                lambda: server.request("agent/complete", _completion(session, "file1"))
            ),
            "memory for all": server.resident_mib() - idle,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the benchmark. Figures that are not in `linear` must not grow with the size."""

    measure: Callable[[Folders, Model, int], Figures]
    size: int
    quick_size: int
    linear: frozenset[str]


PARTS: Final[Mapping[str, Part]] = {
    "repository": Part(
        repository, 200_000, 4_000,
        frozenset({
            "first submit to model request", "complete a file name, first", "complete a file name, again",
            "find a file by name", "search a word in all files", "make a session", "memory",
        }),
    ),
    "stored": Part(
        stored, 5_000, 500,
        frozenset({"list the newest 50, first", "list the newest 50, again", "find one by its title", "memory"}),
    ),
    "events": Part(events, 20_000, 1_000, frozenset({"open it", "memory"})),
    "running": Part(running, 100, 20, frozenset({"make them", "a turn in half of them", "memory for all"})),
    "documents": Part(documents, 2_000, 200, frozenset({
        "open them", "a turn beside them", "complete a file name", "memory for all",
    })),
}  # fmt: skip


def measure(part: Part, size: int) -> Figures:
    """Measure one part at one size, in new folders."""
    with tempfile.TemporaryDirectory() as base, Model() as model:
        folders = Folders(Path(base) / "work", Path(base) / "state")
        folders.work.mkdir()
        folders.state.mkdir()
        return part.measure(folders, model, size)


def allowed_growth(part: Part, figure: str, factor: float) -> float:
    """Return the factor by which a figure may grow when the size grows by `factor`."""
    return TOLERATED * (factor if figure in part.linear else 1.0)


def compare(name: str, part: Part, size: int) -> bool:
    """Measure a part at a tenth of `size` and at `size`, and print both. Returns whether the growth is allowed."""
    small, large = measure(part, size // 10), measure(part, size)
    print(
        f"\n{name}: {size // 10:,} and {size:,}\n{'figure':32} {'tenth':>9} {'whole':>9} {'growth':>7}  promise"
    )
    is_fine = True
    for figure, value in large.items():
        growth = value / small[figure] if small[figure] > 0.1 else 1.0
        # A figure of less than 10 ms or MiB always passes: it is mostly noise, and users do not notice it.
        fits = value < 10 or growth <= allowed_growth(part, figure, 10)
        is_fine = is_fine and fits
        promise = "linear" if figure in part.linear else "flat"
        print(
            f"{figure:32} {small[figure]:9.1f} {value:9.1f} {growth:7.1f}  {promise}{'' if fits else '  FAILED'}"
        )
    return is_fine


def _write_files(folder: Path, count: int) -> None:
    for number in range(count):
        path = folder / _name(number)
        if number % 100 == 0:
            path.parent.mkdir(exist_ok=True)
        path.write_text(_text(number))


def _name(number: int) -> str:
    return f"folder{number // 100}/file{number}.txt"


def _text(number: int) -> str:
    return f"the text of a small file\nits number {number}\n"


def _copied_id(number: int) -> str:
    return f"s-{number:016x}"


def _copy_session(state: Path, session_id: str, count: int) -> None:
    (folder,) = state.glob(f"workspaces/*/sessions/{session_id}")
    log, title = (folder / "log.jsonl").read_bytes(), (folder / "title").read_bytes()
    for number in range(count):
        copy = folder.parent / _copied_id(number)
        copy.mkdir()
        (copy / "log.jsonl").write_bytes(log.replace(session_id.encode(), copy.name.encode()))
        (copy / "title").write_bytes(title)
    os.sync()  # otherwise the server's first fsync waits until all these files are written


def _last_seq(server: Server, session_id: str) -> int:
    sessions = server.request("agent/sessions", {"limit": 500})[1].json["result"]["sessions"]
    seq: int = next(session["lastSeq"] for session in sessions if session["id"] == session_id)
    return seq


def _completion(session: Session, query: str) -> dict[str, str]:
    return {"sessionId": session.id, "trigger": "@", "query": query}


def _call_ms(session: Session, model: Model, tool: str, arguments: dict[str, str]) -> float:
    """Return the time of one tool call, from the end of the model's answer to its next request."""
    model.play({"tool": tool, "arguments": arguments}, {"text": "Done."})
    session.work_off()
    asked, answered = model.take()
    return (answered["asked_ns"] - asked["last_ns"]) / 1e6


def _type(server: Server, path: Path) -> None:
    at = {"line": 0, "character": 0}
    change = {"range": {"start": at, "end": at}, "text": "x"}
    identifier = {"uri": path.as_uri(), "version": time.monotonic_ns() // 1_000_000 % 2**30}
    server.send("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
    server.request("agent/unsubscribe", {"sessionId": "none"})


def _timed(call: Callable[[], Result]) -> tuple[float, Result]:
    started_ns = time.monotonic_ns()
    result = call()
    return (time.monotonic_ns() - started_ns) / 1e6, result


def _least(call: Callable[[], object]) -> float:
    return min(_timed(call)[0] for _ in range(REPEATS))


@contextmanager
def _server(folders: Folders, model: Model) -> Iterator[Server]:
    with Server(AGENT_LS, model, folders.state) as server:
        greet(server)
        # Creating a session loads all modules of the server, so that no measurement contains the loading.
        Session(server, folders.work)
        yield server


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(PARTS)}")
    parser.add_argument(
        "--quick", action="store_true", help="at a small size, and without judging the growth"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part: {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    chosen = options.parts or list(PARTS)
    results = [
        compare(name, PARTS[name], PARTS[name].quick_size if options.quick else PARTS[name].size)
        for name in chosen
    ]
    return 0 if all(results) or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
