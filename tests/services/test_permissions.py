from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    FileChange,
    TerminalOpen,
    ToolCallEnd,
)
from agent_ls.policy.rules import EDITS_RULE
from agent_ls.policy.situation import Mode
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import parse_settings
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import allow, deny, running

OUTSIDE_TEXT = "not yours\n"
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch"
END = text("done")

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]


def call(name: str, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id=f"c-{name}")


def edit(path: str, old: str = "one", new: str = "ONE") -> CallTool:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


def read(path: str) -> CallTool:
    return call("read_file", file_path=path)


def shell(command: str, **arguments: Any) -> CallTool:
    return call("shell", command=command, **arguments)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace next to a folder `outside` that is not part of it."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / ".git" / "config").write_text("one\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o.txt").write_text(OUTSIDE_TEXT)
    (folder / "link.txt").symlink_to(outside / "o.txt")
    (folder / "linked").symlink_to(outside)
    return folder


def outside(work: Path) -> Path:
    return work.parent / "outside" / "o.txt"


# The result of a call in each mode when the user denies: "refused" without a question, "asked" (and denied), or
# "done".
MODES: dict[str, tuple[list[CallTool], dict[Mode, str]]] = {
    "read": ([read("a.txt")], {"plan": "done", "ask": "done", "edits": "done", "full": "done"}),
    "read by a link": (
        [read("link.txt")],
        {"plan": "asked", "ask": "asked", "edits": "asked", "full": "asked"},
    ),
    "read by dots": ([read("../outside/o.txt")], {"plan": "asked", "full": "asked"}),
    "edit": (
        [read("a.txt"), edit("a.txt")],
        {"plan": "refused", "ask": "asked", "edits": "done", "full": "done"},
    ),
    "edit by a link": ([edit("link.txt", "not yours", "mine")], {"edits": "asked", "full": "asked"}),
    "create by a linked folder": (
        [call("write_file", file_path="linked/new.txt", content="x")],
        {"edits": "asked", "full": "asked"},
    ),
    "create outside": (
        [call("write_file", file_path="../outside/new.txt", content="x")],
        {"ask": "asked", "full": "asked"},
    ),
    "edit of git": ([read(".git/config"), edit(".git/config")], {"edits": "asked", "full": "asked"}),
    "command": ([shell("touch t")], {"plan": "refused", "ask": "asked", "edits": "asked", "full": "done"}),
    "patch as a command": (
        [shell(f"apply_patch <<'EOF'\n{PATCH}\nEOF")],
        {"plan": "refused", "ask": "asked", "edits": "done", "full": "done"},
    ),
    "command elsewhere": ([shell("touch t", working_dir="..")], {"ask": "asked", "full": "asked"}),
    "command in a linked folder": ([shell("touch t", working_dir="linked")], {"full": "asked"}),
    "command with rm": ([shell("rm a.txt")], {"full": "asked"}),
    "search outside": ([call("grep", pattern="yours", path="..")], {"plan": "asked", "full": "asked"}),
    "glob outside": ([call("glob", pattern="*", path="linked")], {"full": "asked"}),
}


@pytest.mark.req("X8", "X6", "H7")
@pytest.mark.parametrize(
    ("calls", "mode", "expected"),
    [
        pytest.param(calls, mode, expected, id=f"{name}-{mode}")
        for name, (calls, by_mode) in MODES.items()
        for mode, expected in by_mode.items()
    ],
)
async def test_the_mode_decides_about_approval_and_a_denial_changes_nothing(
    work: Path, calls: list[CallTool], mode: Mode, expected: str
) -> None:
    before = snapshot(work.parent)
    async with running(work.parent, [[step] for step in calls]) as rig:
        talk = await rig.talk(mode, deny, say="go")
        last = talk.of(ToolCallEnd)[-1]
        asked = talk.of(ApprovalRequested)
        was_done = not last.is_error
    found = "done" if was_done else "asked" if asked else "refused"
    assert found == expected, last.output
    if expected != "done":
        assert last.error_kind == "permission_denied"
        assert snapshot(work.parent) == before


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the files that the test made, without those of the state folder."""
    return {
        str(path): path.read_bytes()
        for name in ("project", "outside")
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    }


@pytest.mark.req("T4", "H6", "H7")
async def test_an_apply_patch_shell_command_is_approved_as_an_edit_and_creates_hunks(
    work: Path,
) -> None:
    async with running(work.parent, [[shell(f"apply_patch '{PATCH}'")]]) as rig:
        talk = await rig.talk("ask", say="go")
        (request,) = talk.of(ApprovalRequested)
        assert (request.effect["type"], request.summary) == ("WriteEffect", "apply_patch a.txt")
        (change,) = talk.of(FileChange)
        assert [hunk.lines for hunk in change.hunks] == [("ONE\n",)]
        assert talk.of(TerminalOpen) == []
    assert (work / "a.txt").read_text() == "ONE\n"


@pytest.mark.req("X6", "H7")
async def test_an_edit_outside_the_workspace_needs_a_read_approval_and_a_write_approval(work: Path) -> None:
    path = str(outside(work))
    async with running(work.parent, [[read(path)], [edit(path, "not yours", "mine")]]) as rig:
        talk = await rig.talk("full", say="go")
        effects = [request.effect["type"] for request in talk.of(ApprovalRequested)]
    assert effects == ["ReadEffect", "WriteEffect"], "what was read may be looked at again"
    assert outside(work).read_text() == "mine\n"


@pytest.mark.req("X6", "X9")
async def test_after_a_denied_outside_read_no_file_content_is_sent_to_the_model(
    work: Path,
) -> None:
    path = str(outside(work))
    async with running(work.parent, [[edit(path, "not", "mine")]]) as rig:
        talk = await rig.talk("full", deny, say="go")
        assert [request.effect["type"] for request in talk.of(ApprovalRequested)] == ["ReadEffect"]
        (result,) = rig.results()
    assert "Permission denied" in result.content and "yours" not in result.content


@pytest.mark.req("X6", "H7")
async def test_a_file_that_becomes_a_link_during_the_approval_is_not_written_through(work: Path) -> None:
    def swap_and_allow(request: ApprovalRequested) -> ApprovalAnswer:
        (work / "a.txt").unlink()
        (work / "a.txt").symlink_to(outside(work))
        outside(work).write_text("one\n")  # so that the edit would apply
        return allow(request)

    async with running(work.parent, [[read("a.txt")], [edit("a.txt")]]) as rig:
        talk = await rig.talk("ask", _second_no(swap_and_allow), say="go")
        last = talk.of(ToolCallEnd)[-1]
    assert last.is_error and last.error_kind in ("access_denied", "permission_denied"), last.output
    assert outside(work).read_text() == "one\n"


def _second_no(
    first: Callable[[ApprovalRequested], ApprovalAnswer],
) -> Callable[[ApprovalRequested], ApprovalAnswer]:
    answers = iter([first])
    return lambda request: next(answers, deny)(request)


@pytest.mark.req("X6")
async def test_a_working_folder_that_becomes_a_link_during_the_approval_is_not_used(work: Path) -> None:
    (work / "sub").mkdir()

    def swap_and_allow(request: ApprovalRequested) -> ApprovalAnswer:
        if (work / "sub").is_symlink():
            return deny(request)
        (work / "sub").rmdir()
        (work / "sub").symlink_to(outside(work).parent)
        return allow(request)

    async with running(work.parent, [[shell("echo x > made", working_dir="sub")]]) as rig:
        talk = await rig.talk("ask", swap_and_allow, say="go")
        again = talk.of(ApprovalRequested)[1]
        assert str(outside(work).parent) in again.reason, "where it leads now is asked about"
    assert not (outside(work).parent / "made").exists()


@pytest.mark.req("X6", "O5")
async def test_a_project_document_linked_to_credentials_is_not_sent_to_the_model(work: Path) -> None:
    keys = Path.home() / ".ssh"
    keys.mkdir()
    (keys / "id").write_text("very secret")
    (work / "AGENTS.md").symlink_to(keys / "id")
    async with running(work.parent) as rig:
        await rig.talk(say="go")
        prompt = rig.model.requests[0].messages[0].text
    assert "very secret" not in prompt and "not be read" in prompt


@pytest.mark.req("O5")
async def test_project_documents_are_read_up_to_the_project_root(work: Path) -> None:
    (work / "AGENTS.md").write_text("Use tabs.")
    (work / "sub").mkdir()
    async with running(work.parent) as rig:
        await rig.talk(workspace_folder=str(work / "sub"), say="go")
        assert "Use tabs." in rig.model.requests[0].messages[0].text


@pytest.mark.req("X6")
async def test_edits_in_a_workspace_folder_opened_through_a_symlink_need_no_outside_approval(
    work: Path,
) -> None:
    (work.parent / "by-link").symlink_to(work)
    async with running(work.parent, [[read("a.txt")], [edit("a.txt")]]) as rig:
        talk = await rig.talk("edits", deny, workspace_folder=str(work.parent / "by-link"), say="go")
        assert talk.of(ApprovalRequested) == []
    assert (work / "a.txt").read_text() == "ONE\n"


# -- how far an answer reaches


def by_rule(scope: str, kind: str = "") -> Callable[[ApprovalRequested], ApprovalAnswer]:
    """Allow with the first rule of this scope whose id begins with `kind`; deny without such a rule."""

    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        rules = [rule for rule in request.rules if rule.scope == scope and rule.id.startswith(kind)]
        rule = next(iter(rules), None)
        if rule is None:
            return ApprovalAnswer("deny", reason="no such rule")
        return ApprovalAnswer("allow", rule.scope, rule.id)

    return answer


@pytest.mark.req("H7")
async def test_a_turn_rule_ends_with_the_turn(work: Path) -> None:
    script: Script = [[shell("touch t")], [shell("touch t")], END, [shell("touch t")]]
    async with running(work.parent, script) as rig:
        talk = await rig.talk("ask", by_rule("turn"), say="one")
        assert len(talk.of(ApprovalRequested)) == 1
        await talk.say("two")
        assert len(talk.of(ApprovalRequested)) == 2


@pytest.mark.req("H7")
async def test_a_session_rule_applies_to_exactly_the_displayed_effect(work: Path) -> None:
    script: Script = [
        [shell("touch t")],
        END,
        [shell("touch t")],
        [shell("touch t ")],
        [shell("touch t", working_dir=".git")],
    ]
    async with running(work.parent, script) as rig:
        talk = await rig.talk("ask", by_rule("session", "command:"), say="one")
        await talk.say("two")
        shown = [request.effect["command"] for request in talk.of(ApprovalRequested)]
    assert shown == ["touch t", "touch t ", "touch t"]


@pytest.mark.req("H7")
async def test_a_session_rule_applies_after_reopening_and_in_no_other_session(work: Path) -> None:
    async with running(work.parent, [[shell("touch t")]]) as rig:
        talk = await rig.talk("ask", by_rule("session", "command:"), say="one")
    async with running(
        work.parent, [[shell("touch t")], [shell("touch t ")], END, [shell("touch t")]]
    ) as rig:
        again = await rig.reopen(talk.session_id)
        await again.say("two")
        assert [request.effect["command"] for request in again.of(ApprovalRequested)] == [
            "touch t",
            "touch t ",
        ]
        other = await rig.talk("ask", say="three")
        assert len(other.of(ApprovalRequested)) == 1


@pytest.mark.req("H7")
async def test_a_turn_rule_does_not_apply_after_reopening(work: Path) -> None:
    async with running(work.parent, [[shell("touch t")]]) as rig:
        talk = await rig.talk("ask", by_rule("turn"), say="one")
    async with running(work.parent, [[shell("touch t")]]) as rig:
        again = await rig.reopen(talk.session_id)
        await again.say("two")
        assert len(again.of(ApprovalRequested)) == 2


@pytest.mark.req("H7", "X8")
async def test_the_first_edit_can_be_allowed_for_the_session_and_allow_once_is_not_stored(work: Path) -> None:
    script: Script = [[read("a.txt")], [edit("a.txt")], [edit("a.txt", "ONE", "two")]]
    async with running(work.parent, script) as rig:
        talk = await rig.talk("ask", allow, say="go")
        requests = talk.of(ApprovalRequested)
    assert [rule.id for rule in requests[0].rules] == [EDITS_RULE] and len(requests) == 2
    async with running(
        work.parent, [[read("a.txt")], [edit("a.txt", "two", "3")], [edit("a.txt", "3", "4")]]
    ) as rig:
        talk = await rig.talk("ask", by_rule("session"), say="go")
        assert len(talk.of(ApprovalRequested)) == 1
    assert (work / "a.txt").read_text() == "4\n"


WRONG_RULES = ["command:made-up", EDITS_RULE]


@pytest.mark.req("H7")
async def test_a_rule_that_was_not_offered_is_refused_and_resolves_nothing(work: Path) -> None:
    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        for rule_id in WRONG_RULES:
            with pytest.raises(BadChoiceError) as refused:
                talk.live.approver.answer(request.request_id, ApprovalAnswer("allow", "session", rule_id))
            assert request.rules and all(rule.id in refused.value.hint for rule in request.rules)
        return ApprovalAnswer("deny")

    async with running(work.parent, [[shell("touch t")]]) as rig:
        talk = await rig.talk("ask", answer)
        await talk.say("go")
        assert [event.decision for event in talk.of(ApprovalResolved)] == ["deny"]


@pytest.mark.req("H7")
async def test_a_rule_is_not_stored_for_a_wider_scope_than_offered(work: Path) -> None:
    path = str(outside(work))

    def wider(request: ApprovalRequested) -> ApprovalAnswer:
        assert request.rules == () or request.rules[0].id.startswith("read:")
        return ApprovalAnswer("allow", "session", "")  # "for the session", but no rule is named

    async with running(work.parent, [[read(path)], [read(path)]]) as rig:
        talk = await rig.talk("ask", wider, say="go")
        assert [event.scope for event in talk.of(ApprovalResolved)] == ["once", "once"]


@pytest.mark.req("X6", "H7")
async def test_a_rule_to_read_a_link_applies_to_its_target(work: Path) -> None:
    other = work.parent / "outside" / "other.txt"
    other.write_text("other\n")

    asked: list[str] = []

    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        asked.append(request.rules[0].label)
        return by_rule("session")(request)

    async with running(work.parent, [[read("link.txt")], END, [read("link.txt")]]) as rig:
        talk = await rig.talk("ask", answer, say="one")
        (work / "link.txt").unlink()
        (work / "link.txt").symlink_to(other)
        await talk.say("two")
    assert [str(outside(work)) in asked[0], str(other) in asked[1]] == [True, True]


@pytest.mark.req("H7", "H2")
async def test_a_changed_mode_applies_from_the_next_tool_call(work: Path) -> None:
    def switch(request: ApprovalRequested) -> ApprovalAnswer:
        talk.live.approver.mode = "full"
        return allow(request)

    async with running(work.parent, [[shell("touch t")], [shell("touch u")]]) as rig:
        talk = await rig.talk("ask", switch)
        await talk.say("go")
        assert len(talk.of(ApprovalRequested)) == 1


@pytest.mark.req("T4")
@pytest.mark.parametrize(("choice", "text"), [("first", "ONE\none\t\n"), ("refuse", "one  \none\t\n")])
async def test_the_ambiguous_edits_setting_decides_whether_a_loosely_matching_patch_is_applied(
    work: Path, choice: str, text: str
) -> None:
    (work / "a.txt").write_text("one  \none\t\n")
    settings, problems = parse_settings({"edits": {"ambiguous": choice}})
    assert problems == []
    script = [[shell(f"apply_patch '{PATCH}'")]]
    async with running(work.parent, script, settings=settings) as rig:
        await rig.talk("edits", say="go")
    assert (work / "a.txt").read_text() == text
