from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.loop.calls import redaction
from agent_ls.loop.calls.redaction import (
    HEADERS,
    MARK,
    StreamRedaction,
    known_end,
    redact_line,
    redacted,
    replace_values,
)

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
    "task-list AKIA is not a key, nor is sk-short",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "the quick brown fox\n" * 50,
    "progress: 10%\rprogress: 20%\r",
    "eyJ is how a token begins",
)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_a_secret_is_removed_and_the_text_around_it_stays(secret: str) -> None:
    assert redacted(f"before={secret}\nafter", [KEY]) == f"before={MARK}\nafter"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert redacted(text, [KEY]) == text


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_streamed_redaction_of_a_split_secret_equals_redaction_of_the_whole_text(
    secret: str,
) -> None:
    text = f"some words, then {secret}\nand {ORDINARY[0]}\n"
    for size in (1, 2, 3, 7, 40):
        stream = StreamRedaction(lambda: [KEY])
        pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join((*pieces, stream.end())) == redacted(text, [KEY]), size


def test_text_in_random_pieces_is_published_completely(seed: int = 7) -> None:
    chooser = random.Random(seed)
    for text in ORDINARY:
        stream, published, at = StreamRedaction(lambda: [KEY]), "", 0
        while at < len(text):
            size = chooser.randint(1, 9)
            published += stream.feed(text[at : at + size])
            at += size
        assert published + stream.end() == text


def test_ordinary_output_is_not_held_back() -> None:
    stream = StreamRedaction(lambda: [KEY])
    assert stream.feed("Password: ") == "Password: "
    assert stream.feed("...") == "..."


def test_a_short_key_of_a_local_server_is_not_redacted() -> None:
    assert redacted("a none b", ["none"]) == "a none b"


@pytest.mark.parametrize("text", ["hunter2", "a hunter2.", "PASS=hunter2\nb", "\nhunter2\n", '"hunter2"'])
def test_a_short_value_is_redacted_as_a_word_of_its_own(text: str) -> None:
    clean = text.replace("hunter2", MARK)
    assert redacted(text, ["hunter2"]) == clean
    assert json.loads(redact_line(json.dumps({"a": text}).encode(), ["hunter2"])) == {"a": clean}
    stream = StreamRedaction(lambda: ["hunter2"])
    assert "".join([*map(stream.feed, text), stream.end()]) == clean


@pytest.mark.parametrize(
    ("text", "value"), [("hunter21", "hunter2"), ("a test", "test"), ("port 8080", "8080"), ("is a1b", "a1b")]
)
def test_a_short_value_is_kept_within_a_word_and_if_it_is_a_word_or_a_number(text: str, value: str) -> None:
    assert redacted(text, [value]) == text
    assert redact_line(text.encode(), [value]) == text.encode()


def test_a_log_line_is_redacted_only_for_known_keys() -> None:
    line = f'{{"text":"{KEY} {SECRETS["github"]}"}}'.encode()
    assert redact_line(line, [KEY]) == line.replace(KEY.encode(), MARK.encode())


AS_GIT_TELLS = {
    "remote": ("origin\thttps://u:{}@host/a.git (fetch)\n", "s3cr3t"),
    "remote with a token as its user": ("remote.origin.url=https://{}@host/a.git\n", "a1b2c3d4e5f6a7b8c9d0e1f2"),
    "remote with a token and no password": ("url = https://{}@host/a.git\n", "anything:x-oauth-basic"),
    "remote with an at sign": ("https://u:{}@host/a.git\n", "p@ss"),
    "checkout of a CI job": (
        "http.https://host/.extraheader=AUTHORIZATION: basic {}\n", "eC1hY2Nlc3MtdG9rZW46Z2hz"
    ),
    "the same as a setting": ("\textraheader = Authorization: Bearer {}\n", "abcdefgh"),
    "a proxy": ("Proxy-Authorization: Basic {}\n", "dXNlcjpwYXNz"),
    "a header of its own": ("http.extraheader=PRIVATE-TOKEN: {}\n", "k3y-of-thirty-two-characters"),
    "JSON": ('{{"Authorization": "Token {}"}}', "abcdefgh"),
    "curl -v": ("> Bearer {}\n", "0123456789abcdef"),
    "a database": ("postgresql://admin:{}@db:5432/x\n", "hunter2"),
    "rewritten addresses": ("url.https://u:{}@host/.insteadof=https://host/\n", "tok"),
    "trace": ("=> Send header: cookie: {}\n", "session1234567890"),
}  # fmt: skip
ADDRESSES = (
    "git@github.com:a/b.git ssh://git@host/a https://org@dev.azure.com/a",
    "https://host/path@1.2 https://host?mail=a@b docker://alpine:3.18@sha256:abcd",
    "https://$USER:$PASS@host https://user:password@host https://user:***@host",
    "https://{user}:{password}@host re.compile(r'https?://[^:]+:[^@]+@')",
    'headers["Authorization"] = value; {authorization: authorizationHeader}; f"Bearer {token}"',
    "Basic internationalization of the Bearer authentication, cookie: consentBannerWasShown",
)


@pytest.mark.parametrize(("line", "secret"), AS_GIT_TELLS.values(), ids=list(AS_GIT_TELLS))
def test_credentials_in_addresses_and_headers_are_removed_by_their_form(line: str, secret: str) -> None:
    published = redacted(f"one\n{line.format(secret)}two", ())
    assert published == f"one\n{line.format(MARK)}two"
    assert redacted(published, ()) == published
    for size in (1, 2, 3, 7, 40):
        stream, text = StreamRedaction(list), f"one\n{line.format(secret)}two"
        parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join((*parts, stream.end())) == published, size


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses_and_code_without_credentials_are_unchanged(text: str) -> None:
    assert redacted(text, ()) == text


@pytest.mark.parametrize(
    ("text", "published"), [("it is cor", "it is "), ("it is c", "it is c"), ("it is", "it is")]
)
def test_a_possible_beginning_of_a_known_key_waits_for_the_next_piece(text: str, published: str) -> None:
    assert text[: known_end(text, [KEY])] == published


ADVERSARIAL = [
    "eyJ-", "eyJ", "eyJaaaaaaaaaaaa.", "aeyJ-", "eyJaaaaaaaaaa.eyJ-", "sk-", "sk-ant-", "ghp_", "AKIA", "xoxb-", "npm_",
    "hf_", "sk_live_", "AIza", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "a", " ", "-",
    "://", "://a:", "://a@", "https:", "a:b@", "authorization: ", "Bearer ", "Basic a", "cookie=", "cookie: 1a",
]  # fmt: skip
PROGRAM = """
import sys
from agent_ls.loop.calls.redaction import StreamRedaction, redacted
for part in sys.stdin.read().split("\\0"):
    text = part * (400_000 // len(part))
    redacted(text, ("the-known-key-of-the-test",))
    redacted(text + "-----BEGIN PRIVATE KEY-----", ())
    stream = StreamRedaction(lambda: ("the-known-key-of-the-test",))
    for start in range(0, len(text), 4096):
        stream.feed(text[start : start + 4096])
    stream.end()
"""


@pytest.mark.group("sweeps")
def test_megabytes_of_possible_secret_beginnings_take_no_quadratic_time() -> None:
    # With quadratic time this would take hours.
    subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\0".join(ADVERSARIAL), text=True, timeout=240, check=True
    )


TOKEN = f"eyJ{'a' * 12}.eyJ{'b' * 12}.{'c' * 12}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOKEN, "[secret removed]"),
        (f"Bearer {TOKEN} x", "Bearer [secret removed] x"),
        (f"x-{TOKEN}", "x-[secret removed]"),
        (f"ghp_{'a' * 30}-{TOKEN}", "[secret removed]-[secret removed]"),
        (f"a.{TOKEN}", "a.[secret removed]"),
        (f"x{TOKEN}", f"x{TOKEN}"),
    ],
)
def test_a_json_web_token_is_redacted_at_a_word_start_only(text: str, expected: str) -> None:
    assert redacted(text, ()) == expected


class CountingForm:
    """A pattern that counts where it was matched."""

    def __init__(self, pattern: str) -> None:
        self.form = re.compile(pattern)
        self.starts: list[int] = []

    def match(self, text: str, start: int) -> re.Match[str] | None:
        self.starts.append(start)
        return self.form.match(text, start)


def test_a_header_is_matched_only_where_its_word_is() -> None:
    text = "hello world\n" * 100_000
    form: Any = CountingForm(r"(?i)(cookie: )\w+")
    assert replace_values(f"{text}Cookie: abc {text}", ["cookie"], form) == f"{text}Cookie: {MARK} {text}"
    assert form.starts == [len(text)]


LETTERS = (
    "basic",
    "BEARER",
    "CooKie",
    "ba\u017fic",
    "coo\u212aie",
    "bas\u0130c",
    " ",
    "\n",
    ":",
    "a1" * 8,
    "=",
    "\u00df",
    "x-",
)


@given(st.lists(st.sampled_from(LETTERS), max_size=12).map("".join))
def test_headers_are_found_as_a_search_of_the_whole_text_finds_them(text: str) -> None:
    expected = text
    for _, form in HEADERS:
        expected = form.sub(rf"\1{MARK}", expected)
    for words, form in HEADERS:
        text = replace_values(text, words, form)
    assert text == expected


@pytest.mark.parametrize("chars", [1, 7, 64])
def test_a_long_text_is_redacted_in_pieces_as_in_one(chars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{name} = {secret} of https://me:{secret[:12]}9@a.example/" for name, secret in SECRETS.items()]
    lines += ["Authorization:\n  Bearer abcdef123456789", "x" * 200, "Cookie: session=abcdefgh12345678", ""]
    random.Random(7).shuffle(lines)
    for joint in ("\n", " ", "\n\n"):
        text = joint.join(lines)
        monkeypatch.undo()
        whole = redacted(text, [KEY])
        monkeypatch.setattr(redaction, "PIECE_CHARS", chars)
        assert redacted(text, [KEY]) == whole
