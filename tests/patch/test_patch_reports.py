"""Reports of users about patches of other agents, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.patch.errors import PatchError
from tests.patch.applying import applied, patch, update
from tests.support.reports import reported

PATCHES: list[Any] = [
    reported("anomalyco/opencode#45926", "@@\n-foo\n+FOO", "foo\r\nbar\r\n", "FOO\r\nbar\r\n", id="CRLF"),
    reported("use-agent-os/agent-os#1124", "@@\n hello\n-world\n+there", "hello\r\nworld\r\n", "hello\r\nthere\r\n",
        id="CRLF context"),
    reported("openai/codex#30946", "@@ beta\n+inserted", "alpha\nbeta\ngamma\n", "alpha\nbeta\ninserted\ngamma\n",
        id="insertion at its context line"),
    reported("deer-flow/llm-space#175", "@@\n+omega\n@@\n-beta\n+b1\n+b2", "alpha\nbeta\ngamma\ndelta\n",
        "alpha\nb1\nb2\ngamma\ndelta\nomega\n", id="insertion before a higher chunk"),
    reported("openai/codex#2596", "@@ class B\n@@     def m():\n- old\n+ new", "class B\n    def m():\n old\n",
        "class B\n    def m():\n new\n"),
    reported("use-agent-os/agent-os#1907", "@@\n world\n+tail", "hello\nworld", "hello\nworld\ntail\n"),
    reported("use-agent-os/agent-os#2209", "@@\n intro\n *** End Patch\n-old\n+new", "intro\n*** End Patch\nold\n",
        "intro\n*** End Patch\nnew\n"),
    reported("patchloom/patchloom#2503", "@@\n *** Add File: foo\n *** End Patch\n-old\n+new",
        "*** Add File: foo\n*** End Patch\nold\n", "*** Add File: foo\n*** End Patch\nnew\n"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "before", "after"), PATCHES)
def test_a_patch_keeps_line_ends_and_inserts_at_the_right_place(body: str, before: str, after: str) -> None:
    assert applied(update(body), {"f": before})["f"] == after


@pytest.mark.report("openclaw/openclaw#124379")  # fmt: skip
def test_a_chunk_for_the_end_takes_no_line_of_the_chunk_before() -> None:
    for before in ("a\nb\nc\n", "a\nb\nc"):
        with pytest.raises(PatchError):
            applied(update("@@\n-b\n-c\n+B\n+C\n@@\n-c\n+Z\n*** End of File"), {"f": before})
    once = update("@@\n-a\n+A\n b\n@@\n b\n-c\n+C\n*** End of File")
    assert applied(once, {"f": "a\nb\nc\n"}) == {"f": "A\nb\nC\n"}


FRAMES: list[Any] = [
    reported("anomalyco/opencode#43389", "cat <<'PATCH-1'\n{}\nPATCH-1"),
    reported("use-agent-os/agent-os#2413", "*** End Patch\n{}"),
    "```diff\n{}\n```",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_patch_is_found_in_the_text_around_it(frame: str) -> None:
    assert applied(frame.format(patch("*** Add File: x", "+1")), {}) == {"x": "1\n"}


@pytest.mark.report("lidge-jun/opencodex#3505")
def test_asterisks_may_close_the_lines_of_the_frame() -> None:
    closed = "*** Begin Patch ***\n*** Add File: x ***\n+1\n*** End Patch ***"
    assert applied(closed, {}) == {"x": "1\n"}


@pytest.mark.report("techtonik/python-patch#55")
def test_a_patch_with_a_wrong_line_around_it_is_refused() -> None:
    with pytest.raises(PatchError, match="First difference at line 3"):
        applied(update("@@ -1,3 +1,4 @@\n a\n b\n+b1\n d"), {"f": "a\nb\nc\n"})


HUNK = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
DIFFS: list[Any] = [
    reported("boozedog/pi-codemode#58", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+B\n", {"f": "a\nB\nc\n"}),
    reported("holon-run/holon#3041", "--- a/f\n+++ b/f\n@@\n a\n-b\n+B\n c\n", {"f": "a\nB\nc\n"}),
    reported("JasonColapietro/suede-creator-skills#162", f"--- a/f\n+++ b/f\n{HUNK}", {"f": "a\nB\nc\n"}),
    pytest.param(
        f"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n{HUNK}"
        "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-one\n+two\n",
        {"f": "a\nB\nc\n", "g": "two\n"},
        marks=pytest.mark.report("anvie/evonic#92"),
    ),
    pytest.param(
        "diff --git a/.gitignore b/.gitignore\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/.gitignore\n@@ -0,0 +1 @@\n+*.pyc\n",
        {".gitignore": "*.pyc\n"},
        marks=pytest.mark.report("ymattw/ydiff#3"),
    ),
    reported("java-diff-utils/java-diff-utils#156",
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@ import com.example.Parser;\n a\n-b\n+B\n c\n", {"f": "a\nB\nc\n"}),
    pytest.param(f"*** Begin Patch\n--- a/f\n+++ b/f\n{HUNK}*** End Patch", {"f": "a\nB\nc\n"}, id="in a frame"),
    pytest.param(f"```diff\n--- f\t2026-01-01\n+++ f\n{HUNK}```", {"f": "a\nB\nc\n"}, id="in a fence"),
    pytest.param(f"--- a/f\r\n+++ b/f\r\n{HUNK}", {"f": "a\nB\nc\n"}, id="CRLF"),
    pytest.param("diff --git a/f b/h\nrename from f\nrename to h\n", {"h": "a\nb\nc\n", "f": None}, id="renamed"),
    pytest.param("--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", {"g": None}, id="deleted"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "after"), DIFFS)
def test_a_unified_diff_is_applied_as_a_patch(text: str, after: dict[str, str | None]) -> None:
    before = {"f": "a\nb\nc\n", "g": "one\n"}
    assert applied(text, before) == {
        name: content for name, content in {**before, **after}.items() if content is not None
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n", id="cut off"),
        pytest.param("--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+new\n", id="only a line number says where"),
        pytest.param("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-other\n+B\n", id="other lines"),
        pytest.param("--- a/f\n+++ b/f\n", id="no hunk"),
    ],
)
def test_a_diff_whose_place_is_not_certain_is_refused(text: str) -> None:
    with pytest.raises(PatchError):
        applied(text, {"f": "a\nb\nc\n"})
