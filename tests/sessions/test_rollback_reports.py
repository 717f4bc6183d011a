"""Roll backs in stories that users of checkpoints in other programs reported."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.services.review.decision_request import Selection
from tests.sessions.test_rolling_back import OLD, back, call, edit, read, write
from tests.support.fake_provider import CallTool, Piece, text
from tests.support.session_rig import SessionRig, Talk, running

pytestmark = pytest.mark.req("X10")

Script = Sequence[Piece | Sequence[Piece]]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def shell(id_: str, command: str) -> CallTool:
    return call("shell", id_, command=command)


async def played(rig: SessionRig, *messages: str) -> tuple[Talk, list[str]]:
    """Send messages, and return the session and the ids of their turns."""
    talk = await rig.talk(mode="full")
    for words in messages:
        await talk.say(words)
    return talk, [it.turn_id for it in talk.envelopes if it.kind == "user_input"]


def commit_all(folder: Path) -> str:
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "all")
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.report("cline/cline#14367")
@pytest.mark.report("github/copilot-cli#1675")
async def test_files_that_the_agent_did_not_write_survive_a_roll_back(tmp_path: Path) -> None:
    script: Script = [
        read("c1"), edit("c2", "two", "TWO"), shell("c3", "printf 'data/\\n' > .gitignore"), text("Done."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        commit_all(rig.folder)
        (rig.folder / "data").mkdir()
        (rig.folder / "data" / "large.jsonl").write_text("1\n")
        (rig.folder / "notes.txt").write_text("untracked\n")
        talk, (first,) = await played(rig, "first")
        (rig.folder / "output.txt").write_text("made by a program of the user\n")
        await back(rig, talk, first)

        assert (rig.folder / "a.txt").read_text() == OLD and not (rig.folder / ".gitignore").exists()
        kept = {"data/large.jsonl", "notes.txt", "output.txt"}
        assert all((rig.folder / name).exists() for name in kept)


@pytest.mark.report("cline/cline#13550")
@pytest.mark.report("cline/cline#5598")
async def test_a_roll_back_leaves_the_repository_as_it_is(tmp_path: Path) -> None:
    script: Script = [read("c1"), edit("c2", "two", "TWO"), text("Done.")]
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        nested = rig.folder / "nested"
        nested.mkdir()
        (nested / "b.txt").write_text("b\n")
        commit_all(nested)
        commit_all(rig.folder)
        talk, (first,) = await played(rig, "first")
        (rig.folder / "mine.txt").write_text("mine\n")
        head = commit_all(rig.folder)
        await back(rig, talk, first)

        assert git(rig.folder, "rev-parse", "HEAD") == head
        assert git(rig.folder, "status", "--short") == "M a.txt"
        assert (rig.folder / "mine.txt").exists() and git(nested, "status", "--short") == ""
        assert not list(rig.folder.rglob(".git_disabled"))


MAKE_INNER = """git init -q sub; cd sub; echo x > x.txt; git add .
git -c user.name=a -c user.email=a@b commit -qm x; cd ..; echo y > y.txt"""


@pytest.mark.report("jdx/mise#12835")
async def test_a_roll_back_leaves_the_commits_of_a_repository_that_the_turn_made(tmp_path: Path) -> None:
    async with running(tmp_path, [shell("c1", MAKE_INNER), text("Done.")]) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        commit_all(rig.folder)
        talk, (first,) = await played(rig, "make it")
        await back(rig, talk, first)

        assert not (rig.folder / "y.txt").exists()
        assert git(rig.folder / "sub", "show", "HEAD:x.txt") == "x"


@pytest.mark.report("anthropics/claude-code#34368")
@pytest.mark.parametrize("command", ["rm -f made.txt", "mv made.txt other.txt"])
async def test_a_file_that_the_agent_made_and_deleted_comes_back(tmp_path: Path, command: str) -> None:
    script: Script = [write("c1", "made.txt", "made\n"), text("One."), shell("c2", command), text("Two.")]
    async with running(tmp_path, script) as rig:
        talk, (_, second) = await played(rig, "make it", "delete it")
        assert not (rig.folder / "made.txt").exists()
        await back(rig, talk, second)

        assert {it.name: it.read_text() for it in rig.folder.iterdir()} == {"made.txt": "made\n"}


@pytest.mark.report("anthropics/claude-code#20671")
async def test_a_moved_file_stays_moved(tmp_path: Path) -> None:
    script: Script = [
        read("c1"), edit("c2", "two", "TWO"), shell("c3", "mv a.txt b.txt"), text("One."),
        read("c4", "b.txt"), edit("c5", "four", "FOUR", "b.txt"), text("Two."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        talk, (_, second) = await played(rig, "edit and move it", "edit it again")
        expected = {"b.txt": "one\nTWO\nthree\nFOUR\n"}
        assert {it.name: it.read_text() for it in rig.folder.iterdir()} == expected
        await back(rig, talk, second)

        assert {it.name: it.read_text() for it in rig.folder.iterdir()} == {
            "b.txt": "one\nTWO\nthree\nfour\n"
        }


@pytest.mark.report("anthropics/claude-code#16023")
@pytest.mark.report("zed-industries/zed#28676")
async def test_text_of_the_user_survives_a_roll_back_and_its_way_back(tmp_path: Path) -> None:
    script: Script = [read("c1"), edit("c2", "two", "TWO"), text("Done.")]
    async with running(tmp_path, script) as rig:
        file = rig.folder / "a.txt"
        file.write_text(OLD)
        talk, (first,) = await played(rig, "first")
        file.write_text(file.read_text() + "mine\n")
        done = await back(rig, talk, first)
        assert file.read_text() == OLD + "mine\n"
        await back(rig, talk, done.revert_id)

        assert file.read_text() == "one\nTWO\nthree\nfour\nmine\n"


@pytest.mark.report("anthropics/claude-code#91733")
async def test_an_edit_of_an_untracked_new_file_is_rolled_back(tmp_path: Path) -> None:
    script: Script = [
        write("c1", "new.txt", "v1\n"), text("One."), edit("c2", "v1", "v2", "new.txt"), text("Two."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        talk, (_, second) = await played(rig, "make it", "edit it")
        done = await back(rig, talk, second)

        assert (rig.folder / "new.txt").read_text() == "v1\n"
        assert [it.state for it in done.files] == ["restored"]


@pytest.mark.report("anthropics/claude-code#93262")
@pytest.mark.parametrize(
    "command",
    [
        "cat > a.txt <<'END'\nother\nEND",
        "sed -i s/two/TWO/ a.txt",
        "python3 -c \"p='a.txt'; t=open(p).read(); open(p,'w').write(t.upper())\"",
        "printf 'more\\n' | tee -a a.txt > /dev/null",
    ],
)
async def test_a_change_made_by_a_command_is_shown_and_rolled_back(tmp_path: Path, command: str) -> None:
    script: Script = [read("c1"), shell("c2", command), text("Done.")]
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        talk, (first,) = await played(rig, "first")
        assert (rig.folder / "a.txt").read_text() != OLD
        assert rig.manager.review.open_hunks(session_id=talk.session_id)
        await back(rig, talk, first)

        assert (rig.folder / "a.txt").read_text() == OLD
        assert not rig.manager.review.open_hunks(session_id=talk.session_id)


@pytest.mark.report("jsmestad/minga#2457")
async def test_a_rejected_hunk_stays_out_of_the_file_and_of_what_the_agent_reads(tmp_path: Path) -> None:
    script: Script = [
        read("c1"), edit("c2", "two", "TWO"), write("c3", "made.txt", "made\n"), text("One."),
        read("c4"), edit("c5", "four", "FOUR"), text("Two."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        talk, _ = await played(rig, "first")
        found = rig.manager.review.open_hunks(session_id=talk.session_id)
        ids = [hunk.id for hunks in found.values() for hunk in hunks]
        await rig.manager.review.review("undo", Selection(hunk_ids=ids))
        await talk.say("second")

        seen = str([part for message in rig.model.requests[-1].messages for part in message.parts])
        now = seen.rpartition("c4")[2]
        assert "2 | two" in now and "2 | TWO" not in now
        assert {it.name: it.read_text() for it in rig.folder.iterdir()} == {
            "a.txt": "one\ntwo\nthree\nFOUR\n"
        }


@pytest.mark.report("anomalyco/opencode#33940")
@pytest.mark.parametrize("name", ["a.txt", "b.txt"])
async def test_a_roll_back_leaves_the_changes_of_other_sessions(tmp_path: Path, name: str) -> None:
    script: Script = [
        read("c1"), edit("c2", "two", "TWO"), text("One."),
        read("c3", name), edit("c4", "four", "FOUR", name), text("Two."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        for each in ("a.txt", "b.txt"):
            (rig.folder / each).write_text(OLD)
        talk, (first,) = await played(rig, "first")
        await played(rig, "second")
        await back(rig, talk, first)

        assert (rig.folder / name).read_text() == "one\ntwo\nthree\nFOUR\n"
        assert "TWO" not in (rig.folder / "a.txt").read_text()


@pytest.mark.report("anomalyco/opencode#46783")
async def test_a_file_that_was_only_read_survives_a_roll_back(tmp_path: Path) -> None:
    async with running(tmp_path, [read("c1", "later.txt"), text("It is not there.")]) as rig:
        talk, (first,) = await played(rig, "read it")
        (rig.folder / "later.txt").write_text("downloaded\n")
        done = await back(rig, talk, first)

        assert (rig.folder / "later.txt").read_text() == "downloaded\n" and done.files == ()


@pytest.mark.report("anomalyco/opencode#15391")
async def test_other_files_are_not_touched_by_a_roll_back_and_its_way_back(tmp_path: Path) -> None:
    script: Script = [read("c1"), edit("c2", "two", "TWO"), read("c3", "b.txt"), text("Done.")]
    async with running(tmp_path, script) as rig:
        for name in ("a.txt", "b.txt", "c.txt"):
            (rig.folder / name).write_text(OLD)
        talk, (first,) = await played(rig, "first")
        others = [rig.folder / "b.txt", rig.folder / "c.txt"]
        before = [(it.stat().st_mtime_ns, it.stat().st_ino) for it in others]
        done = await back(rig, talk, first)
        await back(rig, talk, done.revert_id)

        assert [(it.stat().st_mtime_ns, it.stat().st_ino) for it in others] == before


@pytest.mark.report("github/copilot-cli#2757")
async def test_uncommitted_text_from_before_the_turn_stays(tmp_path: Path) -> None:
    script: Script = [
        read("c1"), edit("c2", "two", "TWO"), text("One."), edit("c3", "three", "THREE"), text("Two."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        file = rig.folder / "a.txt"
        file.write_text(OLD)
        commit_all(rig.folder)
        file.write_text("mine\n" + OLD)
        talk, (_, second) = await played(rig, "first", "second")
        await back(rig, talk, second)

        assert file.read_text() == "mine\none\nTWO\nthree\nfour\n"


TEN = "".join(f"line {number}\n" for number in range(10))


async def hunks_of(rig: SessionRig, talk: Talk) -> list[str]:
    """Return the ids of the undecided hunks, by position."""
    found = rig.manager.review.open_hunks(session_id=talk.session_id)
    return [hunk.id for hunks in found.values() for hunk in hunks]


@pytest.mark.report("microsoft/vscode-copilot-release#8299")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
async def test_hunks_are_undone_in_any_order(tmp_path: Path, order: Sequence[int]) -> None:
    script: Script = [
        read("c1"),
        [edit("c2", "line 1\n", "a\nb\nc\n"), edit("c3", "line 4\n", ""), edit("c4", "line 8\n", "x\ny\n")],
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(TEN)
        talk, _ = await played(rig, "first")
        ids = await hunks_of(rig, talk)
        assert len(ids) == 3
        for at in order:
            _, refused = await rig.manager.review.review("undo", Selection(hunk_ids=[ids[at]]))
            assert not refused

        assert (rig.folder / "a.txt").read_text() == TEN


@pytest.mark.report("microsoft/vscode#260840")
async def test_undo_leaves_what_was_kept(tmp_path: Path) -> None:
    script: Script = [
        read("c1"), edit("c2", "two", "TWO"), text("One."), edit("c3", "three", "THREE"), text("Two."),
    ]  # fmt: skip
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        talk, _ = await played(rig, "first")
        await rig.manager.review.review("keep", Selection(hunk_ids=await hunks_of(rig, talk)))
        await talk.say("second")
        await rig.manager.review.review("undo", Selection(hunk_ids=await hunks_of(rig, talk)))

        assert (rig.folder / "a.txt").read_text() == "one\nTWO\nthree\nfour\n"


@pytest.mark.report("microsoft/vscode-copilot-release#3492")
async def test_undo_after_a_restart_does_not_bring_back_an_old_file(tmp_path: Path) -> None:
    script: Script = [read("c1"), edit("c2", "two", "TWO"), text("Done.")]
    other = "all\nis\nnew\nhere\n"
    async with running(tmp_path, script) as rig:
        (rig.folder / "a.txt").write_text(OLD)
        talk, _ = await played(rig, "first")
        session_id, ids = talk.session_id, await hunks_of(rig, talk)
    async with running(tmp_path, []) as rig:
        (rig.folder / "a.txt").write_text(other)
        await rig.reopen(session_id)
        changed, refused = await rig.manager.review.review("undo", Selection(hunk_ids=ids))

        assert not changed and refused
        assert (rig.folder / "a.txt").read_text() == other


@pytest.mark.report("microsoft/vscode-copilot-release#3749")
@pytest.mark.parametrize("now", ["made\n", "", "mine\n"])
async def test_a_new_file_in_which_the_user_deletes_lines_stays(tmp_path: Path, now: str) -> None:
    async with running(tmp_path, [write("c1", "new.txt", "made\nby\nit\n"), text("Done.")]) as rig:
        talk, _ = await played(rig, "make it")
        (rig.folder / "new.txt").write_text(now)
        await rig.manager.review.review("keep", Selection(hunk_ids=await hunks_of(rig, talk)))

        assert (rig.folder / "new.txt").read_text() == now


@pytest.mark.report("arthurzengg/opencui#486")
@pytest.mark.parametrize(
    "content", [b"one\ntwo\n", b"one\ntwo", b"one\r\ntwo\r\n", b"\n", b"\xef\xbb\xbfone\n", b""]
)
async def test_an_undone_deletion_brings_back_each_byte(tmp_path: Path, content: bytes) -> None:
    script: Script = [read("c1"), shell("c2", "rm -f a.txt"), text("Done.")]
    async with running(tmp_path, script) as rig:
        file = rig.folder / "a.txt"
        file.write_bytes(content)
        talk, _ = await played(rig, "delete it")
        assert not file.exists()
        _, refused = await rig.manager.review.review("undo", Selection(hunk_ids=await hunks_of(rig, talk)))

        assert not refused and file.read_bytes() == content
