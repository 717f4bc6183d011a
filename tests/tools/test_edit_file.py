from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import WriteEffect
from agent_ls.environments.errors import NotAFileError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import CHANGED_ELSEWHERE, EDIT_FILE, EDIT_OCCURRENCE
from agent_ls.tools.read_file import READ_FILE
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls, TypingEnvironment

TWELVE = "".join(f"line {n}\n" for n in range(1, 13))


async def session(content: str | bytes) -> ToolCalls:
    calls = ToolCalls(MemoryEnvironment({"f": content}))
    await calls.call(READ_FILE, file_path="f")
    return calls


async def edit(calls: ToolCalls, old: str, new: str, **arguments: object) -> str:
    return (await calls.call(EDIT_FILE, file_path="f", old_string=old, new_string=new, **arguments)).text


@pytest.mark.req("T3")
async def test_edit_file_replaces_a_unique_text_and_returns_the_surrounding_lines() -> None:
    calls = await session(TWELVE)
    assert await edit(calls, "line 6", "line six\nand a half") == (
        "Edited f: 1 replacement, lines 6-7.\n\n"
        " 2 | line 2\n 3 | line 3\n 4 | line 4\n 5 | line 5\n 6 | line six\n 7 | and a half\n"
        " 8 | line 7\n 9 | line 8\n10 | line 9\n11 | line 10"
    )
    assert "line six\nand a half\nline 7" in calls.text("f")


@pytest.mark.req("T3", "T4")
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n", id="crlf"),
        pytest.param(b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n", id="bom"),
        pytest.param(b"\xe9\x01\na\n", "a", "b", b"\xe9\x01\nb\n", id="undecodable-elsewhere"),
        pytest.param(b"\xe9 a\n", "é a", "ü b", b"\xfc b\n", id="latin-1"),
        pytest.param(b"# coding: koi8-r\n\xc1\n", "а", "б", b"# coding: koi8-r\n\xc2\n", id="declared"),
        pytest.param(b"a", "a", "b", b"b", id="no-final-newline"),
        pytest.param(b"a\nb\nc\n", "b", "", b"a\nc\n", id="whole-line-deleted"),
        pytest.param(b"x=1\n", "1", r"$1 \1 &", b"x=$1 \\1 &\n", id="literal-replacement"),
    ],
)
async def test_edit_file_keeps_every_byte_outside_the_replaced_text(
    before: bytes, old: str, new: str, after: bytes
) -> None:
    calls = await session(before)
    await edit(calls, old, new)
    assert calls.bytes("f") == after


@pytest.mark.req("T3")
async def test_edit_file_when_all_are_replaced_then_they_are_counted() -> None:
    calls = await session("x\ny\nx\n")
    assert (await edit(calls, "x", "z", replace_all=True)).startswith("Edited f: 2 replacements, lines 1-3.")
    assert calls.text("f") == "z\ny\nz\n"


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("occurrence", "after"), [("first", "z\ny\nx\n"), ("last", "x\ny\nz\n"), ("all", "z\ny\nz\n")]
)
async def test_edit_file_when_an_occurrence_is_given_then_only_that_one_is_replaced(
    occurrence: str, after: str
) -> None:
    calls = await session("x\ny\nx\n")
    await calls.call(EDIT_OCCURRENCE, file_path="f", old_string="x", new_string="z", occurrence=occurrence)
    assert calls.text("f") == after


@pytest.mark.req("T3")
async def test_edit_file_when_only_blanks_differ_then_the_looser_match_is_reported() -> None:
    calls = await session("def f():  \n    return 1\n")
    text = await edit(calls, "def f():\n    return 1", "def f():\n    return 2")
    assert "matched with: " in text
    assert "return 2" in calls.text("f")


@pytest.mark.req("T3")
async def test_edit_file_when_there_is_no_file_then_an_empty_old_string_creates_it() -> None:
    calls = ToolCalls()
    output = await calls.call(EDIT_FILE, file_path="a/f", old_string="", new_string="x\n")
    assert output.text.startswith("Created a/f: wrote 2 bytes.")
    assert calls.text("a/f") == "x\n"
    assert output.files[0].before is None


@pytest.mark.req("T3", "T9", "R1")
@pytest.mark.parametrize(
    ("content", "arguments", "kind", "says"),
    [
        pytest.param(
            "a\n",
            {"old_string": "b", "new_string": "c"},
            "edit_conflict",
            "not found in the file",
            id="not-found",
        ),
        reported(
            "open-octo/octo-agent#1224",
            "a\nb\na\n",
            {"old_string": "a", "new_string": "b"},
            "edit_conflict",
            "lines 1, 3",
            id="not-unique",
        ),
        pytest.param(
            "a\n", {"old_string": "a", "new_string": "a"}, "edit_conflict", "are the same", id="no-change"
        ),
        pytest.param(
            "a\n",
            {"old_string": "", "new_string": "b"},
            "file_exists",
            "write the whole file with write_file",
            id="creates-over-a-file",
        ),
        pytest.param(
            "a\nb\n",
            {"old_string": "a\nb", "new_string": "# ... rest of code ...\n"},
            "edit_conflict",
            "Write the complete code",
            id="omission",
        ),
        pytest.param(
            b"a\0\xff",
            {"old_string": "a", "new_string": "b"},
            "binary_file",
            "cannot be edited as text",
            id="binary",
        ),
    ],
)
async def test_edit_file_when_the_edit_cannot_be_applied_then_the_error_gives_the_reason(
    content: str | bytes, arguments: dict[str, str], kind: str, says: str
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": content}))
    data = calls.bytes("f")
    calls.reads.record("/project/f", sha256(data), data)
    error = await calls.fails(EDIT_FILE, file_path="f", **arguments)
    assert error.kind == kind
    assert says in str(error)
    assert "Nothing was written" in str(error) and calls.bytes("f") == data


@pytest.mark.req("T9")
async def test_edit_file_when_the_file_is_missing_then_the_most_similar_name_is_suggested() -> None:
    calls = ToolCalls(MemoryEnvironment({"util.py": "x"}))
    error = await calls.fails(EDIT_FILE, file_path="utils.py", old_string="x", new_string="y")
    assert (error.kind, str(error)) == ("file_not_found", "File not found: utils.py. Did you mean util.py?")


@pytest.mark.req("X9")
async def test_edit_file_when_the_file_was_not_read_then_it_is_refused() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": "a\n"}))
    error = await calls.fails(EDIT_FILE, file_path="f", old_string="a", new_string="b")
    assert error.kind == "not_read"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        pytest.param({"old_string": "x", "new_string": "x"}, "edit_conflict", id="no-change"),
        pytest.param({"old_string": "", "new_string": "x"}, "file_exists", id="creates-over-a-file"),
    ],
)
async def test_edit_file_reports_invalid_arguments_before_a_missing_read(
    arguments: dict[str, str], kind: str
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": "a\n"}))
    assert (await calls.fails(EDIT_FILE, file_path="f", **arguments)).kind == kind


@pytest.mark.req("X9")
@pytest.mark.parametrize("keeps_content", [True, False], ids=["remembered", "resumed"])
async def test_edit_file_when_another_part_of_the_file_changed_then_the_edit_is_applied_with_a_note(
    keeps_content: bool,
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": TWELVE}))
    calls.reads.keeps_content = keeps_content
    await calls.call(READ_FILE, file_path="f")
    calls.environment.put("f", "typed\n" + TWELVE)
    assert CHANGED_ELSEWHERE in await edit(calls, "line 6\n", "line six\n")
    assert calls.text("f").startswith("typed\nline 1\n")
    assert "line six" in calls.text("f")


@pytest.mark.req("X9", "T9")
@pytest.mark.parametrize(
    ("remembered", "now", "old"),
    [
        pytest.param("a\nb\n", "a\nc\n", "b", id="the-text-itself-changed"),
        pytest.param("a\n", "a\nb\n", "b", id="the-text-is-new"),
        pytest.param("a\nb\na\n", "b\na\n", "a", id="it-was-not-unique-before"),
        pytest.param("a\nb\n", "a\nb\na\n", "a", id="it-is-not-unique-now"),
        pytest.param("a \nb\n", "a\nb\nx\n", "a\nb", id="it-matched-otherwise-before"),
    ],
)
async def test_edit_file_refuses_text_that_changed_since_the_last_read_and_returns_a_diff(
    remembered: str, now: str, old: str
) -> None:
    calls = await session(remembered)
    calls.environment.put("f", now)
    error = await calls.fails(EDIT_FILE, file_path="f", old_string=old, new_string="new")
    assert error.kind == "stale"
    assert "f has changed" in str(error)
    assert "\n+++ b/f\n" in str(error)


@pytest.mark.req("X9")
async def test_edit_file_without_stored_read_content_refuses_an_inexact_match_in_a_changed_file() -> None:
    calls = await session("def f():\n    pass\n")
    calls.reads.contents.clear()
    calls.environment.put("f", "def f():  \n    pass\n# typed\n")
    error = await calls.fails(EDIT_FILE, file_path="f", old_string="def f():\n    pass", new_string="x = 1")
    assert error.kind == "stale"


async def test_edit_file_when_edited_twice_then_the_second_edit_needs_no_new_read() -> None:
    calls = await session("a\nb\n")
    await edit(calls, "a", "x")
    assert CHANGED_ELSEWHERE not in await edit(calls, "b", "y")
    assert calls.text("f") == "x\ny\n"


@pytest.mark.req("H4")
async def test_edit_file_result_omits_line_numbers_if_the_user_typed_at_the_same_time() -> None:
    calls = ToolCalls(TypingEnvironment({"f": "a\n"}))
    await calls.call(READ_FILE, file_path="f")
    text = await edit(calls, "a", "b")
    assert "also contains changes" in text
    assert "1 | b" not in text
    assert CHANGED_ELSEWHERE in await edit(calls, "b", "c")


@pytest.mark.req("H7")
async def test_edit_file_effect_digest_does_not_change_when_the_user_types_elsewhere_in_the_file() -> None:
    calls = await session(TWELVE)
    arguments = {"file_path": "f", "old_string": "line 6", "new_string": "line six"}
    first = (await calls.prepare(EDIT_FILE, **arguments)).effect
    calls.environment.put("f", "typed\n" + TWELVE)
    second = (await calls.prepare(EDIT_FILE, **arguments)).effect
    other = (await calls.prepare(EDIT_FILE, **(arguments | {"new_string": "line VI"}))).effect
    assert isinstance(first, WriteEffect)
    assert isinstance(second, WriteEffect)
    assert first.files[0].diff != second.files[0].diff
    assert first.digest == second.digest
    assert first.digest != other.digest


async def test_edit_file_result_contains_only_three_of_many_replaced_positions() -> None:
    calls = await session("".join(f"x\n{'-' * n}\n" + "pad\n" * 12 for n in range(1, 6)))
    text = await edit(calls, "x", "y", replace_all=True)
    assert text.count("| y") == 3
    assert text.endswith("[... and 2 more places]")


async def test_edit_file_result_truncates_a_change_with_many_lines() -> None:
    calls = await session("a\n")
    assert (await edit(calls, "a", "n\n" * 100)).endswith("[... 61 more lines]")


async def test_edit_file_when_folder_then_the_environments_error_passes_through() -> None:
    with pytest.raises(NotAFileError):
        await ToolCalls(MemoryEnvironment({"d/f": ""})).call(
            EDIT_FILE, file_path="d", old_string="a", new_string="b"
        )


@pytest.mark.req("X9")
async def test_edit_file_with_read_first_overwrite_needs_no_earlier_read() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": "one\ntwo\n"}))
    calls.context = replace(calls.context, read_first="overwrite")
    output = await edit(calls, "one", "ONE")
    assert calls.text("f") == "ONE\ntwo\n"
    assert CHANGED_ELSEWHERE not in output
    calls.environment.put("f", "ONE\ntwo\nmine\n")
    calls.context = replace(calls.context, read_first="overwrite")
    assert CHANGED_ELSEWHERE in await edit(calls, "two", "TWO"), "a file that is known is compared as ever"


@pytest.mark.req("X9")
@pytest.mark.parametrize("setting", ["overwrite", "edit", "all"])
async def test_edit_file_refuses_to_replace_changed_text_with_any_read_first_setting(
    setting: Any,
) -> None:
    calls = await session("one\none too\n")
    calls.context = replace(calls.context, read_first=setting)
    calls.environment.put("f", "two\none too\n")
    with pytest.raises(ToolError) as refused:
        await edit(calls, "one\n", "ONE\n")
    assert refused.value.kind == "stale"
    assert calls.text("f") == "two\none too\n"


@pytest.mark.req("T2", "T3")
async def test_edit_file_with_a_character_that_cannot_be_encoded_reports_the_character() -> None:
    calls = await session(b"# coding: latin-1\n\xe9\n")
    error = await calls.fails(EDIT_FILE, file_path="f", old_string="é", new_string="é\n€")
    assert "line 3: '€' (U+20AC) cannot be written in iso8859-1" in str(error) and error.kind == "validation"


@pytest.mark.req("T3")
async def test_edit_of_a_very_long_line_says_first_that_it_worked() -> None:
    calls = await session('{"k":"' + "x" * 300_000 + '","z":1}\n')
    text = await edit(calls, '"z":1', '"z":2')
    assert text.startswith("Edited f: 1 replacement") and '"z":2' in text and len(text) < 2_000
