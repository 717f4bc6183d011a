"""A chat as a document: its user messages, the position of an answer, and text that must not become a user message."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, strategies as st

from agent_ls.environments.editor_host import apply_edits
from agent_ls.loop.events.types import AssistantTextEnd, AssistantTextStart, Delta, Envelope, SessionEvent
from agent_ls.server.chat.chat_text import (
    Mention,
    Region,
    append_answer,
    append_line,
    get_mentions,
    heading,
    make_opening,
    read_below,
    read_chat,
)
from agent_ls.server.chat.transcript import ChatTranscript

MARKER = heading("s-1f", 1)


@pytest.mark.req("H8")
@pytest.mark.parametrize(
    ("text", "message", "session"),
    [
        ("", "", ""),
        ("fix it\n", "fix it", ""),
        ("## you\n\nfix it\n\nand more\n", "fix it\n\nand more", ""),
        (f"fix it\n\n{MARKER}\n\ndone\n", "", "s-1f"),
        (f"fix it\n\n{MARKER}\n\ndone\n\n## you\n\n", "", "s-1f"),
        (f"fix it\r\n\r\n{MARKER}\r\n\r\ndone\r\n\r\n## you\r\n\r\nthanks\r\n", "thanks", "s-1f"),
        ("## your plan\nis good\n", "## your plan\nis good", ""),
        ("## agent <!-- ../../x 1 -->\nhm", "## agent <!-- ../../x 1 -->\nhm", ""),
    ],
)
def test_the_text_below_the_last_heading_is_the_users_message(text: str, message: str, session: str) -> None:
    chat = read_chat(text)

    assert (chat.message, chat.session_id) == (message, session)


def test_mentions_are_read_with_and_without_lines() -> None:
    assert get_mentions("see @shop/cart.py:3-9, @a.py:4 and (not me@example.org) @dir/ @problems.") == [
        Mention("shop/cart.py", (2, 9)),
        Mention("a.py", (3, 4)),
        Mention("dir/"),
        Mention("problems"),
    ]


@pytest.mark.req("H8")
@pytest.mark.parametrize("before", ["", "fix it", "fix it\n", "fix it\r\n", "fix it\n\n"])
def test_an_answer_grows_at_the_end_of_the_document(before: str) -> None:
    region = Region(MARKER, "\nI ")
    text = apply_edits(before, make_opening(before, region))
    for more in ("look", " at it\n", "", "\nDone.\n"):
        edits = append_answer(text, region, more)
        assert edits is not None
        text, region = apply_edits(text, edits), Region(MARKER, region.written + more)

    folded = text.replace("\r\n", "\n")
    assert folded.startswith(before.replace("\r\n", "\n"))
    assert folded.endswith(f"{MARKER}\n\nI look at it\n\nDone.\n\n")
    assert "\r\n" not in before or "\n" not in text.replace("\r\n", "")


@pytest.mark.req("H8")
def test_text_typed_below_an_answer_stays_below_it() -> None:
    region = Region(MARKER, "\none")
    text = apply_edits("fix it\n", make_opening("fix it\n", region)) + "my next words\n"
    edits = append_answer(text, region, "\ntwo")

    assert edits and apply_edits(text, edits).endswith("one\ntwo\nmy next words\n")


@pytest.mark.req("H8")
@pytest.mark.parametrize("more", ["two", "two\n", "\n## you\n"])
def test_text_typed_on_the_empty_line_after_an_answer_belongs_to_the_user(more: str) -> None:
    region = Region(MARKER, "\none\n\n")
    text = apply_edits("fix it\n", make_opening("fix it\n", region))
    assert text.endswith("one\n\n\n")
    text = text.removesuffix("\n") + "my next\nwords\n"
    for piece in (more, " and on"):
        edits = append_answer(text, region, piece)
        assert edits
        text, region = apply_edits(text, edits), Region(MARKER, region.written + piece)

    assert text.endswith(f"one\n\n{more} and on\nmy next\nwords\n")


@pytest.mark.req("H8")
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("fix it\n\nnow\n", "and then\n"),
        ("## you\n\n  fix it\n\nnow\n", "\nand then\n"),
        (f"fix it\n\nnow\n\n{MARKER}\n\ndone\n\n## you\nfix it\n\nnow\n", "## you\n\nand then"),
    ],
)
def test_an_answer_begins_directly_below_its_message(before: str, behind: str, ending: str) -> None:
    text = (before + behind).replace("\n", ending)
    answered = apply_edits(text, make_opening(text, Region(MARKER, "\nYes."), "fix it\n\nnow"))

    assert answered == f"{before}\n{MARKER}\n\nYes.\n{behind}".replace("\n", ending)


@pytest.mark.req("H8")
@pytest.mark.parametrize(
    "text", ["fix that\nand then\n", f"fix it\n\n{MARKER}\nYes.\n", "a\nfix it\nb\n", ""]
)
def test_an_answer_to_a_changed_message_is_at_the_end(text: str) -> None:
    assert apply_edits(text, make_opening(text, Region(MARKER), "fix it")).endswith(f"{MARKER}\n\n")


def test_an_answer_that_the_user_changed_is_not_overwritten() -> None:
    region = Region(MARKER, "\none\ntwo")
    text = apply_edits("", make_opening("", region))

    assert append_answer(text.replace("one", "mine"), region, "x") is None
    assert append_answer(text.replace(MARKER, ""), region, "x") is None
    assert (
        append_answer(text.replace("one\n", "one   \n"), region, "x") is not None
    )  # a formatter added the blanks
    assert read_below(text, MARKER) == "\none\ntwo"
    assert apply_edits("a", append_line("a", "@b ")) == "a\n@b \n"


def said(pieces: Sequence[str]) -> str:
    """Return the chat's text after the model has streamed its text in these chunks."""
    deltas = [Delta("assistant_text_delta", "p", 0, piece) for piece in pieces]
    end = AssistantTextEnd("p", "".join(pieces))
    events: list[SessionEvent] = [AssistantTextStart("p"), *deltas, end]
    transcript = ChatTranscript()
    return "".join(transcript.feed(Envelope("s", None, "", event)) for event in events)


PIECES = st.lists(
    st.sampled_from(["#", "# ", "## ", "you", "agent", "\n", " ", "x", "\r", "\u2028", "\x1b[1m"])
)


@pytest.mark.req("H8", "H7")
@given(PIECES)
@example([" ", "## ", "you"])
def test_text_of_the_model_never_becomes_a_user_heading_in_any_chunks(pieces: list[str]) -> None:
    text = f"fix it\n\n{MARKER}\n\n{said(pieces)}"

    chat = read_chat(text)

    assert chat.is_answer_last and chat.message == ""
    assert said(pieces) == said(["".join(pieces)])
