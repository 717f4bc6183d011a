"""Tables of cases for truncation, loop detection, context estimate, ids and file digests."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.environments.base import DroppedOutput
from agent_ls.llm.messages import ToolCallPart
from agent_ls.loop.calls.loop_detection import detect_loop, signature
from agent_ls.loop.calls.reads import MAX_CONTENT_BYTES, MAX_TOTAL_BYTES, ReadFiles
from agent_ls.loop.calls.truncation import (
    PRINTED_CHARS,
    render_output,
    truncate_chars,
    truncate_lines,
    truncate_tool_output,
)
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.model.call_ids import CallIds

MIDDLE = (
    "\n\n[WARNING: Tool output was truncated. {} characters were removed from the middle. The full output is "
    "available in the event stream. If you need to see specific parts, re-run the tool with more targeted "
    "parameters.]\n\n"
)
FIRST = "[WARNING: Tool output was truncated. First {} characters were removed. "
REST = "The full output is available in the event stream.]"
LAST = "[WARNING: Tool output was truncated. Last {} characters were removed. "


@pytest.mark.req("T5", "O1")
@pytest.mark.parametrize("line", ["10%\r\x1b[32mdone sk-\x1b[0mtest-loopback\n", "\rsk-\x1b[mtest-loopback"])
def test_a_long_tool_output_is_rendered_like_a_terminal_and_its_secrets_are_redacted(line: str) -> None:
    output = line * (3 * PRINTED_CHARS // len(line))
    kept = render_output(output, ("sk-test-loopback",))
    given = truncate_tool_output(kept, "shell", SessionConfig())

    assert "[secret removed]" in given[:100] and "[secret removed]" in given[-100:]
    assert "test-loopback" not in given and not set(given) & set("\r\x1b%")
    assert kept.gap_chars and not render_output(line, ()).gap_chars


# tool, kept characters, mode (requirement O1)
TABLE = [
    ("read_file", 50_000, "head_tail"),
    ("shell", 30_000, "head_tail"),
    ("grep", 20_000, "tail"),
    ("glob", 20_000, "head"),
    ("edit_file", 10_000, "tail"),
    ("apply_patch", 10_000, "tail"),
    ("write_file", 1_000, "tail"),
    ("spawn_agent", 20_000, "head_tail"),
    ("anything_else", 30_000, "head_tail"),
]


@pytest.mark.spec("loop 9.5.3", "loop 9.5.5")
@pytest.mark.req("O1")
@pytest.mark.parametrize(("name", "limit", "mode"), TABLE)
def test_each_tools_output_is_truncated_by_its_character_limit_and_truncation_mode(
    name: str, limit: int, mode: str
) -> None:
    output = "h" * limit + "t" * limit
    half = limit // 2
    expected = {
        "head_tail": "h" * half + MIDDLE.format(limit) + "t" * half,
        "tail": FIRST.format(limit) + REST + "\n\n" + "t" * limit,
        "head": "h" * limit + "\n\n" + LAST.format(limit) + REST,
    }[mode]
    assert truncate_tool_output(output, name, SessionConfig()) == expected
    assert truncate_tool_output(output[:limit], name, SessionConfig()) == output[:limit]


@pytest.mark.spec("loop 9.5.2")
@pytest.mark.req("O1")
@pytest.mark.parametrize(("name", "limit"), [("shell", 256), ("grep", 200), ("glob", 500)])
def test_excess_output_lines_are_removed_from_the_middle(name: str, limit: int) -> None:
    lines = [str(i) for i in range(limit + 10)]
    cut = truncate_tool_output("\n".join(lines), name, SessionConfig()).split("\n")
    half = limit // 2
    assert cut == [*lines[:half], "[... 10 lines omitted ...]", *lines[-half:]]
    whole = "\n".join(lines[:limit])
    assert truncate_tool_output(whole, name, SessionConfig()) == whole


@pytest.mark.spec("loop 9.5.1")
@pytest.mark.req("O1")
def test_a_line_of_ten_megabytes_is_cut_by_characters() -> None:
    cut = truncate_tool_output("x" * 10_000_000 + "\n" + "y" * 10_000_000, "shell", SessionConfig())
    assert len(cut) < 30_400


@pytest.mark.spec("loop 9.5.5")
@pytest.mark.req("O1")
@pytest.mark.report("openai/codex#5141", "fajarhide/omni#219")  # fmt: skip
@pytest.mark.parametrize(
    "line", ["{}", "{} " + "x" * 90, "{} \u20ac", "{}\r{}"], ids=["short", "long", "wide", "rewritten"]
)
@pytest.mark.parametrize("count", [8_000, 40_000, 400_000])
def test_markers_of_an_output_with_too_many_characters_and_lines_count_the_original(
    line: str, count: int
) -> None:
    output = "\n".join(line.format(n, n) for n in range(count))
    kept = render_output(output, ())
    given = truncate_tool_output(kept, "shell", SessionConfig())
    head, _, rest = given.partition("\n[... ")
    tail = rest.partition("parameters.]\n\n")[2]
    shown = [*head.split("\n"), *tail.split("\n")]
    assert len(shown) == 256
    assert f"{count - 256} lines omitted" in rest
    if kept.gap_chars == 0:
        printed = len(kept.head)
        assert f"{printed - len(head) - len(tail)} characters were removed" in rest
    assert head.startswith("0") and str(count - 1) in tail


@pytest.mark.req("O1")
@pytest.mark.parametrize("mode", ["grep", "glob"])
def test_line_marker_beside_a_cut_at_one_end_leaves_the_warning_in_sight(mode: str) -> None:
    output = "\n".join(f"{n} {'x' * 60}" for n in range(2_000))
    given = truncate_tool_output(output, mode, SessionConfig(tool_line_limits={mode: 50}))
    assert "WARNING" in (given[:40] if mode == "grep" else given[-200:])
    assert given.count("lines omitted") == 1 and given.count("x\n") >= 48


@pytest.mark.req("O1")
def test_only_few_lines_at_one_side_of_the_gap_leave_room_for_the_other_side() -> None:
    output = "x" * 40_000 + "\n" + "\n".join(str(n) for n in range(4_000))
    tail = truncate_tool_output(output, "shell", SessionConfig()).partition("parameters.]\n\n")[2]
    assert len(tail.split("\n")) == 255


@pytest.mark.req("O1")
def test_dropped_output_is_counted_once_and_said_to_be_stored_nowhere() -> None:
    dropped = DroppedOutput(1_000_000, 20_000, 1_000_000)
    half = "line\n" * 200_000
    kept = render_output(half + dropped.marker + half, (), dropped)
    given = truncate_tool_output(kept, "shell", SessionConfig())
    assert "dropped]" not in given and given.count("characters were removed") == 1
    head, _, rest = given.partition("\n[... ")
    tail = rest.partition("parameters.]\n\n")[2]
    assert f"{3_000_000 - len(head) - len(tail)} characters were removed" in rest
    assert f"[... {420_001 - 256} lines" in given
    assert "without 1000000 of these" in given


@pytest.mark.spec("loop 9.5.6")
@pytest.mark.req("O1", "L2")
def test_character_and_line_limits_of_a_tool_can_be_configured() -> None:
    config = SessionConfig(tool_output_limits={"grep": 5}, tool_line_limits={"look": 3, "shell": 0})
    assert truncate_tool_output("abcdefghij", "grep", config).endswith("\n\nfghij")
    assert truncate_tool_output("a\nb\nc\nd", "look", config) == "a\n[... 1 lines omitted ...]\nc\nd"
    assert truncate_tool_output("a\n" * 400, "shell", config) == "a\n" * 400
    assert (
        truncate_tool_output("x" * 50_000, "look", SessionConfig(tool_output_limits={"look": 0}))
        == "x" * 50_000
    )


@given(st.text(max_size=60), st.integers(0, 40))
def test_head_tail_truncation_keeps_only_the_beginning_and_end_of_the_text(output: str, limit: int) -> None:
    if 0 < limit < len(output):
        half = limit // 2
        cut = truncate_chars(output, limit)
        assert cut == output[:half] + MIDDLE.format(len(output) - 2 * half) + output[len(output) - half :]
    else:
        assert truncate_chars(output, limit) == output or not limit


@given(st.lists(st.sampled_from(["", "a", "b"]), max_size=20), st.integers(2, 8))
def test_line_truncation_keeps_head_and_tail(lines: list[str], limit: int) -> None:
    cut = truncate_lines("\n".join(lines), limit).split("\n")
    if len(lines) > limit:
        assert cut[limit // 2] == f"[... {len(lines) - limit} lines omitted ...]"
        assert len(cut) == limit + 1
    else:
        assert "\n".join(cut) == "\n".join(lines)


LOOPS = [
    ("aaaaaaaaaa", 10, True),
    ("ababababab", 10, True),
    ("xabcabcabc", 10, True),  # a pattern of three is tested on the last nine of ten
    ("abcabcabca", 10, True),
    ("abcabcabcx", 10, False),
    ("aaaaaaaaab", 10, False),
    ("aaaaaaaaa", 10, False),
    ("zzzaaaaaaaaaa", 10, True),
    ("abcdabcdab", 10, False),
    ("abc", 3, False),  # a pattern that occurs once does not count
    ("aaa", 3, True),
    ("ab", 2, False),
    ("aa", 2, True),
    ("a", 1, False),
    ("", 0, False),
    ("aaaa", 0, False),
]


@pytest.mark.spec("loop 9.1.7")
@pytest.mark.req("L9")
@pytest.mark.parametrize(("calls", "window", "expected"), LOOPS)
def test_a_loop_is_a_repeated_pattern_of_one_to_three_calls_over_the_whole_window(
    calls: str, window: int, expected: bool
) -> None:
    assert detect_loop(list(calls), window) is expected


SIGNATURES = [
    ('{"a": 1, "b": 2}', '{"b":2,"a":1}', True),
    ('{"a": 1}', '{"a": 2}', False),
    ("{broken", "{broken", True),
    ("", "{}", True),
    ("[" * 100_000, "[" * 100_000, True),
]


@pytest.mark.req("L9")
@pytest.mark.parametrize(("one", "other", "same"), SIGNATURES, ids=range(len(SIGNATURES)))
def test_a_tool_call_signature_is_the_tool_name_and_normalised_arguments(
    one: str, other: str, same: bool
) -> None:
    assert (signature(ToolCallPart("1", "t", one)) == signature(ToolCallPart("2", "t", other))) is same
    assert signature(ToolCallPart("1", "t", one)) != signature(ToolCallPart("1", "u", one))


def test_call_ids_are_unique_and_the_providers_own_if_possible() -> None:
    ids = CallIds({"call_1"})
    assert [ids.unique(i) for i in ("call_0", "call_0", "call_1", "call_0")] == [
        "call_0",
        "call_0~2",
        "call_1~2",
        "call_0~3",
    ]
    assert ids.unique("").startswith("c-")
    assert "call_0~3" in ids.used_ids


def test_read_files_keep_recent_contents_and_the_digests_of_all_files() -> None:
    reads = ReadFiles()
    reads.record("/large", "d0", b"x" * (MAX_CONTENT_BYTES + 1))
    for i in range(MAX_TOTAL_BYTES // MAX_CONTENT_BYTES + 1):
        reads.record(f"/{i}", f"d{i}", b"y" * MAX_CONTENT_BYTES)
    assert (reads.digest_of("/large"), reads.content_of("/large")) == ("d0", None)
    assert (reads.digest_of("/0"), reads.content_of("/0")) == ("d0", None)
    assert reads.content_of("/1") == b"y" * MAX_CONTENT_BYTES
    reads.record("/1", "new")
    assert (reads.digest_of("/1"), reads.content_of("/1")) == ("new", None)


@pytest.mark.req("X9", "R4")
def test_a_resumed_session_restores_digests_of_read_files_and_records_only_changed_ones() -> None:
    recorded: list[tuple[str, str]] = []
    reads = ReadFiles({"/a": "d1"}, lambda path, digest: recorded.append((path, digest)))
    assert (reads.digest_of("/a"), reads.content_of("/a")) == ("d1", None)
    reads.record("/a", "d1", b"text")
    reads.record("/a", "d2", b"new text")
    reads.record("/b", "d3")
    assert recorded == [("/a", "d2"), ("/b", "d3")]
