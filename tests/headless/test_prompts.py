"""The prompt of `agent-ls exec`: its encoding, and the files that it mentions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.features.mentions.typed import find_file_words
from tests.support.commands import DEADLINE_S, Finished, command, environment

pytestmark = pytest.mark.req("H13", "U8")

PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run_exec(
    prompt: bytes, folder: Path, *, from_stdin: bool = False, variables: dict[str, str] | None = None
) -> Finished:
    words = [os.fsencode(word) for word in command("exec", "--json", "--provider", "walkthrough")]
    done = subprocess.run(
        [*words, b"-" if from_stdin else prompt],
        cwd=folder,
        env=environment(folder / "home", **(variables or {})),
        input=prompt if from_stdin else b"",
        capture_output=True,
        timeout=DEADLINE_S,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    ("prompt", "from_stdin", "variables"),
    [
        ("grüß".encode(), False, {}),
        ("grüß".encode(), False, PLAIN),
        ("grüß".encode(), True, PLAIN),
        ("grüß".encode("utf-8-sig"), True, {}),
        ("grüß".encode("utf-16"), True, {}),
    ],
)
def test_a_prompt_is_read_in_each_encoding_that_is_certain(
    prompt: bytes, from_stdin: bool, variables: dict[str, str], tmp_path: Path
) -> None:
    done = run_exec(prompt, tmp_path, from_stdin=from_stdin, variables=variables)
    (message,) = done.of_kind("user_input")
    assert done.code == 0 and message["text"] == "grüß", done


@pytest.mark.parametrize("from_stdin", [False, True])
@pytest.mark.parametrize("prompt", ["grüß".encode("latin-1"), "日本".encode("shift_jis"), b"\xe2\x82"])
def test_a_prompt_in_an_unknown_encoding_is_refused(prompt: bytes, from_stdin: bool, tmp_path: Path) -> None:
    done = run_exec(prompt, tmp_path, from_stdin=from_stdin)
    assert done.code == 2 and not done.out and f"0x{prompt.strip(b'gr')[0]:02x}" in done.err, done


def test_a_mentioned_file_that_does_not_exist_is_named_in_a_warning(tmp_path: Path) -> None:
    for name in ("src/a.py", "node_modules/@own/pkg/b.js"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    there = "@src/a.py:1-2 @src/ @./src/a.py @/a.py @own/pkg/b.js"
    done = run_exec(f"Read {there}, @none.md and @docs/x.ts#L3.".encode(), tmp_path)
    (warning,) = [it for it in done.of_kind("warning") if it["code"] == "mention"]
    named = [word.strip(",") for word in warning["message"].split() if word.startswith("@")]
    assert done.code == 0 and named == ["@none.md", "@docs/x.ts"], done


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fix @a.py, then @b/c.ts!", ["a.py", "b/c.ts"]),
        ("(@a.md) '@a.md' @a.md @a.md:3", ["a.md"]),
        ("@src/ @./x @../y/z", ["src/", "./x", "../y/z"]),
        ("@a/b.unknown @übung/größe.txt", ["a/b.unknown", "übung/größe.txt"]),
        ("me@x.py a@b.md user@host:/c.py", []),
        ('@property @app.route("/a.html") @pytest.mark.parametrize("x", [1]) @functools.cache', []),
        ("@types/node @angular/core actions/checkout@v4.1 @alice @a.b.d @org.junit.Test", []),
        ("@diff @commit:a/b.py @symbol:f.py @https://x/a.html @server:file:///a.py @ a.py", []),
    ],
)
def test_only_words_in_the_form_of_a_file_are_mentions_of_files(text: str, found: Sequence[str]) -> None:
    assert list(find_file_words(text)) == list(found)
