"""Commands of more reports, in sessions with real processes: what holds an output open, what waits, what is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.test_shell_reports import Run, read_by_model, shell
from tests.support.git import git
from tests.support.reports import reported

pytestmark = pytest.mark.req("T5", "H5")

COMMIT = "git -c user.name=a -c user.email=b commit -q --allow-empty"

RUNS: list[Any] = [
    reported(
        "anthropics/claude-code#67234",
        Run("timeout 3 cat", ("(no output)",)),
    ),
    reported(
        "anthropics/claude-code#84424",
        Run('basename "a <b" && cat; echo end', ("a <b", "end")),
    ),
    Run(
        "cat <<EOF\nhi\nEOF\ncat; while read l; do echo $l; cat; done < <(echo a); cat; echo end",
        ("hi", "a", "end"),
    ),
    reported(
        "savvagent/light-factory#19",
        Run(
            f"git init -q . && {COMMIT} >/dev/null 2>&1; git log -1 2>/dev/null",
            ("(no output)",),
            128,
        ),
    ),
    reported(
        "earendil-works/pi#7636",
        Run(
            f"{sys.executable} -c \"import subprocess; subprocess.Popen(['sleep', '600']); print('done')\"",
            ("done",),
        ),
    ),
    reported(
        "anomalyco/opencode#47350",
        Run("setsid sleep 600 </dev/null & disown; echo next", ("next",)),
    ),
    reported(
        "genai-io/gen-code#264",
        Run("python3 -c \"open('/dev/tty')\" 2>&1 | grep -c OSError", ("1",)),
    ),
    reported(
        "github/copilot-cli#3191",
        Run("for n in 1 2 3; do printf '\\r[%s/3] cc' $n; done; echo", ("[3/3] cc",)),
    ),
    reported(
        "Kilo-Org/kilocode#6811",
        Run("printf '  -\\r  \\\\\\r  |\\rFound X\\r\\nInstalled\\r\\n'", ("Found X", "Installed")),
    ),
    reported(
        "anomalyco/opencode#36683",
        Run(
            "for n in $(seq 5000); do printf '\\033[2K\\rPROGRESS %s' $n; done; printf '\\033[2K\\rMARK\\n'",
            ("MARK",),
        ),
    ),
    reported(
        "nex-agi/NexAU#8",
        Run(
            "for n in 1 2 3; do printf '\\033[2K\\033[0A\\033[0E\\nGet: %s%%' $n; done; echo; echo ok",
            ("", "", "", "Get: 3%", "ok"),
        ),
    ),
    reported(
        "NousResearch/hermes-agent#89465",
        Run("echo ok é; printf '\\324\\332\\n'; echo é", ("ok é", "\ufffd\ufffd", "é")),
    ),
    reported(
        "anomalyco/opencode#15385",
        Run("printf 'a \\342'; sleep 0.1; printf '\\200'; sleep 0.1; printf '\\224 b\\n'", ("a — b",)),
    ),
    reported(
        "indexable-inc/index#1031",
        Run(
            f"git init -q . && {COMMIT} -F - <<'EOF'\n"
            "Use `id` and $HOME\n\nsecond line\nEOF\ngit log -1 --format=%B | head -3",
            ("Use `id` and $HOME", "", "second line"),
        ),
    ),
    reported(
        "Aider-AI/aider#2196",
        Run(
            "git init -q . && printf '#!/bin/sh\\necho checked\\n' > .git/hooks/pre-commit && "
            f"chmod +x .git/hooks/pre-commit && {COMMIT} -m x 2>&1",
            ("checked",),
        ),
    ),
    reported(
        "openai/codex#8268",
        Run("grep none /dev/null", ("(no output)",), 1),
    ),
]


@pytest.mark.parametrize("run", RUNS)
async def test_the_model_reads_what_a_terminal_would_show(tmp_path: Path, run: Run) -> None:
    (read,) = await read_by_model(tmp_path, shell(run.command))
    lines = read.replace("\r\n", "\n").split("\n")
    end = lines.index(f"Exit code: {run.code}")
    assert tuple(lines[:end]) == run.lines


@pytest.mark.report("earendil-works/pi#9936")
@pytest.mark.parametrize("editor", ["", "vi", "cat /dev/tty"])
async def test_an_editor_that_git_starts_does_not_wait(tmp_path: Path, editor: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    for branch, content in (("main", "1"), ("other", "2"), ("main", "3")):
        git(
            project, "checkout", "-q", *([] if branch == "main" else ["-b"]), branch
        ) if content != "1" else None
        (project / "a").write_text(content)
        git(project, "add", "a")
        git(project, "commit", "-qm", content)
    if editor:
        git(project, "config", "core.editor", editor)
    rebase = (
        "git checkout -q other; git rebase main >/dev/null 2>&1; echo 4 > a; git add a; git rebase --continue"
    )
    first, second = await read_by_model(tmp_path, shell(rebase), shell("echo later; cat a"))
    assert "Exit code" in first and second.startswith("later\n4\n")


CUT: list[Any] = [
    reported("cortexkit/aft#138", "€"),
    reported(
        "charmbracelet/crush#3211",
        "你",
    ),
    reported(
        "UKGovernmentBEIS/inspect_ai#4658",
        "🙂",
    ),
    reported(
        "mistralai/mistral-vibe#947",
        "xé",
    ),
]


@pytest.mark.parametrize("char", CUT)
@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
async def test_a_cut_output_has_whole_characters(tmp_path: Path, char: str, lead: str) -> None:
    (read,) = await read_by_model(tmp_path, shell(f"printf '{lead}'; python3 -c \"print('{char}' * 90000)\""))
    assert "\ufffd" not in read and len(read) < 60_000 and "Exit code: 0" in read


@pytest.mark.report("NousResearch/hermes-agent#66902")
@pytest.mark.report("openai/codex#4843")
async def test_commands_have_the_path_and_the_variables_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "venv/bin"
    place.mkdir(parents=True)
    (place / "mine").write_text("#!/bin/sh\necho mine of $VIRTUAL_ENV\n")
    (place / "mine").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    monkeypatch.setenv("VIRTUAL_ENV", str(place.parent))
    (read,) = await read_by_model(tmp_path, shell("mine; pwd"))
    assert read.startswith(f"mine of {place.parent}\n{tmp_path}/project\n")


GONE: list[Any] = [
    reported(
        "rjwalters/loom#1486",
        "mkdir wt && cd wt && rm -rf ../wt",
    ),
    reported(
        "letta-ai/letta-code#3238",
        f"git init -q . && {COMMIT} -m x && git worktree add -q wt && cd wt && git worktree remove --force .",
    ),
]


@pytest.mark.parametrize("command", GONE)
async def test_a_command_that_removes_its_folder_harms_no_other(tmp_path: Path, command: str) -> None:
    _, later = await read_by_model(tmp_path, shell(command), shell("pwd"))
    assert later.startswith(f"{tmp_path}/project\n")


@pytest.mark.report("anthropics/claude-code#52747")
async def test_a_project_that_is_deleted_and_made_again_has_commands(tmp_path: Path) -> None:
    _, lost, made, later = await read_by_model(
        tmp_path,
        shell(f"rm -rf {tmp_path}/project"),
        shell("pwd"),
        shell(f"mkdir {tmp_path}/project", working_dir="/tmp"),
        shell("pwd"),
    )
    assert "project" in lost and "Exit code: 0" in made and later.startswith(f"{tmp_path}/project\n")
