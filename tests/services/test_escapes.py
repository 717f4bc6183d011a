"""Attempts to leave the workspace: links, names, files that change during an approval, late or forged answers."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ApprovalResolved, ToolCallEnd
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, allow, deny, running, wait

pytestmark = pytest.mark.req("X6", "H7")

SECRET = "the outside secret\n"
Script: TypeAlias = Sequence[Piece | Sequence[Piece]]


def call(name: str, number: int = 1, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id=f"c-{name}-{number}")


def shell(command: str, number: int = 1) -> CallTool:
    return call("shell", number, command=command)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o.txt").write_text(SECRET)
    return folder


async def output_of(rig: SessionRig, talk: Talk) -> str:
    await talk.say("go")
    return "\n".join(result.content for result in rig.results())


# -- reading


def by_link(work: Path) -> str:
    (work / "link").symlink_to("../outside/o.txt")
    return "link"


def by_linked_folder(work: Path) -> str:
    (work / "sub").symlink_to("../outside")
    return "sub/o.txt"


def by_link_to_link(work: Path) -> str:
    (work / "first").symlink_to("second")
    (work / "second").symlink_to("../outside/o.txt")
    return "first"


def by_dots(work: Path) -> str:
    return "../outside/o.txt"


def by_dots_within(work: Path) -> str:
    (work / "sub").mkdir()
    return "sub/../../outside/o.txt"


def by_absolute_path(work: Path) -> str:
    return str(work.parent / "outside" / "o.txt")


def by_process_root(work: Path) -> str:
    return f"/proc/self/root{work.parent / 'outside' / 'o.txt'}"


def by_process_folder(work: Path) -> str:
    return f"/proc/{os.getpid()}/cwd/../{work.parent / 'outside' / 'o.txt'}"


WAYS_OUT = [
    by_link,
    by_linked_folder,
    by_link_to_link,
    by_dots,
    by_dots_within,
    by_absolute_path,
    by_process_root,
    by_process_folder,
]
BY_COMMAND = ["cat {}", "head -n1 {}", "cat < {}", "grep . {}", "X={}; cat $X", "cat ./{}"]


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_no_tool_or_command_reads_outside_the_workspace_without_approval(
    work: Path, way: Callable[[Path], str], mode: Any
) -> None:
    place = way(work)
    commands = [line.format(place) for line in BY_COMMAND if not (place.startswith("/") and "./" in line)]
    calls = [call("read_file", file_path=place), call("grep", pattern="secret", path=place)]
    calls += [shell(command, number) for number, command in enumerate(commands)]
    async with running(work.parent, [[each] for each in calls]) as rig:
        talk = await rig.talk(mode, deny)
        assert "outside secret" not in await output_of(rig, talk)
        assert len(talk.of(ApprovalRequested)) == len(calls)


async def test_a_pattern_that_matches_a_link_outside_needs_approval(work: Path) -> None:
    (work / "b.txt").symlink_to("../outside/o.txt")
    calls = [shell("cat *.txt", 1), shell("head -n 3 ?.txt", 2), shell("cat [ab].txt", 3)]
    async with running(work.parent, [[each] for each in calls]) as rig:
        talk = await rig.talk("full", deny)
        assert "outside secret" not in await output_of(rig, talk)
        assert len(talk.of(ApprovalRequested)) == 3


async def test_a_workspace_search_returns_nothing_from_links_to_the_outside(work: Path) -> None:
    (work / "link").symlink_to("../outside")
    (work / "b.txt").symlink_to("../outside/o.txt")
    calls = [call("grep", pattern="secret", path="."), call("glob", pattern="**/*")]
    async with running(work.parent, [[each] for each in calls]) as rig:
        assert "outside secret" not in await output_of(rig, await rig.talk("full", deny))


@pytest.mark.req("X7")
@pytest.mark.parametrize("name", [".SSH/id", ".ssh/../.ssh/id", ".ſſh/id", "./.ssh/id"])
async def test_reading_credentials_is_refused_under_every_equivalent_file_name(work: Path, name: str) -> None:
    keys = Path.home() / ".ssh"
    keys.mkdir()
    (keys / "id").write_text(SECRET)
    calls = [
        call("read_file", file_path=str(Path.home() / name)),
        call("read_file", 2, file_path=f"~/{name}"),
    ]
    async with running(work.parent, [[each] for each in calls]) as rig:
        talk = await rig.talk("full", allow, workspace_folder=str(Path.home()))
        assert "outside secret" not in await output_of(rig, talk)
        assert unicodedata.normalize("NFKC", ".ſſh") == ".ssh"


# -- writing


async def test_a_file_with_a_hard_link_outside_needs_approval(work: Path) -> None:
    os.link(work.parent / "outside" / "o.txt", work / "hard.txt")
    calls = [
        call("read_file", file_path="hard.txt"),
        call("write_file", file_path="hard.txt", content="mine\n"),
    ]
    async with running(work.parent, [[each] for each in calls]) as rig:
        talk = await rig.talk("full", deny, say="go")
        assert "other hard links" in talk.of(ApprovalRequested)[0].reason
    assert (work.parent / "outside" / "o.txt").read_text() == SECRET


@pytest.mark.parametrize(
    "patch",
    [
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: ../outside/a.txt\n@@\n-one\n+ONE\n*** End Patch",
        "*** Begin Patch\n*** Add File: ../outside/new.txt\n+new\n*** End Patch",
        "*** Begin Patch\n*** Delete File: ../outside/o.txt\n*** End Patch",
        "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Add File: link/new.txt\n+new\n*** End Patch",
    ],
    ids=["move", "add", "delete", "by a link"],
)
async def test_a_patch_that_leaves_the_workspace_needs_approval_and_is_not_applied_partly(
    work: Path, patch: str
) -> None:
    (work / "link").symlink_to("../outside")
    before = sorted(path.name for path in work.parent.rglob("*") if "state" not in path.parts)
    async with running(work.parent, [[shell(f"apply_patch <<'EOF'\n{patch}\nEOF")]]) as rig:
        talk = await rig.talk("full", deny, say="go")
        assert talk.of(ApprovalRequested) and talk.of(ToolCallEnd)[0].is_error
    after = sorted(path.name for path in work.parent.rglob("*") if "state" not in path.parts)
    assert after == before and (work.parent / "outside" / "o.txt").read_text() == SECRET


OUT_BY_PROCESS = [
    "/proc/self/cwd/../outside/o.txt",
    "/proc/self/root{outside}/o.txt",
    "/dev/fd/../../{outside}/new",
]


@pytest.mark.parametrize("place", OUT_BY_PROCESS)
@pytest.mark.parametrize("how", ["write_file", "shell", "apply_patch"])
async def test_a_denied_write_through_proc_or_dev_fd_changes_nothing_outside_the_workspace(
    work: Path, place: str, how: str
) -> None:
    path = place.format(outside=work.parent / "outside")
    calls = {
        "write_file": call("write_file", file_path=path, content="mine\n"),
        "shell": shell(f"echo mine > {path}; cp a.txt {path}; tee {path} < a.txt"),
        "apply_patch": shell(
            f"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n*** Move to: {path}\n@@\n-one\n+ONE\n"
            "*** End Patch\nEOF"
        ),
    }
    async with running(work.parent, [[calls[how]]]) as rig:
        talk = await rig.talk("full", deny, say="go")
        (end,) = talk.of(ToolCallEnd)
        assert end.is_error
    assert (work.parent / "outside" / "o.txt").read_text() == SECRET
    assert sorted(path.name for path in (work.parent / "outside").iterdir()) == ["o.txt"]


@pytest.mark.parametrize(
    "name", [".GIT/config", ".Git/Config", ".ɢɪᴛ/../.git/config", ".git/./config", ".giᵗ/config"]
)
async def test_a_write_to_tool_configuration_needs_approval_under_every_equivalent_file_name(
    work: Path, name: str
) -> None:
    async with running(work.parent, [[call("write_file", file_path=name, content="[core]\n")]]) as rig:
        talk = await rig.talk("full", deny, say="go")
        assert len(talk.of(ApprovalRequested)) == 1, name


@pytest.mark.parametrize(
    "name", ["PRIVATE/p.txt", "Private/P.TXT", "ｐrivate/p.txt", "prıvate/../private/p.txt"]
)
async def test_ignored_files_are_hidden_under_every_equivalent_file_name(work: Path, name: str) -> None:
    (work / ".agent-ls-ignore").write_text("Private/\n")
    place = work / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("hidden word\n")
    async with running(work.parent, [[call("read_file", file_path=name)], [shell(f"cat '{name}'")]]) as rig:
        talk = await rig.talk("full", allow)
        said = await output_of(rig, talk)
        assert "hidden word" not in said and said.count("blocked by policy") == 2


async def test_a_file_replaced_while_the_approval_is_pending_is_not_overwritten(work: Path) -> None:
    def replace_and_allow(request: ApprovalRequested) -> ApprovalAnswer:
        (work / "a.txt").unlink()
        (work / "a.txt").write_text("another\n")
        return allow(request)

    edit = call("edit_file", file_path="a.txt", old_string="one", new_string="ONE")
    async with running(work.parent, [[call("read_file", file_path="a.txt")], [edit]]) as rig:
        talk = await rig.talk("ask", replace_and_allow, say="go")
        assert talk.of(ToolCallEnd)[-1].is_error
    assert (work / "a.txt").read_text() == "another\n"


async def test_a_command_whose_file_becomes_a_link_during_the_approval_needs_approval_again(
    work: Path,
) -> None:
    def swap(request: ApprovalRequested) -> ApprovalAnswer:
        if (work / "a.txt").is_symlink():
            assert "outside" in request.reason
            return deny(request)
        (work / "a.txt").unlink()
        (work / "a.txt").symlink_to("../outside/o.txt")
        return allow(request)

    async with running(work.parent, [[shell("touch b.txt; cat a.txt")]]) as rig:
        talk = await rig.talk("ask", swap)
        assert "outside secret" not in await output_of(rig, talk)
        assert len(talk.of(ApprovalRequested)) == 2 and not (work / "b.txt").exists()


async def test_switching_to_plan_mode_during_an_approval_blocks_the_allowed_tool_call(work: Path) -> None:
    def plan(request: ApprovalRequested) -> ApprovalAnswer:
        talk.live.approver.mode = "plan"
        return allow(request)

    async with running(work.parent, [[shell("touch made")]]) as rig:
        talk = await rig.talk("ask", plan)
        assert "plan mode" in await output_of(rig, talk)
    assert not (work / "made").exists()


async def test_a_git_read_in_a_repository_made_of_workspace_files_needs_approval(work: Path) -> None:
    for name in ("objects", "refs"):
        (work / "docs" / name).mkdir(parents=True)
    (work / "docs" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / "docs" / "config").write_text("[core]\n\tfsmonitor = touch owned\n")
    commands = [
        "cd docs && git status",
        "git -C docs log",
        "git -C docs/refs status",
        "cd docs/objects; git diff",
    ]
    async with running(work.parent, [[shell(line, n)] for n, line in enumerate(commands)]) as rig:
        talk = await rig.talk("full", deny, say="go")
        assert len(talk.of(ApprovalRequested)) == len(commands)


@pytest.mark.parametrize(
    "name", ["shell.read_file", "server__shell", "read_file__shell", "shell ", "mcp/shell"]
)
async def test_an_unknown_tool_name_runs_nothing(work: Path, name: str) -> None:
    odd = tool_call(name, json.dumps({"command": "touch made"}), id="c-odd")
    async with running(work.parent, [[odd]]) as rig:
        talk = await rig.talk("full", allow, say="go")
        assert talk.of(ToolCallEnd)[0].error_kind == "unknown_tool"
    assert not (work / "made").exists()


# -- late or forged answers


async def two_questions(rig: SessionRig) -> tuple[Talk, tuple[ApprovalRequested, ...]]:
    talk = await rig.talk("ask", wait)
    talk.live.session.submit("go")
    await talk.until("approval_requested")
    return talk, talk.live.approver.pending()


async def test_a_repeated_approval_answer_does_not_allow_the_next_tool_call(work: Path) -> None:
    script: Script = [[shell("touch made", 1)], [shell("touch again", 2)], text("done")]
    async with running(work.parent, script) as rig:
        talk, (request,) = await two_questions(rig)
        talk.live.approver.answer(request.request_id, ApprovalAnswer("allow"))
        await talk.until("approval_requested", 2)
        replayed = talk.live.approver.answer(request.request_id, ApprovalAnswer("allow"))
        assert replayed.request_id == request.request_id
        (second,) = talk.live.approver.pending()
        assert second.request_id != request.request_id
    assert not (work / "again").exists()


@pytest.mark.req("L16")
@pytest.mark.parametrize("how", ["interrupt", "abort"])
async def test_a_stopped_turn_with_a_pending_approval_runs_nothing_even_after_a_late_allow(
    work: Path, how: str
) -> None:
    async with running(work.parent, [[shell("touch made")], text("done")]) as rig:
        talk, (request,) = await two_questions(rig)
        with anyio.fail_after(DEADLINE_S):
            getattr(talk.live.session, how)()
            await talk.until("processing_end")
        late = talk.live.approver.answer(request.request_id, ApprovalAnswer("allow"))
        assert (late.decision, late.decided_by) == ("deny", "interrupt")
        assert [event.decision for event in talk.of(ApprovalResolved)] == ["deny"]
    assert not (work / "made").exists()


# -- files that no tool may read


async def test_ignored_files_are_not_read_found_or_written(work: Path) -> None:
    (work / ".agent-ls-ignore").write_text("private/\n*.token\n")
    (work / "private").mkdir()
    (work / "private" / "p.txt").write_text("hidden word\n")
    (work / "x.token").write_text("hidden word\n")
    (work / "link").symlink_to("private/p.txt")
    calls = [
        call("read_file", 1, file_path="private/p.txt"),
        call("read_file", 2, file_path="x.token"),
        call("read_file", 3, file_path="link"),
        call("grep", 4, pattern="hidden", path="."),
        call("write_file", 5, file_path="private/new.txt", content="x"),
        shell("cat private/p.txt", 6),
        shell("cat link", 7),
        shell("cat *.token", 8),
    ]
    async with running(work.parent, [[each] for each in calls]) as rig:
        talk = await rig.talk("full", allow)
        said = await output_of(rig, talk)
        assert "hidden word" not in said and said.count("blocked by policy") >= 6
        assert talk.of(ApprovalRequested) == [], "it is refused, not asked about"
    assert not (work / "private" / "new.txt").exists()


THROUGH = [
    "grep -r hidden .", "grep -rn hidden", "grep --recursive hidden sub", "grep -R hidden sub/deep", "rg hidden",
    "rg hidden sub", "cd sub && grep -r hidden .", "find . -type f -exec cat {} +", "find . -type f | xargs cat",
    "find sub -name '*.txt' -exec head -n 3 {} \\;", "rg --files --no-ignore | xargs head",
    "tar cf - .", "cp -r sub copy", "cp -a . ../project/copy", "diff -r sub other", "zip -r out.zip .",
    "grep -r hidden sub | head -n 1", "x=sub; grep -r hidden $x", "bash -c 'grep -r hidden .'",
]  # fmt: skip
NOT_THROUGH = [
    "grep -r hidden other", "rg hidden other", "grep hidden a.txt", "ls -R", "find . -name '*.txt'", "find . -type f",
    "grep -rl hidden .", "cat a.txt", "wc -l a.txt", "git status", "git grep hidden",
]  # fmt: skip


async def asked_beside_what_is_ignored(work: Path, command: str) -> list[ApprovalRequested]:
    """Return the approval requests for this command in a folder with a deeply nested ignored file.

    The text of the ignored file must not appear in any result.
    """
    (work / ".agent-ls-ignore").write_text("private.txt\n")
    (work / "other").mkdir()
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "sub" / "deep" / "private.txt").write_text("hidden word\n")
    async with running(work.parent, [[shell(command)]]) as rig:
        talk = await rig.talk("full", deny)
        assert "hidden word" not in await output_of(rig, talk)
        return talk.of(ApprovalRequested)


@pytest.mark.parametrize("command", THROUGH)
async def test_a_command_that_reads_a_folder_with_ignored_files_needs_approval(
    work: Path, command: str
) -> None:
    assert len(await asked_beside_what_is_ignored(work, command)) == 1


@pytest.mark.parametrize("command", NOT_THROUGH)
async def test_a_command_that_reveals_nothing_about_ignored_files_needs_no_approval(
    work: Path, command: str
) -> None:
    assert await asked_beside_what_is_ignored(work, command) == []


async def test_reading_a_file_of_secrets_needs_approval(work: Path) -> None:
    (work / ".env").write_text("TOKEN=hidden word\n")
    (work / ".env.example").write_text("TOKEN=\n")
    calls = [
        call("read_file", 1, file_path=".env"),
        call("grep", 2, pattern="hidden", path="."),
        shell("cat .env", 3),
        call("read_file", 4, file_path=".env.example"),
    ]
    async with running(work.parent, [[each] for each in calls]) as rig:
        talk = await rig.talk("full", deny)
        assert "hidden word" not in await output_of(rig, talk)
        assert len(talk.of(ApprovalRequested)) == 2
    async with running(work.parent, [[call("read_file", 1, file_path=".env")]]) as rig:
        assert "hidden word" in await output_of(rig, await rig.talk("full", allow))
