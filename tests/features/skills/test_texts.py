"""The prompt text of a used command or skill, and the list of skills within its size limit."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.features.skills.catalogue import catalogue_text
from agent_ls.features.skills.placeholders import expand_command, insert_arguments
from agent_ls.features.skills.values import UserCommand


def entry(name: str, description: str = "", kind: str = "skill") -> UserCommand:
    return UserCommand(
        name,
        description,
        "skill" if kind == "skill" else "command",
        "user",
        "/s/SKILL.md",
        "/",
        "/s",
        (0, 0, 0),
    )


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("Fix $ARGUMENTS.", "the bug", "Fix the bug."),
        ("$1 then $2 then $3.", "'a b' c", "a b then c then ."),
        ("Plan {{args}}", "x", "Plan x"),
        ("Ask ${input:topic:which one}", "x", "Ask x"),
        ("Look at ${file}", "", "Look at the file that is open in the editor"),
        ("No place.", "words", "No place.\n\nwords"),
        ("Costs $10 and $ARGUMENTSX.", "", "Costs $10 and $ARGUMENTSX."),
        ("Unclosed ' $1", "it's", "Unclosed ' it's"),
    ],
)
@pytest.mark.req("T12")
def test_arguments_of_the_user_replace_the_placeholders(text: str, arguments: str, expected: str) -> None:
    assert insert_arguments(text, arguments) == expected


@pytest.mark.req("T12", "X4")
def test_a_shell_command_embedded_in_a_skill_becomes_a_request_and_arguments_cannot_embed_one() -> None:
    text = insert_arguments("Status: !`git status`. Log: !{git log}. $ARGUMENTS", "!`rm -rf /`")
    assert "(insert the output of the command `git status` here: run it if you are allowed to)" in text
    assert "(insert the output of the command `git log` here: run it if you are allowed to)" in text
    assert text.endswith("!`rm -rf /`")


def test_a_prompt_begins_with_the_typed_command() -> None:
    skill = expand_command(entry("pdf"), "Read it.", "a.pdf")
    assert skill == '/pdf a.pdf\n\n<skill name="pdf" folder="/s">\nRead it.\n\na.pdf\n</skill>'
    assert expand_command(entry("tidy", kind="command"), "Tidy.", "") == "/tidy\n\nTidy."


@pytest.mark.req("T12")
@given(
    st.lists(st.text(st.characters(categories=["L"]), max_size=1200), max_size=400),
    st.integers(1_000, 2_000_000),
)
def test_the_skill_list_respects_its_size_limit_and_counts_the_skills_that_it_omits(
    descriptions: list[str], window_tokens: int
) -> None:
    skills = [entry(f"skill-{number}", description) for number, description in enumerate(descriptions)]
    text = catalogue_text(skills, window_tokens)
    limit = min(8_000, int(window_tokens * 0.02 * 4))
    rows = [row for row in text.splitlines() if row.startswith("- ")]
    assert sum(len(row) + 1 for row in rows) <= limit
    assert len(rows) == len(skills) or f"({len(skills) - len(rows)} more are not listed)" in text
    assert bool(text) == bool(skills)
