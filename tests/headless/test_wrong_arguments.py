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
    ("exec --cd /dev/null hi", "agent-ls exec: --cd: this is not a folder", "path of a folder"),
    ("exec --add-dir /dev/null hi", "agent-ls exec: --add-dir: this is not a folder", "path of a folder"),
    ("exec --allow nothing hi", "agent-ls exec: --allow 'nothing'", "the first words of commands"),
    ("exec --worktree hi", "agent-ls exec: there is no --worktree 'hi'", "after the prompt"),
    ("exec -C . hi", "agent-ls exec: there is no option -C", "did you mean --cd?"),
    ("exec -q hi", "agent-ls exec: there is no option -q", "agent-ls exec --help"),
    ("exec --yolo hi", "agent-ls exec: there is no option --yolo", "did you mean --mode full?"),
    ("exec --mode acceptEdits hi", "agent-ls exec: --mode: there is no mode 'acceptEdits'", "docs modes"),
    ("-p hi", "agent-ls: there is no option -p", "write `agent-ls exec` before it"),
    ("-v", "agent-ls: there is no option -v", "did you mean --version?"),
    ("--mode full hi", "agent-ls: there is no option --mode", "write `agent-ls exec` before it"),
    ("--verson", "agent-ls: there is no option --verson", "did you mean --version?"),
    ("sessions exprt", "agent-ls sessions: there is no action 'exprt'", "did you mean export?"),
    (
        "sessions --limit many",
        "agent-ls sessions: --limit: 'many' is not a whole",
        "agent-ls sessions --help",
    ),
    ("sessions --limit -1", "agent-ls sessions: --limit: '-1' is not a whole", "agent-ls sessions --help"),
    ("batch", "agent-ls batch: manifest, --out are missing", "agent-ls batch --help"),
    ("batch tasks.jsonl --out o --jobs 0", "agent-ls batch: --jobs: '0' is not a", "agent-ls batch --help"),
    ("trust", "agent-ls trust: verb is missing", "list, add, restrict, forget"),
    ("sessions rm x", "agent-ls sessions: there is no action 'rm'", "did you mean delete?"),
    ("keys add x", "agent-ls keys: there is no action 'add'", "did you mean set?"),
    ("completions bsh", "agent-ls completions: there is no shell 'bsh'", "did you mean bash?"),
    ("doctor one two", "agent-ls doctor: 'one two' is too much", "agent-ls doctor --help"),
    (
        "mcp add x --nothing -- y",
        "agent-ls mcp add: there is no option --nothing",
        "agent-ls mcp add --help",
    ),
    ("keys set antropic", "agent-ls keys: no provider is named 'antropic'", "did you mean anthropic?"),
    ("keys set claude", "agent-ls keys: no provider is named 'claude'", "did you mean anthropic?"),
    ("models nope", "agent-ls models: no provider is named 'nope'", "vllm, compatible\n"),
    ("models antropic", "agent-ls models: no provider is named 'antropic'", "did you mean anthropic?"),
    ("mcp test nothing", "agent-ls mcp: no server is named nothing", "agent-ls mcp list"),
]


@pytest.mark.parametrize(("words", "first", "second"), WRONG, ids=[row[0] for row in WRONG])
def test_the_first_line_names_the_mistake_and_the_second_the_next_step(
    words: str, first: str, second: str, tmp_path: Path
) -> None:
    done = run(*words.split(), cwd=tmp_path, environ=environment(tmp_path / "home"))

    lines = done.err.splitlines()
    assert done.code == 2 and not done.out
    assert lines[0].startswith(first) and second in lines[1] + "\n"
    assert len(lines) == 2
    assert not [*(tmp_path / "home").rglob("sessions/*")]


@pytest.mark.parametrize("words", ["panel --port foo", "serve --tcp foo", "serve --ws foo"])
def test_a_wrong_address_is_named_before_anything_else(words: str, tmp_path: Path) -> None:
    done = run(*words.split(), cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and done.err.startswith(f"agent-ls {words.split()[0]}: 'foo' is not an address"), (
        done
    )


def test_a_listing_without_rows_says_so(tmp_path: Path) -> None:
    environ = {**environment(tmp_path / "home"), "AGENT_LS_TRUSTED_FOLDERS": ""}
    for words in (
        "trust list",
        "policy list",
        "policy log",
        "keys list",
        "mcp list",
        "skills",
        "hooks",
        "tools",
    ):
        done = run(*words.split(), cwd=tmp_path, environ=environ)
        assert done.code == 0 and done.out.strip(), words


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
    assert not any("not trusted" in line for line in lines)  # nothing about a run that did not begin


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
