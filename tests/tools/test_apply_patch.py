from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

import pytest

from agent_ls.environments.effects import WriteEffect
from agent_ls.environments.errors import StaleFileError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.patch.errors import Code
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolError
from agent_ls.tools.patch_errors import KINDS
from agent_ls.tools.read_file import READ_FILE
from tests.support.tool_calls import ToolCalls, TypingEnvironment

FILES = {"a.py": "def f():\n    return 1\n", "b.py": "B = 1\n", "old.py": "gone\n", "sub/c.py": "C = 1\n"}


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def session(files: dict[str, str | bytes] | None = None) -> ToolCalls:
    return ToolCalls(MemoryEnvironment(files or FILES))


def files(calls: ToolCalls) -> dict[str, bytes]:
    return {path.removeprefix("/project/"): file.content for path, file in calls.environment.files.items()}


EVERYTHING = patch(
    "*** Add File: new/n.txt",
    "+hello",
    "*** Update File: a.py",
    "@@ def f():",
    "-    return 1",
    "+    return 2",
    "*** Update File: b.py",
    "*** Move to: moved/b.py",
    "@@",
    "-B = 1",
    "+B = 2",
    "*** Delete File: old.py",
)


@pytest.mark.req("T4")
async def test_apply_patch_when_the_patch_matches_then_all_files_change_in_one_commit() -> None:
    calls = session()
    output = await calls.call(APPLY_PATCH, patch=EVERYTHING)
    assert output.text == (
        "Success. Updated the following files:\nA new/n.txt\nM a.py\nM moved/b.py\nD old.py\n"
    )
    assert files(calls) == {
        "new/n.txt": b"hello\n",
        "a.py": b"def f():\n    return 2\n",
        "moved/b.py": b"B = 2\n",
        "sub/c.py": b"C = 1\n",
    }
    assert {state.path for state in output.files} == {
        "/project/new/n.txt", "/project/a.py", "/project/moved/b.py", "/project/b.py", "/project/old.py",
    }  # fmt: skip


@pytest.mark.req("T4", "X8")
async def test_apply_patch_preparation_lists_every_path_with_a_diff_and_writes_nothing() -> None:
    calls = session()
    effect = (await calls.prepare(APPLY_PATCH, patch=EVERYTHING)).effect
    assert isinstance(effect, WriteEffect)
    assert sorted((planned.action, planned.path) for planned in effect.files) == [
        ("create", "/project/new/n.txt"),
        ("delete", "/project/old.py"),
        ("modify", "/project/a.py"),
        ("move", "/project/b.py"),
        ("move", "/project/moved/b.py"),
    ]
    diffs = {planned.path: planned.diff for planned in effect.files}
    assert (
        diffs["/project/a.py"]
        == "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
    )
    assert files(calls) == {name: text.encode() for name, text in FILES.items()}


@pytest.mark.req("T4")
async def test_apply_patch_effect_contains_the_absolute_path_of_a_file_outside_the_workspace() -> None:
    effect = (await session().prepare(APPLY_PATCH, patch=patch("*** Add File: ../out.txt", "+x"))).effect
    assert isinstance(effect, WriteEffect)
    assert [planned.path for planned in effect.files] == ["/out.txt"]


@pytest.mark.req("T4", "T9", "R1")
@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        pytest.param("*** Update File: a.py", "validation", "'*** Begin Patch'", id="no-begin"),
        pytest.param(patch(), "validation", "has no file sections", id="nothing-in-it"),
        pytest.param(
            patch("*** Update File: none.py", "@@", "-x", "+y"), "file_not_found", "none.py", id="missing"
        ),
        pytest.param(
            patch("*** Update File: c.py", "@@", "-x", "+y"),
            "file_not_found",
            "c.py: Did you mean sub/c.py or",
            id="near",
        ),
        pytest.param(patch("*** Delete File: none.py"), "file_not_found", "none.py", id="delete-missing"),
        pytest.param(patch("*** Update File: sub", "@@", "-x", "+y"), "not_a_file", "sub", id="folder"),
        pytest.param(
            patch("*** Update File: a.py", "@@", "-absent", "+y"), "edit_conflict", "absent", id="no-place"
        ),
        pytest.param(
            patch("*** Add File: n", "+x", "*** Update File: a.py", "@@", "-absent", "+y"),
            "edit_conflict",
            "Nothing was written",
            id="second-section-fails",
        ),
    ],
)
async def test_apply_patch_when_the_patch_cannot_be_applied_then_the_error_gives_the_reason(
    text: str, kind: str, says: str
) -> None:
    error = await session().fails(APPLY_PATCH, patch=text)
    assert error.kind == kind
    assert says in str(error)


OVERWRITE = patch("*** Add File: a.py", "+new")


@pytest.mark.req("X9")
async def test_apply_patch_refuses_add_file_for_an_existing_unread_file() -> None:
    assert (await session().fails(APPLY_PATCH, patch=OVERWRITE)).kind == "not_read"


@pytest.mark.req("X9")
async def test_apply_patch_refuses_add_file_for_a_file_that_changed_since_the_last_read() -> None:
    calls = session()
    await calls.call(READ_FILE, file_path="a.py")
    calls.environment.put("a.py", "typed\n")
    assert (await calls.fails(APPLY_PATCH, patch=OVERWRITE)).kind == "stale"
    await calls.call(READ_FILE, file_path="a.py")
    await calls.call(APPLY_PATCH, patch=OVERWRITE)
    assert calls.text("a.py") == "new\n"


@pytest.mark.req("X9")
async def test_apply_patch_refuses_to_move_a_file_over_an_unread_file() -> None:
    move = patch("*** Update File: a.py", "*** Move to: b.py", "@@", "-    return 1", "+    return 2")
    assert (await session().fails(APPLY_PATCH, patch=move)).kind == "not_read"


@pytest.mark.req("X9")
async def test_apply_patch_when_it_deletes_a_file_that_changed_since_it_was_read_then_it_is_refused() -> None:
    calls = session()
    await calls.call(READ_FILE, file_path="old.py")
    calls.environment.put("old.py", "typed\n")
    assert (await calls.fails(APPLY_PATCH, patch=patch("*** Delete File: old.py"))).kind == "stale"


@pytest.mark.req("T4")
async def test_apply_patch_when_a_file_changes_between_prepare_and_run_then_no_file_is_written() -> None:
    calls = session()
    prepared = await calls.prepare(APPLY_PATCH, patch=EVERYTHING)
    calls.environment.put("old.py", "typed\n")
    before = files(calls)
    with pytest.raises(StaleFileError):
        await prepared.run()
    assert files(calls) == before


@pytest.mark.req("T4")
async def test_apply_patch_when_several_positions_match_then_the_choice_is_reported() -> None:
    calls = session({"f": "x\ny\nx\n"})
    output = await calls.call(APPLY_PATCH, patch=patch("*** Update File: f", "@@", "-x", "+z"))
    assert calls.text("f") == "z\ny\nx\n"
    note = "[f, chunk 1: its lines occur 2 times, at lines 1, 3; the one at line 1 was changed."
    assert note in output.text


LOOSE: dict[str, str | bytes] = {"f": "# one\nx \n# two\nx\t\n"}
CHOICE = patch("*** Update File: f", "@@", "-x", "+z")


@pytest.mark.req("T4", "X9")
async def test_apply_patch_when_ambiguity_is_refused_then_all_positions_and_a_way_to_choose_are_listed() -> (
    None
):
    calls = session(dict(LOOSE))
    calls.context = replace(calls.context, refuse_ambiguous=True)
    error = await calls.fails(APPLY_PATCH, patch=CHOICE)
    assert error.kind == "edit_conflict"
    for words in (
        "Failed to find expected lines in f:",
        "2 places: lines 2, 4",
        "@@ # two",
        "Nothing was written",
    ):
        assert words in str(error)
    chosen = patch("*** Update File: f", "@@ # two", "-x", "+z")
    await calls.call(APPLY_PATCH, patch=chosen)
    assert calls.text("f") == "# one\nx \n# two\nz\n"


@pytest.mark.req("T4")
async def test_apply_patch_when_ambiguity_is_refused_then_all_chunks_are_reported_and_nothing_is_written() -> (
    None
):
    calls = session({**LOOSE, "g": "y  \ny  \n"})
    calls.context = replace(calls.context, refuse_ambiguous=True)
    both = patch("*** Update File: f", "@@", "-x", "+z", "*** Update File: g", "@@", "-y", "+z")
    error = await calls.fails(APPLY_PATCH, patch=both)
    assert "2 places: lines 2, 4" in str(error) and "2 places: lines 1, 2" in str(error)
    assert "(2 problems)" in str(error)


@pytest.mark.req("T4")
@pytest.mark.parametrize("refuses", [False, True])
async def test_apply_patch_uses_the_first_exact_match_even_if_ambiguous_matches_are_refused(
    refuses: bool,
) -> None:
    calls = session({"f": "x\ny\nx\n"})
    calls.context = replace(calls.context, refuse_ambiguous=refuses)
    await calls.call(APPLY_PATCH, patch=CHOICE)
    assert calls.text("f") == "z\ny\nx\n"


@pytest.mark.req("T4")
async def test_apply_patch_with_default_settings_then_the_first_loose_match_is_used_and_reported() -> None:
    calls = session(dict(LOOSE))
    output = await calls.call(APPLY_PATCH, patch=CHOICE)
    assert calls.text("f") == "# one\nz\n# two\nx\t\n"
    assert "occur 2 times, at lines 2, 4; the one at line 2" in output.text


@pytest.mark.req("T4")
async def test_apply_patch_when_only_blanks_differ_then_the_loose_match_is_reported() -> None:
    calls = session({"f": "x  \ny\n"})
    output = await calls.call(APPLY_PATCH, patch=patch("*** Update File: f", "@@", " x", "-y", "+z"))
    assert calls.text("f") == "x  \nz\n"
    assert "[f, chunk 1: matched at line 1, although blanks or punctuation differ.]" in output.text


@pytest.mark.req("T4")
async def test_apply_patch_when_it_was_repaired_then_the_repair_is_reported() -> None:
    calls = session()
    text = "```\n" + patch("*** Update File: b.py", "@@", "-B = 1", "+B = 2") + "\n```"
    output = await calls.call(APPLY_PATCH, patch=text)
    assert calls.text("b.py") == "B = 2\n"
    assert "[Repaired: R1" in output.text


async def test_apply_patch_says_which_files_it_does_not_change() -> None:
    calls = session()
    same = ["*** Update File: b.py", "@@", "-B = 1", "+B = 1"]
    error = await calls.fails(APPLY_PATCH, patch=patch(*same))
    assert error.kind == "validation" and "b.py" in str(error)
    output = await calls.call(APPLY_PATCH, patch=patch("*** Add File: n", "+x", *same))
    assert [line for line in output.text.split("\n") if "changes nothing" in line and "b.py" in line]
    assert calls.exists("n")


async def test_apply_patch_result_reports_changes_that_the_user_typed_at_the_same_time() -> None:
    calls = ToolCalls(TypingEnvironment({"f": "a\n"}))
    output = await calls.call(APPLY_PATCH, patch=patch("*** Update File: f", "@@", "-a", "+b"))
    assert "[f also contains" in output.text


def test_apply_patch_summary_lists_the_files_of_the_patch() -> None:
    arguments = APPLY_PATCH.arguments.model_validate({"patch": EVERYTHING})
    assert APPLY_PATCH.summarize(arguments) == "new/n.txt, a.py, b.py, old.py"


GREETING = 'def greet(name):\n    if not name:\n        return "Hello"\n    return f"Hello, {name}"\n'


@pytest.mark.req("T4", "P7")
async def test_apply_patch_applies_the_example_of_the_tool_description() -> None:
    example = re.search(
        r"```\n(\*\*\* Begin Patch.*?\*\*\* End Patch)\n```", APPLY_PATCH.description, re.DOTALL
    )
    assert example
    calls = session(
        {
            "src/greeting.py": GREETING,
            "src/old.py": "",
        }
    )
    output = await calls.call(APPLY_PATCH, patch=example[1])
    assert output.text.count("\n") == 4
    assert 'return "Hello, stranger"' in calls.text("src/greeting.py")
    assert calls.text("docs/notes.md") == "# Notes\n\nEvery line of a new file begins with a plus.\n"


def test_every_error_code_of_the_patch_engine_has_an_error_kind() -> None:
    assert set(KINDS) == set(get_args(Code))


@pytest.mark.req("X9")
@pytest.mark.parametrize(("setting", "is_refused"), [("overwrite", False), ("edit", False), ("all", True)])
async def test_apply_patch_refuses_to_update_an_unread_file_only_with_read_first_all(
    setting: Any, is_refused: bool
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": "one\n"}))
    calls.context = replace(calls.context, read_first=setting)
    body = "*** Begin Patch\n*** Update File: f\n@@\n-one\n+ONE\n*** End Patch"
    if is_refused:
        with pytest.raises(ToolError) as refused:
            await calls.call(APPLY_PATCH, patch=body)
        assert refused.value.kind == "not_read"
        await calls.call(READ_FILE, file_path="f")
    await calls.call(APPLY_PATCH, patch=body)
    assert calls.text("f") == "ONE\n"


@pytest.mark.req("X9")
@pytest.mark.parametrize("setting", ["overwrite", "edit", "all"])
async def test_apply_patch_add_file_over_an_existing_file_requires_a_read_with_any_read_first_setting(
    setting: Any,
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": "one\n"}))
    calls.context = replace(calls.context, read_first=setting)
    with pytest.raises(ToolError) as refused:
        await calls.call(APPLY_PATCH, patch="*** Begin Patch\n*** Add File: f\n+ONE\n*** End Patch")
    assert refused.value.kind == "not_read" and calls.text("f") == "one\n"
