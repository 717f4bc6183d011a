"""Programs of other kinds than the examples, written from docs/library.md alone; each does its task."""

from __future__ import annotations

import asyncio
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.llm import Client, build_request
from tests.docs.pages import ROOT
from tests.support.git import git

pytestmark = pytest.mark.req("H13")

DEADLINE_S = 120


def options(tmp_path: Path, model: agent_ls.ProviderAdapter, **more: Any) -> dict[str, Any]:
    (tmp_path / "project").mkdir(exist_ok=True)
    place = {} if "environment" in more else {"folder": tmp_path / "project"}
    return {"provider": "test", "adapters": {"test": model}, "state_dir": tmp_path / "state", **place, **more}


class Bot:
    """A chat service in one event loop: one session for each channel, and buttons for approvals."""

    def __init__(self, tmp_path: Path, model: agent_ls.ProviderAdapter) -> None:
        self.given = options(tmp_path, model, trusted=True, answers_later=True)
        self.sessions: dict[str, agent_ls.AgentSession] = {}
        self.known: dict[str, str] = {}
        self.posts: dict[str, asyncio.Queue[str]] = {}
        self.readers: dict[str, asyncio.Task[None]] = {}

    async def session(self, channel: str) -> agent_ls.AgentSession:
        if channel not in self.sessions:
            session = await agent_ls.open_session(**self.given, resume=self.known.get(channel, ""))
            self.sessions[channel], self.known[channel] = session, session.id
            self.posts.setdefault(channel, asyncio.Queue())
            self.readers[channel] = asyncio.create_task(self.read(channel, session.events()))
        return self.sessions[channel]

    async def read(self, channel: str, events: agent_ls.EventStream) -> None:
        async for event in events:
            match event:
                case agent_ls.AssistantTextEnd(agent_id="", text=said):
                    self.posts[channel].put_nowait(said)
                case agent_ls.ApprovalRequested(request_id=request_id):
                    self.posts[channel].put_nowait(request_id)
                case _:
                    pass

    async def on_message(self, channel: str, said: str) -> str:
        (await self.session(channel)).send(said, when_busy="queue")
        return await self.posts[channel].get()

    async def leave(self, channel: str) -> None:
        await self.sessions.pop(channel).close()
        await self.readers.pop(channel)


async def test_a_bot_has_one_session_for_each_channel_and_continues_closed_ones(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel(("shell", {"command": "touch made"}), "Made.", "Other.", "Again.")
    bot = Bot(tmp_path, model)
    with anyio.fail_after(DEADLINE_S):
        request_id = await bot.on_message("a", "make it")
        bot.sessions["a"].approve(request_id, True)
        assert await bot.posts["a"].get() == "Made."
        assert await bot.on_message("b", "hello") == "Other."
        await bot.leave("a")
        assert await bot.on_message("a", "once more") == "Again."
        await asyncio.gather(*map(bot.leave, ("a", "b")))
    assert (tmp_path / "project" / "made").exists()
    assert "make it" in [message.text for message in model.requests[-1].messages]


@dataclass(frozen=True)
class Step:
    file: str
    text: str


async def test_a_planner_hands_typed_steps_to_workers(tmp_path: Path) -> None:
    steps: list[Step] = []

    @agent_ls.tool
    def submit_plan(plan: list[Step]) -> str:
        """Hand the steps to the workers."""
        steps.extend(plan)
        return "accepted"

    plan = {"plan": [{"file": "a.txt", "text": "one"}, {"file": "b.txt", "text": "two"}]}
    model = agent_ls.ScriptedModel(("submit_plan", plan), "Planned.")
    async with agent_ls.open_session(**options(tmp_path, model, mode="plan", tools=[submit_plan])) as session:
        await session.ask("plan it")

    async def work(step: Step) -> str:
        worker = agent_ls.ScriptedModel(
            ("write_file", {"file_path": step.file, "content": step.text}), f"{step.file} is done."
        )
        given = options(tmp_path, worker, mode="edits", trusted=True)
        async with agent_ls.open_session(**given) as session:
            return await session.ask(f"Write {step.text} to {step.file}.")

    assert await asyncio.gather(*map(work, steps)) == ["a.txt is done.", "b.txt is done."]
    assert (tmp_path / "project" / "b.txt").read_text() == "two"


async def test_a_plugin_host_adds_tools_to_a_conversation(tmp_path: Path) -> None:
    @agent_ls.tool
    def price(fruit: str) -> float:
        """The price of a fruit."""
        return 1.8

    model = agent_ls.ScriptedModel("No tool for it.", ("price", {"fruit": "pear"}), "1.80.")
    session = await agent_ls.open_session(**options(tmp_path, model))
    assert await session.ask("the price of a pear?") == "No tool for it."
    await session.close()
    session = await agent_ls.open_session(**options(tmp_path, model, tools=[price], resume=session.id))
    assert await session.ask("and now?") == "1.80."
    assert [record.output for record in await session.calls()] == ["1.8"]
    await session.close()


class Archive(agent_ls.BasicEnvironment):
    """The files of a zip file, which is written again at each change."""

    def __init__(self, path: Path) -> None:
        super().__init__("/archive")
        self.path = path
        self.contents: dict[str, bytes] = {}

    async def initialize(self) -> None:
        with zipfile.ZipFile(self.path) as archive:
            self.contents = {name: archive.read(name) for name in archive.namelist()}

    async def files(self) -> Mapping[str, bytes]:
        return self.contents

    async def save(self, changes: Mapping[str, bytes | None]) -> None:
        after = {**self.contents, **changes}
        self.contents = {name: content for name, content in after.items() if content is not None}
        with zipfile.ZipFile(self.path, "w") as archive:
            for name, content in self.contents.items():
                archive.writestr(name, content)


async def test_a_linter_is_obeyed_inside_of_a_zip_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("src/m.py", "try:\n    x()\nexcept:\n    pass\n")
    place = Archive(tmp_path / "a.zip")

    @agent_ls.tool
    def lint() -> list[str]:
        """The findings of the linter."""
        return [name for name, content in place.contents.items() if b"except:" in content]

    model = agent_ls.ScriptedModel(
        ("lint", {}),
        ("read_file", {"file_path": "src/m.py"}),
        ("edit_file", {"file_path": "src/m.py", "old_string": "except:", "new_string": "except ValueError:"}),
        [("lint", {}), ("glob", {"pattern": "**/*.py"})],
        "Clean.",
    )
    given = options(tmp_path, model, environment=place, mode="edits", trusted=True, tools=[lint])
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("Remove the findings.") == "Clean."
        outputs = [record.output for record in await session.calls()]
    assert outputs[0] == '["src/m.py"]' and sorted(outputs[3:]) == ["[]", "src/m.py"]
    assert b"except ValueError:" in zipfile.ZipFile(tmp_path / "a.zip").read("src/m.py")


def test_a_window_polls_events_of_another_thread(tmp_path: Path) -> None:
    news: queue.Queue[agent_ls.Event] = queue.Queue()
    session = agent_ls.open_session_sync(**options(tmp_path, agent_ls.ScriptedModel("Hello.")))
    events = session.events()

    def read() -> None:
        for event in events:
            news.put(event)

    reader = threading.Thread(target=read)
    reader.start()
    session.send("hi")  # by the thread of the window, which does not wait
    seen = [news.get(timeout=DEADLINE_S)]
    while not isinstance(seen[-1], agent_ls.ProcessingEnd):
        seen.append(news.get(timeout=DEADLINE_S))
    assert "Hello." in [event.text for event in seen if isinstance(event, agent_ls.AssistantTextEnd)]
    session.close()
    reader.join(DEADLINE_S)
    assert not reader.is_alive()


def test_views_in_a_pool_of_threads_continue_the_session_of_their_user(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel(*["Yes."] * 12)
    known: dict[int, str] = {}

    def view(user: int) -> str:
        with agent_ls.open_session_sync(**options(tmp_path, model), resume=known.get(user, "")) as session:
            known[user] = session.id
            return session.ask(f"question of user {user}")

    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(view, range(4))) == ["Yes."] * 4
    for request in model.requests[-4:]:
        asked = [message.text for message in request.messages if "question of" in message.text]
        assert len(asked) == 3 and len(set(asked)) == 1


MIGRATION = """
import asyncio, json, sys
from pathlib import Path
import agent_ls

class Model(agent_ls.ScriptedModel):
    async def stream(self, request):
        if len(self.requests) == stop_at:
            print("stuck", flush=True)
            await asyncio.Event().wait()
        async for event in super().stream(request):
            yield event

root, stop_at = Path(sys.argv[1]), int(sys.argv[2])
journal = root / "journal"
entries = dict(line.split() for line in journal.read_text().splitlines()) if journal.exists() else {}

def note(package, word):
    with journal.open("a") as file:
        file.write(f"{package} {word}\\n")

async def migrate(package, model, free):
    known = entries.get(package.name, "")
    if known == "done":
        return
    async with free, agent_ls.open_session(
        package, provider="test", adapters={"test": model}, state_dir=root / "state", trusted=True, resume=known
    ) as session:
        note(package.name, session.id)
        await session.ask("Go on." if known else "Migrate.")
        note(package.name, "done")

async def main():
    model, free = Model(*["Done."] * 99), asyncio.Semaphore(3)
    async with asyncio.TaskGroup() as tasks:
        for package in sorted((root / "packages").iterdir()):
            tasks.create_task(migrate(package, model, free))
    return [[it.text for it in request.messages[1:]] for request in model.requests]

print(json.dumps(asyncio.run(main())))
"""


@pytest.mark.group("processes")
async def test_a_migration_goes_on_after_a_kill_and_a_dashboard_shows_its_cost(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / "packages" / f"p{number}").mkdir(parents=True)

    def start(stop_at: int) -> subprocess.Popen[str]:
        arguments = [sys.executable, "-c", textwrap.dedent(MIGRATION), str(tmp_path), str(stop_at)]
        return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    with start(5) as first:
        assert first.stdout and first.stdout.readline() == "stuck\n"
        first.send_signal(signal.SIGKILL)
    with start(-1) as second:
        said, _ = second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 0 and '["Migrate.", "Go on."]' in said
    stored = await agent_ls.list_sessions(state_dir=tmp_path / "state")
    assert sorted(Path(it.folder).name for it in stored) == sorted(f"p{number}" for number in range(12))
    assert {(it.provider, it.title, it.cost_usd) for it in stored} == {("test", "Migrate.", None)}
    spent = sorted(it.usage.input_tokens for it in stored)
    assert spent[:9] == [10] * 9 and spent[-1] > 10  # three were under way at the kill, one in its call


async def test_stored_sessions_are_listed_without_opening_them(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel("One.", "Two.")
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        await session.ask("first")
        await session.ask("second")
        (now,) = await agent_ls.list_sessions(tmp_path / "project", state_dir=tmp_path / "state")
    before = [path.read_bytes() for path in (tmp_path / "state").rglob("log.jsonl")]
    (then,) = await agent_ls.list_sessions(state_dir=tmp_path / "state")
    assert (now.id, then.id, then.usage) == (session.id, session.id, session.usage)
    assert [path.read_bytes() for path in (tmp_path / "state").rglob("log.jsonl")] == before
    assert await agent_ls.list_sessions(tmp_path, state_dir=tmp_path / "state") == []
    assert await agent_ls.list_sessions(state_dir=tmp_path / "nowhere") == []


async def test_a_scripted_model_says_when_its_script_has_ended(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel("One.", ValueError("refused"))
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        assert await session.ask("first") == "One."
        for words in ("ValueError: refused", "request 3"):
            with pytest.raises(agent_ls.TurnFailedError, match=words):
                await session.ask("more")


async def test_a_scripted_model_answers_the_model_client_too() -> None:
    model = agent_ls.ScriptedModel(["Two parts: ", ("price", {"fruit": "pear"})])
    client = Client({"test": model})
    response = await client.complete(build_request("m", "the price?", provider="test"))
    assert response.text == "Two parts: " and response.finish_reason.kind == "tool_calls"
    assert [call.name for call in response.tool_calls] == ["price"]


async def test_a_program_deletes_a_stored_session(tmp_path: Path) -> None:
    place = tmp_path / "state"
    model = agent_ls.ScriptedModel(("write_file", {"file_path": "made", "content": "x"}), "One.")
    async with agent_ls.open_session(**options(tmp_path, model, mode="edits")) as session:
        await session.ask("first")
        copy = await session.fork()
        with pytest.raises(agent_ls.AppError, match="is open in this program"):
            await agent_ls.delete_session(session.id, state_dir=place)
        await agent_ls.delete_session(copy, state_dir=place)
        assert [it.id for it in await agent_ls.list_sessions(state_dir=place)] == [session.id]
    await agent_ls.delete_session(session.id, state_dir=place)
    assert await agent_ls.list_sessions(state_dir=place) == [] and not [*place.rglob("log.jsonl")]
    assert (tmp_path / "project" / "made").exists()
    for gone in (session.id, copy, "../project"):
        with pytest.raises(agent_ls.AppError) as caught:
            await agent_ls.delete_session(gone, state_dir=place)
        assert "state_dir" in caught.value.hint


async def test_a_decision_about_changes_that_only_a_worktree_has_says_what_to_do(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    model = agent_ls.ScriptedModel(("write_file", {"file_path": "made", "content": "x"}), "One.")
    given = options(tmp_path, model, worktree="head", trusted=True, approve=lambda request: True)
    async with agent_ls.open_session(**given) as session:
        await session.ask("first")
        assert session.hunks() == {}
        for decision in ("keep", "undo"):
            (reason,) = await session.review(decision)
            assert reason.startswith("made: ") and "bring_changes()" in reason
        await session.bring_changes()
        assert await session.review("undo") == []
        assert not (project / "made").exists()
        assert await session.bring_changes() == []


async def test_changes_that_only_a_worktree_has_are_not_deleted_without_force(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    place = tmp_path / "state"
    model = agent_ls.ScriptedModel(("write_file", {"file_path": "made", "content": "x"}), "One.")
    given = options(tmp_path, model, worktree="head", trusted=True, approve=lambda request: True)
    async with agent_ls.open_session(**given) as session:
        await session.ask("first")
    with pytest.raises(agent_ls.AppError, match="worktree"):
        await agent_ls.delete_session(session.id, state_dir=place)
    await agent_ls.delete_session(session.id, state_dir=place, force=True)
    assert await agent_ls.list_sessions(state_dir=place) == [] and not [*place.rglob("made")]
