"""Deliberate differences from the reference program `apply_patch`."""

from __future__ import annotations

import pytest

from agent_ls.patch.errors import PatchError
from agent_ls.patch.indent import Blanks, indent_pairs, shift_indentation, try_shift_indentation
from agent_ls.patch.typography import COMPARED_AS, COMPOSED_LEVEL, keep_spelling
from tests.patch.applying import apply_patch, change_set, update, updated

DEVIATIONS = [
    ("D2_untouched_last_line", "@@\n-a\n+c", "a\nb\nlast", "c\nb\nlast"),
    ("D2_context_last_line", "@@\n-a\n+c\n b", "a\nb", "c\nb"),
    ("D3_after_anchor", "@@ def f():\n+    x", "def f():\n    y\n", "def f():\n    x\n    y\n"),
    ("D3_not_with_flag", "@@ def f():\n+x\n*** End of File", "def f():\n    y\n", "def f():\n    y\nx\n"),
    ("D4_tabs", "@@\n-    a\n+    if x:\n+        b", "\ta\n\tz\n", "\tif x:\n\t\tb\n\tz\n"),
    ("D4_ratio", "@@\n-    a\n-        b\n+    c\n+            d", "\ta\n\t\tb\n", "\tc\n\t\t\td\n"),
    ("D4_prefix", "@@\n-a\n-  b\n+c\n+    d", "    a\n      b\n", "    c\n        d\n"),
    ("D4_one_space_is_a_slip", "@@\n-a\n+  c", " a\n", "  c\n"),
    ("D9_quotes", '@@\n-say("hi there");\n+say("hi you");', "say(“hi there”);\n", "say(“hi you”);\n"),
    ("D9_unequal_counts", '@@\n-say("hi")\n+say("hi")\n+x', "say(“hi”)\n", 'say("hi")\nx\n'),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("body", "before", "after"), [c[1:] for c in DEVIATIONS], ids=[c[0] for c in DEVIATIONS]
)
def test_successful_patch_has_the_documented_deviation_from_the_reference(
    body: str, before: str, after: str
) -> None:
    assert updated(body, before) == after


def test_d7_update_that_changes_nothing_is_a_success_without_a_write() -> None:
    result = change_set(update("@@\n-a\n+a"), {"f": "a\nb"})
    assert (result.changes, result.writes) == ((), ())
    assert result.summary().endswith("M f\n")


SPACES_TO_TABS = (Blanks("    ", "\t"), Blanks("        ", "\t\t"))
SHIFTED = [
    ("same", (Blanks("  ", "  "),), ["x"], ["x"]),
    ("slip", (Blanks("", " "), Blanks("  ", "  ")), ["x"], ["x"]),
    ("contradiction", (Blanks("", "\t"), Blanks("", "  ")), ["x"], ["x"]),
    ("as_seen", (Blanks("  ", "\t"), Blanks("    ", "  \t")), ["    x"], ["  \tx"]),
    ("ratio", SPACES_TO_TABS, ["            x", "x", "      y"], ["\t\t\tx", "x", "      y"]),
    ("ratio_back", (Blanks("\t", "  "),), ["\t\tx"], ["    x"]),
    ("prefix_added", (Blanks("", "    "), Blanks("  ", "      ")), ["   x", ""], ["       x", ""]),
    ("prefix_removed", (Blanks("    ", ""), Blanks("      ", "  ")), ["       x", "x"], ["   x", "x"]),
    ("no_rule", (Blanks("  ", "\t "), Blanks("\t", "   ")), ["    x"], ["    x"]),
]


@pytest.mark.parametrize(("seen", "added", "expected"), [c[1:] for c in SHIFTED], ids=[c[0] for c in SHIFTED])
def test_added_lines_get_the_indentation_of_the_matched_lines(
    seen: tuple[Blanks, ...], added: list[str], expected: list[str]
) -> None:
    assert shift_indentation(added, seen, from_context=False) == expected


CONTEXT_KEEPS = [
    ("one_line_is_too_little", (Blanks("    ", "\t"),), ["    x"]),
    ("own_indentation", SPACES_TO_TABS, ["\tx"]),
]


@pytest.mark.parametrize(("seen", "added"), [c[1:] for c in CONTEXT_KEEPS], ids=[c[0] for c in CONTEXT_KEEPS])
def test_ambiguous_indentation_of_context_changes_nothing(seen: tuple[Blanks, ...], added: list[str]) -> None:
    assert shift_indentation(added, seen, from_context=True) == added


def test_context_lines_shift_indentation_of_added_lines_with_the_same_indentation() -> None:
    assert shift_indentation(["    x"], SPACES_TO_TABS, from_context=True) == ["\tx"]


def test_indentation_of_an_edit_is_shifted_only_with_one_rule_for_every_line() -> None:
    assert try_shift_indentation(["    x"], SPACES_TO_TABS) == ["\tx"]
    assert try_shift_indentation(["      x"], SPACES_TO_TABS) is None
    assert try_shift_indentation(["x"], (Blanks("", "\t"), Blanks("", " "))) is None


def test_blank_lines_do_not_determine_the_indentation() -> None:
    assert indent_pairs([("  ", "\t"), ("  a", "\ta")]) == (Blanks("  ", "\t"),)


KEPT = [
    ("quotes", 'x = "one two"', "x = “one two”", 'x = "one three"', "x = “one three”"),
    ("dash", "a - b and more", "a – b and more", "a - b and less", "a – b and less"),
    ("same", "x = 1", "x = 1", "x = 2", "x = 2"),
    ("unlike", '"a"', "“a”", "something else", "something else"),
    ("indented", '  f("abc")', "\tf(“abc”)", '  f("abc", 1)', "  f(“abc”, 1)"),
]


@pytest.mark.parametrize(
    ("patch_line", "file_line", "added", "expected"), [c[1:] for c in KEPT], ids=[c[0] for c in KEPT]
)
def test_characters_that_the_model_did_not_change_are_kept_as_in_the_file(
    patch_line: str, file_line: str, added: str, expected: str
) -> None:
    assert keep_spelling(patch_line, file_line, added) == expected


ALIKE = [
    (2, "a \u3000", "a"),
    (3, "\t\x0b a\u2028", "a"),
    (4, " “x”\u00a0‘y’—\u2212 ", "\"x\" 'y'--"),
    (5, "«a»…  b\u200b\u00ad\tﬁ", '"a"... b fi'),
    (6, "a ( b )", "a(b)"),
    (COMPOSED_LEVEL, "  cafe\u0301 ", "  café"),
]


@pytest.mark.parametrize(("level", "one", "other"), ALIKE)
def test_lines_match_at_their_level_and_not_at_a_stricter_one(level: int, one: str, other: str) -> None:
    assert COMPARED_AS[level](one) == COMPARED_AS[level](other)
    assert one != other
    if level in (3, 4, 5, 6):
        assert COMPARED_AS[level - 1](one) != COMPARED_AS[level - 1](other)


def test_line_matching_does_not_strip_characters_that_only_python_strips() -> None:
    assert COMPARED_AS[3]("\x1ca\u200b") == "\x1ca\u200b"


@pytest.mark.req("T4")
def test_d1_move_onto_itself_is_an_update_in_place() -> None:
    body = "*** Update File: f\n*** Move to: ./g/../f\n@@\n-a\n+b"
    change_set = apply_patch(f"*** Begin Patch\n{body}\n*** End Patch", {"f": b"a\n"}.get)
    assert [(write.path, write.after, write.mode_from) for write in change_set.writes] == [("f", b"b\n", "")]


@pytest.mark.req("T4")
def test_d5_bom_is_ignored_by_matching_and_kept() -> None:
    body = "*** Update File: f\n@@\n-a\n+b"
    change_set = apply_patch(f"*** Begin Patch\n{body}\n*** End Patch", {"f": b"\xef\xbb\xbfa\n"}.get)
    assert change_set.writes[0].after == b"\xef\xbb\xbfb\n"


@pytest.mark.req("T4")
def test_d6_moved_file_takes_the_mode_of_its_source_and_other_writes_keep_the_mode() -> None:
    body = "*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n*** Update File: h\n@@\n-a\n+b"
    files = {"f": b"a\n", "g": None, "h": b"a\n"}
    change_set = apply_patch(f"*** Begin Patch\n{body}\n*** End Patch", files.get)
    assert {write.path: write.mode_from for write in change_set.writes} == {"g": "f", "f": "", "h": ""}


@pytest.mark.req("T4", "X6")
@pytest.mark.parametrize(
    "body", ["*** Add File: ../f\n+a", "*** Update File: f\n*** Move to: ../f\n@@\n-a\n+b"]
)
def test_d8_path_outside_the_workspace_is_refused_for_an_added_file_and_a_move_target(body: str) -> None:
    def resolve(path: str) -> str:
        if path.startswith(".."):
            raise PatchError.of("PATH_OUTSIDE", f"{path} is outside")
        return path

    with pytest.raises(PatchError) as refused:
        apply_patch(f"*** Begin Patch\n{body}\n*** End Patch", {"f": b"a\n"}.get, resolve)
    assert refused.value.code == "PATH_OUTSIDE"
