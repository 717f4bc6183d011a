"""The guided review: reading order, groups of mechanical changes, and marks by facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, strategies as st

from agent_ls.review.guide.code import definitions, enclosing, is_test
from agent_ls.review.guide.marks import marks_of
from agent_ls.review.guide.order import reading_order
from agent_ls.review.guide.rows import guide, state_of
from agent_ls.review.guide.values import FileFacts, GuidedHunk, LookState, ProjectFacts

_numbers = count()


def lines(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines(keepends=True))


def hunk(path: str, old: str, new: str, start: int = 0, number: int | None = None) -> GuidedHunk:
    at = next(_numbers) if number is None else number
    return GuidedHunk(f"h{next(_numbers)}", path, lines(old), lines(new), start, at)


def kinds(item: GuidedHunk, facts: ProjectFacts | None = None) -> set[str]:
    return {mark.kind for mark in marks_of(item, facts or ProjectFacts()).found}


# -- order


def test_a_definition_is_read_before_its_uses_and_tests_come_last() -> None:
    test = hunk("tests/test_cart.py", "", "assert total() == 1\n")
    use = hunk("shop/view.py", "", "print(total())\n")
    definition = hunk("shop/cart.py", "", "def total():\n    return 1\n")

    assert reading_order([test, use, definition]) == [definition, use, test]


def test_a_circle_of_uses_is_read_in_the_order_of_writing() -> None:
    first = hunk("a.py", "", "def one():\n    two()\n")
    second = hunk("b.py", "", "def two():\n    one()\n")

    assert reading_order([second, first]) == [first, second]


def test_the_same_name_in_another_language_is_no_use() -> None:
    script = hunk("a.ts", "", "total();\n")
    python = hunk("b.py", "", "def total():\n    pass\n")

    assert reading_order([python, script]) == [script, python]


names = st.sampled_from(["alpha", "beta", "gamma", "delta", "Epsilon"])
paths = st.sampled_from(
    ["a.py", "b.py", "src/c.ts", "tests/test_a.py", "d.go", "README.md", "package-lock.json"]
)


@st.composite
def many_hunks(draw: st.DrawFn) -> list[GuidedHunk]:
    found = []
    for at in range(draw(st.integers(0, 12))):
        heads = [f"def {name}():\n" for name in draw(st.lists(names, max_size=2))]
        calls = [f"    {name}()\n" for name in draw(st.lists(names, max_size=3))]
        old = [f"    {name}()\n" for name in draw(st.lists(names, max_size=3))]
        state: LookState = draw(st.sampled_from(["notLooked", "looked", "kept", "undone"]))
        item = GuidedHunk(f"h{at}", draw(paths), tuple(old), (*heads, *calls), draw(st.integers(0, 40)), at)
        found.append(replace(item, state=state))
    return found


@given(many_hunks(), st.randoms())
def test_each_hunk_is_in_one_row_whatever_the_order_of_the_input(
    hunks: list[GuidedHunk], random: object
) -> None:
    rows = guide(hunks)
    shuffled = list(hunks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert sorted(id_ for row in rows for id_ in row.hunk_ids) == sorted(item.id for item in hunks)
    assert guide(shuffled) == rows


@given(many_hunks())
def test_definitions_come_before_uses_if_these_make_no_circle(hunks: list[GuidedHunk]) -> None:
    code = [item for item in hunks if item.path == "a.py"]
    numbered = {id(item): at for at, item in enumerate(sorted(code, key=lambda item: item.number))}
    # A use of a definition that was written earlier or later, never of one that uses it in turn:
    acyclic = [
        replace(
            item,
            new=(f"def f{numbered[id(item)]}():\n", *(f"    f{at}()\n" for at in range(numbered[id(item)]))),
        )
        for item in code
    ]
    reordered = reading_order([replace(item, number=-item.number) for item in acyclic])

    assert [item.id for item in reordered] == [item.id for item in acyclic]


@given(many_hunks())
def test_tests_are_read_after_code(hunks: list[GuidedHunk]) -> None:
    are_tests = [is_test(item.path) for item in reading_order(hunks)]

    assert are_tests == sorted(are_tests)


# -- groups


def test_renames_in_many_places_are_one_row() -> None:
    renames = [hunk(f"m{at}.py", "x = foo(foo)\n", "x = bar(bar)\n") for at in range(3)]
    other = hunk("n.py", "x = foo(1)\n", "x = bar(2)\n")

    change, row = guide([*renames, other])

    assert (change.kind, change.hunk_ids) == ("change", (other.id,))
    assert (row.kind, len(row.hunk_ids), row.title) == ("renames", 3, "6 renames of `foo` to `bar`")


@pytest.mark.parametrize(
    ("path", "old", "new", "kind"),
    [
        ("a.js", "if (a) {\n  b;\n}\n", "if (a)\n{\n    b;\n}\n", "whiteSpace"),
        ("a.py", "x = [1,2]\n", "x = [1, 2]\n", "whiteSpace"),
        ("a.py", "    x = 1\n", "x = 1\n", "change"),
        ("a.py", "x = 'a  b'\n", "x = 'a b'\n", "change"),
        ("a.py", "x = 1\ny = 2\n", "x = 1 ; y = 2\n", "change"),
        ("a.yaml", "a:\n  b: 1\n", "a:\nb: 1\n", "change"),
        ("go.sum", "a 1\n", "a 2\n", "generated"),
        ("x_pb2.py", "a = 1\n", "a = 2\n", "generated"),
        ("a.py", "x = 1\n", "x = 'foo'\n", "change"),
    ],
)
def test_only_changes_without_a_meaning_are_grouped(path: str, old: str, new: str, kind: str) -> None:
    rows = guide([hunk(path, old, new, start=at * 10) for at in range(3)])

    assert {row.kind for row in rows} == {kind}


def test_a_file_whose_head_says_that_it_is_generated_is_read_last() -> None:
    made = hunk("api.py", "a = 1\n", "a = 2\n", number=0)
    own = hunk("own.py", "a = 1\n", "a = 2\n", number=1)
    facts = ProjectFacts(
        {"api.py": FileFacts(lines=("# Code generated by protoc. DO NOT EDIT.\n", "a = 2\n"))}
    )

    assert [row.kind for row in guide([made, own], facts)] == ["change", "generated"]


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (["kept", "notLooked"], "notLooked"),
        (["kept", "looked"], "looked"),
        (["kept", "undone"], "kept"),
        (["undone"], "undone"),
    ],
)
def test_the_state_of_a_row_is_what_is_left_to_do(states: Sequence[str], state: str) -> None:
    assert state_of(states) == state  # type: ignore[arg-type]


def test_a_file_that_the_agent_itself_calls_generated_is_read_like_any_other() -> None:
    text = lines("# Code generated by x. DO NOT EDIT.\nx = 1\ny = 2\n")
    facts = ProjectFacts({"a.py": FileFacts(lines=text)})
    head = hunk("a.py", "", "# Code generated by x. DO NOT EDIT.\n")
    change = hunk("a.py", "y = 1\n", "y = 2\n", start=2)
    whole = hunk("a.py", "", "".join(text))

    assert [row.kind for row in guide([change], facts)] == ["generated"]
    assert [row.kind for row in guide([head, change], facts)] == ["change"] * 2
    assert [row.kind for row in guide([whole], facts)] == ["generated"], "a program made it in this session"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = True\n", "x = False\n"),
        ("a and b\n", "a or b\n"),
        ("x: int\n", "x: float\n"),
        ("let x\n", "const x\n"),
    ],
)
def test_a_changed_word_of_the_language_is_no_rename(old: str, new: str) -> None:
    rows = guide([hunk("a.py", old, new, start=at, number=at) for at in range(4)])

    assert [row.kind for row in rows] == ["change"] * 4


# -- marks


@pytest.mark.parametrize(
    ("path", "old", "new", "is_marked"),
    [
        ("a.py", "def f(a):\n", "def f(a, b):\n", True),
        ("a.py", "def f(a):\n", "def f( a ):\n", False),
        ("a.py", "def _f(a):\n", "def _f(a, b):\n", False),
        ("a.py", "def f(a):\n    return 1\n", "def f(a):\n    return 2\n", False),
        ("a.py", "def f(a):\n    return 1\n", "", True),
        ("a.py", "def f(\n    a,\n    b,\n):\n", "def f(a, b):\n", False),
        ("a.py", "def f(\n    a,\n    b,\n):\n", "def f(\n    a,\n    c,\n):\n", True),
        ("a.ts", "export function f(a: number) {\n", "export function f(a: string) {\n", True),
        ("a.ts", "function f(a: number) {\n", "function f(a: string) {\n", False),
        ("a.go", "func Total(a int) int {\n", "func Total(a int64) int {\n", True),
        ("a.go", "func total(a int) int {\n", "func total(a int64) int {\n", False),
        ("a.rs", "pub fn f(a: u8) {\n", "pub fn f(a: u16) {\n", True),
        ("a.rs", "fn f(a: u8) {\n", "fn f(a: u16) {\n", False),
        ("A.java", "public int f(int a) {\n", "public int f(long a) {\n", True),
        ("A.java", "private int f(int a) {\n", "private int f(long a) {\n", False),
        ("tests/test_a.py", "def test_f(a):\n", "def test_f():\n", False),
        # a function in a function is nobody's to call, a method is
        ("a.py", "def f():\n    def g():\n        pass\n", "def f():\n    def g(a):\n        pass\n", False),
        (
            "a.py",
            "class A:\n    def g(self):\n        pass\n",
            "class A:\n    def g(self, a):\n        pass\n",
            True,
        ),
        (
            "a.py",
            "def f():\n    pass\nif x:\n    def g():\n",
            "def f():\n    pass\nif x:\n    def g(a):\n",
            True,
        ),
        ("a.py", "def f(\n    a,\n):\n    def g():\n", "def f(\n    a,\n):\n    def g(b):\n", False),
    ],
)
def test_a_changed_public_signature_is_marked(path: str, old: str, new: str, is_marked: bool) -> None:
    assert ("signature" in kinds(hunk(path, old, new))) == is_marked


def test_a_signature_of_several_lines_is_found_around_the_hunk() -> None:
    text = lines("def f(\n    a,\n    c,\n):\n    return a\n")
    changed = hunk("a.py", "    b,\n", "    c,\n", start=2)

    assert "signature" in kinds(changed, ProjectFacts({"a.py": FileFacts(lines=text)}))


def test_a_definition_that_only_moved_is_no_changed_signature() -> None:
    text = lines("x = 1\n\ndef f():\n    pass\n")
    removed = hunk("a.py", "def f():\n    pass\n", "", start=0)

    assert "signature" not in kinds(removed, ProjectFacts({"a.py": FileFacts(lines=text)}))


@pytest.mark.parametrize(
    ("facts", "marked", "unknown"),
    [
        (ProjectFacts(test_words=frozenset({"total"})), False, False),
        (ProjectFacts(test_words=frozenset({"other"})), True, False),
        (ProjectFacts(test_words=None), False, True),
    ],
)
def test_code_that_no_test_names_is_marked(facts: ProjectFacts, marked: bool, unknown: bool) -> None:
    found = marks_of(hunk("a.py", "", "def total():\n"), facts)

    assert ("untested" in {it.kind for it in found.found}, "untested" in found.unknown) == (marked, unknown)


def test_what_was_removed_needs_no_test() -> None:
    facts = ProjectFacts({"a.py": FileFacts(lines=("x = 1\n",))}, frozenset({"other"}))

    assert "untested" not in kinds(hunk("a.py", "def total():\n    pass\n", ""), facts)


def test_a_changed_line_counts_as_tested_by_the_definition_around_it() -> None:
    text = lines("class Cart:\n    def total(self):\n        x = 1\n\n        return x\n")
    changed = hunk("a.py", "        return 1\n", "        return x\n", start=4)
    files = {"a.py": FileFacts(lines=text)}

    assert "untested" not in kinds(changed, ProjectFacts(files, frozenset({"total"})))
    assert "untested" in kinds(changed, ProjectFacts(files, frozenset({"Cart"})))


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a.sh", "signature"), ("a.xyz", "untested"), ("a.xyz", "signature"), ("a.py", "yourText")],
)
def test_what_is_not_known_is_unknown(path: str, kind: str) -> None:
    found = marks_of(hunk(path, "f()\n", "g()\n"), ProjectFacts(test_words=frozenset()))

    assert kind in found.unknown


@pytest.mark.parametrize(
    ("typed", "is_near"), [((8, 9), True), ((13, 14), True), ((20, 21), False), ((0, 7), False)]
)
def test_text_of_the_user_is_near_within_three_lines(typed: tuple[int, int], is_near: bool) -> None:
    facts = ProjectFacts({"a.py": FileFacts(typed=[typed])})

    assert ("yourText" in kinds(hunk("a.py", "", "x\n", start=10), facts)) == is_near


def test_facts_of_the_log_are_marks() -> None:
    item = replace(hunk("a.py", "", "x\n"), problems=2, is_typed_in=True)
    facts = ProjectFacts({"a.py": FileFacts(is_sensitive=True)})

    assert {"newProblem", "yourText", "sensitive"} <= kinds(item, facts)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/helper.py", True),
        ("src/cart.test.ts", True),
        ("src/cart_test.go", True),
        ("CartTest.java", True),
        ("src/contest.py", False),
        ("latest.py", False),
        ("src/testament.py", False),
    ],
)
def test_tests_are_known_by_name_or_folder(path: str, expected: bool) -> None:
    assert is_test(path) == expected


@given(
    st.lists(st.text(alphabet="def class(){}[]:=>,_ab \t\n\"'é\x00", max_size=40), max_size=30),
    st.integers(0, 40),
)
def test_any_text_is_read_without_an_error(texts: list[str], at: int) -> None:
    for path in ("a.py", "a.ts", "a.go", "a.rs", "A.java", "a.rb", "a.lua", "a.php", "a.kt", "a.sh", "a"):
        definitions(path, texts)
        enclosing(path, texts, at)
        guide([GuidedHunk("h", path, tuple(texts), tuple(texts[::-1]), at, 0)])


@pytest.mark.parametrize("text", ["export ", "public ", "func (", "'", "`", "'\"\\", "(", "static final <"])
def test_lines_of_generated_code_are_read_in_part_only(text: str) -> None:
    # Without limits some of these take minutes, and the time limit of a test ends them.
    line = (text * 20_000 + "\n",)
    paths = ("a.ts", "a.go", "a.rs", "a.kt", "a.php", "a.lua", "a.rb", "a.sh", "A.java", "a.py")
    hunks = [GuidedHunk(path, path, line, (*line, "x\n"), 0, 0) for path in paths]

    assert len(guide(hunks)) == len(paths)
