"""Reports about the first minutes with other command lines, and about runs that failed before they began."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.batch.play import write_manifest
from tests.support.commands import command, environment, provider_variables, run
from tests.support.loopback import AnthropicServer
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13", "H16")

HINTS: list[Any] = [
    reported(
        "exospherehost/failproofai#316",
        "modles",
        "did you mean `agent-ls models`?",
    ),
    reported(
        "elastic/cli#629",
        "skill",
        "did you mean `agent-ls skills`?",
    ),
    reported(
        "rorkai/App-Store-Connect-CLI#2569",
        "sessions get s-1",
        "did you mean show?",
    ),
    reported(
        "openclaw/openclaw#83999",
        "mcp rm one",
        "did you mean remove?",
    ),
    reported(
        "Extra-Chill/homeboy#14114",
        "init",
        "did you mean `agent-ls docs first-session`?",
    ),
    ("foo", "`agent-ls` alone lists the commands"),
    ("sessions foo", "choose one of list, show, export, delete, relink"),
]


@pytest.mark.parametrize(("words", "hint"), HINTS)
def test_a_wrong_word_gets_the_word_that_was_meant_and_no_other(
    words: str, hint: str, tmp_path: Path
) -> None:
    done = run(*words.split(), cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and done.err.splitlines()[1].strip().removeprefix("choose one of ").endswith(
        hint.removeprefix("choose one of ")
    ), done


@pytest.mark.report("Agenta-AI/agenta#6419")
def test_a_run_that_is_refused_before_its_first_message_leaves_no_session(project: Path) -> None:
    environ = environment(project.parent / "home", ANTHROPIC_API_KEY="k")
    done = run("exec", "--allow", "no-such-program", "do it", cwd=project, environ=environ)
    assert done.code == 2 and not run("sessions", "--all", "--json", cwd=project, environ=environ).out


@pytest.mark.report("awslabs/cli-agent-orchestrator#152")
@pytest.mark.report("anthropics/claude-code#551")
def test_the_first_run_in_a_container_asks_nothing(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        environ.pop(TRUST_VARIABLE)
        ends = subprocess.run(
            command("exec", "hello"),
            cwd=project,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    assert ends.returncode == 0 and "Hello." in ends.stdout


@pytest.mark.report("tetsuo-ai/agenc-core#2081")
@pytest.mark.parametrize("content", ["", '{"id": "one", "att', "[]"])
def test_a_damaged_result_does_not_count_as_done(content: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    manifest = write_manifest(
        tmp_path / "tasks.jsonl", [{"id": "one", "prompt": "do-one", "folder": "plain"}]
    )
    damaged = tmp_path / "runs/tasks/one/attempt-1/result.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text(content)
    done = run("batch", str(manifest), "--out", "runs", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and str(damaged) in done.err.splitlines()[0], done
