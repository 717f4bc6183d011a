"""Mistakes on the command line: the first line says what is wrong, the second what to do, and nothing is stored."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from tests.support.commands import command, environment, run

pytestmark = pytest.mark.req("H16")

WRONG = [
    ("exec", "agent-ls exec: prompt is missing", "--help"),
    ("exec fix the tests", "agent-ls exec: the prompt is more than one argument", "quotation marks"),
    ("exec hi --modee plan", "agent-ls exec: there is no option --modee", "did you mean --mode?"),
    ("exec --nothing", "agent-ls exec: there is no option --nothing", "agent-ls exec --help"),
    ("exec --mo plan hi", "agent-ls exec: there is no option --mo", "did you mean --model or --mode?"),
    ("exec hi --mode", "agent-ls exec: --mode needs a value", "agent-ls exec --help"),
    ("exec --findings sarf hi", "agent-ls exec: there is no --findings 'sarf'", "did you mean sarif?"),
    ("exec --cd /nowhere/at/all hi", "agent-ls exec: --cd: the folder does not exist", "path of a folder"),
    ("--verson", "agent-ls: there is no option --verson", "did you mean --version?"),
    ("sessions exprt", "agent-ls sessions: there is no action 'exprt'", "did you mean export?"),
    (
        "sessions --limit many",
        "agent-ls sessions: --limit: 'many' is not a whole",
        "agent-ls sessions --help",
    ),
    ("sessions --limit -1", "agent-ls sessions: --limit: '-1' is not a whole", "agent-ls sessions --help"),
    ("batch tasks.jsonl --out o --jobs 0", "agent-ls batch: --jobs: '0' is not a", "agent-ls batch --help"),
    ("trust", "agent-ls trust: verb is missing", "list, add, restrict, forget"),
    ("completions bsh", "agent-ls completions: there is no shell 'bsh'", "did you mean bash?"),
    ("doctor one two", "agent-ls doctor: 'one two' is too much", "agent-ls doctor --help"),
    (
        "mcp add x --nothing -- y",
        "agent-ls mcp add: there is no option --nothing",
        "agent-ls mcp add --help",
    ),
    ("keys set antropic", "agent-ls keys: no provider is named 'antropic'", "did you mean anthropic?"),
    ("models antropic", "agent-ls models: no provider is named 'antropic'", "did you mean anthropic?"),
    ("mcp test nothing", "agent-ls mcp: no server is named nothing", "agent-ls mcp list"),
]


@pytest.mark.parametrize(("words", "first", "second"), WRONG, ids=[row[0] for row in WRONG])
def test_the_first_line_names_the_mistake_and_the_second_the_next_step(
    words: str, first: str, second: str, tmp_path: Path
) -> None:
    done = run(*words.split(), cwd=tmp_path, environ=environment(tmp_path / "home"))

    lines = done.err.splitlines()
    assert done.code in (1, 2) and not done.out
    assert lines[0].startswith(first) and second in lines[1]
    assert len(lines) == 2
    assert not [*(tmp_path / "home").rglob("sessions/*")]


def test_help_as_a_command_prints_the_page_and_the_help_of_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["help"]) == 0
    assert "The first day:" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["help", "keys"])
    assert "agent-ls keys" in capsys.readouterr().out


def test_what_blocks_a_run_is_the_first_line_also_if_both_outputs_are_one_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environ = {**environment(tmp_path / "home"), "AGENT_LS_TRUSTED_FOLDERS": ""}
    with log.open("w") as both:
        subprocess.run(
            command("exec", "hi"),
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=both,
            stderr=both,
        )
    lines = log.read_text().splitlines()
    assert "no model provider is set up" in lines[0] and "agent-ls keys set" in lines[1]
    assert any("not trusted" in line for line in lines[2:])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("exec -", "the prompt is empty"),
        ("keys set anthropic", "this is not an API key"),
        ("apply-patch", "the patch is empty"),
        ("exec --ask hi", "--ask needs a terminal"),
    ],
)
def test_a_closed_standard_input_is_read_as_empty(words: str, reason: str, tmp_path: Path) -> None:
    script = 'exec "$@" <&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *command(*words.split())],
        cwd=tmp_path,
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
    )
    assert done.returncode in (1, 2) and reason in done.stderr.splitlines()[0]


def test_a_folder_in_place_of_the_settings_file_is_named(tmp_path: Path) -> None:
    environ = {**environment(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "config/agent-ls/settings.json").mkdir(parents=True)
    done = run("exec", "hi", cwd=tmp_path, environ=environ)
    first, second = done.err.splitlines()
    assert done.code == 2 and "settings.json cannot be read" in first and second


def test_each_message_fits_a_narrow_terminal_and_survives_closed_streams(tmp_path: Path) -> None:
    environ = {**environment(tmp_path / "home"), "COLUMNS": "12"}
    for words in (["exec"], ["sessions"], ["doctor"], ["help"], ["models"], ["exec", "hi"]):
        end, closed = os.pipe()
        os.close(end)  # nobody reads
        done = subprocess.run(
            command(*words),
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=closed,
            stderr=subprocess.PIPE,
        )
        os.close(closed)
        assert b"Traceback" not in done.stderr and done.returncode >= 0
