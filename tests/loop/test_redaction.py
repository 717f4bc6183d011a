from __future__ import annotations

import random

import pytest

from agent_ls.loop.redaction import MARK, StreamRedaction, known_end, redacted, without

pytestmark = pytest.mark.req("R6", "X5")

KEY = "correct-horse-battery"
BLOCK = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----"
SECRETS = {
    "known": KEY,
    "anthropic": "sk-ant-" + "a1B2" * 10,
    "openai": "sk-proj-" + "Zz9_" * 10,
    "github": "ghp_" + "a1" * 18,
    "github fine-grained": "github_pat_" + "a1_B" * 10,
    "gitlab": "glpat-" + "x" * 20,
    "aws": "AKIA" + "ABCDEFGH12345678",
    "google": "AIza" + "x" * 35,
    "slack": "xoxb-" + "1234567890-abc",
    "npm": "npm_" + "a" * 36,
    "stripe": "sk_live_" + "a" * 24,
    "token": "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20,
    "private key": BLOCK,
}
ORDINARY = (
    "def ask(risk): return sk - 1",
    "desk-top AKIA is not a key, nor is sk-short",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "the quick brown fox\n" * 50,
    "progress: 10%\rprogress: 20%\r",
    "eyJ is how a token begins",
)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_secret_is_taken_out_and_what_is_around_it_stays(secret: str) -> None:
    assert redacted(f"before={secret}\nafter", [KEY]) == f"before={MARK}\nafter"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redacted(text, [KEY]) == text


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_secret_that_comes_in_pieces_is_never_told_and_the_sum_is_that_of_the_whole(secret: str) -> None:
    text = f"some words, then {secret}\nand {ORDINARY[0]}\n"
    for size in (1, 2, 3, 7, 40):
        stream = StreamRedaction(lambda: [KEY])
        told = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join((*told, stream.end())) == redacted(text, [KEY]), size


def test_text_in_random_pieces_is_told_whole(seed: int = 7) -> None:
    chooser = random.Random(seed)
    for text in ORDINARY:
        stream, told, at = StreamRedaction(lambda: [KEY]), "", 0
        while at < len(text):
            size = chooser.randint(1, 9)
            told += stream.feed(text[at : at + size])
            at += size
        assert told + stream.end() == text


def test_ordinary_output_is_not_held_back() -> None:
    stream = StreamRedaction(lambda: [KEY])
    assert stream.feed("Password: ") == "Password: "
    assert stream.feed("...") == "..."


def test_short_key_of_a_local_server_is_no_secret() -> None:
    assert redacted("a none b", ["none"]) == "a none b"


def test_line_that_is_about_to_be_written_loses_known_values_only() -> None:
    line = f'{{"text":"{KEY} {SECRETS["github"]}"}}'.encode()
    assert without(line, [KEY]) == line.replace(KEY.encode(), MARK.encode())


@pytest.mark.parametrize(
    ("text", "told"), [("it is cor", "it is "), ("it is c", "it is c"), ("it is", "it is")]
)
def test_what_may_be_the_beginning_of_a_known_key_waits_for_what_follows(text: str, told: str) -> None:
    assert text[: known_end(text, [KEY])] == told
