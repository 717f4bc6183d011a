"""Spellings of hooks: a command that really runs a script of the folder is never unchanged after the script changed."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from agent_ls.services.permissions.command_files import cover
from tests.attacks import IS_WHOLE, seeded, while_in_time

pytestmark = [
    pytest.mark.req("T15", "X4"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX commands"),
]
TRIES = 20_000 if IS_WHOLE else 60

NAMES = [
    "./check.sh", "check.sh", '"$CLAUDE_PROJECT_DIR"/check.sh', "${AGENT_LS_PROJECT_DIR}/check.sh", "./'check'.sh",
    "tools/../check.sh", "./chec[k].sh", "./chec?.sh", "$(echo ./check.sh)", "$PWD/check.sh", "./link", "./c''heck.sh",
    "./{check,none}.sh", "~+/check.sh", "\\./check.sh", '"./check".sh', "$'./check.sh'",
]  # fmt: skip
STARTS = [
    "{}", "sh {}", "bash {}", ". {}", "source {}", "env {}", "env A=1 sh {}", "exec sh {}", "sh < {}", "cat {} | sh",
    "nice sh {}", "timeout 9 sh {}", "command sh {}", "eval sh {}", "eval 'sh {}'", "xargs sh {} < /dev/null",
    "bash -eu {}",
    "find . -name check.sh -exec sh {{}} \\;", "echo {} | xargs sh", "bash -c 'sh {}'", "sh -c \"sh {}\"", "sh -s < {}",
    "trap 'sh {}' EXIT", "f() {{ sh {}; }}; f", "x={}; sh $x", "x=sh; $x {}", "alias a=sh; sh {}", "bash --norc {}",
    "bash <(cat {})", "bash <<< \"$(cat {})\"", "python3 -c 'import os; os.system(\"sh ./check.sh\")'",
    "setsid -w sh {}", "f={}; cat \"$f\" | sh", "echo {} | xargs cat | bash", "ls {} | xargs -n1 bash",
    "awk 'BEGIN {{ system(\"sh ./check.sh\") }}'", "BASH_ENV={} bash -c true", "ENV={} sh -c 'sh {}'", "busybox sh {}",
    "make -s -f /dev/stdin <<< 'a: ; @sh {}'", "sed -n '1e sh ./check.sh' name", "git -c alias.x='!sh ./check.sh' x",
]  # fmt: skip
AROUND = [
    "{}", "{}; exit 0", "{} || true", "{} && true", "true && {}", "({})", "{{ {}; }}", "! {}", "{} | cat",
    "{} > /dev/null",
    "if true; then {}; fi", "for i in 1; do {}; done", "while {}; do break; done", "case x in *) {};; esac",
    "cd . && {}",
    "cd tools && cd .. && {}", "false || {}", "{} & wait", "time {}", "set -e; {}", "test -e check.sh && {}",
    "cd \"$PWD\"; {}",
]  # fmt: skip


def spell(choices: random.Random) -> str:
    line = choices.choice(STARTS).format(*[choices.choice(NAMES)] * 2)
    for _ in range(choices.randint(0, 2)):
        line = choices.choice(AROUND).format(line)
    return line


def runs(command: str, folder: Path) -> bool:
    """Run the hook as a session would, and return whether the script has run."""
    ran = folder.parent / "ran"
    ran.unlink(missing_ok=True)
    values = {"CLAUDE_PROJECT_DIR": str(folder), "AGENT_LS_PROJECT_DIR": str(folder), "RAN": str(ran)}
    environ = {**os.environ, **values}
    subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env=environ,
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return ran.exists()


@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 120)
def test_a_script_that_a_hook_runs_is_always_compared(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "tools").mkdir(parents=True)
    script = folder / "check.sh"
    (folder / "name").write_text("x\n")
    (folder / "link").symlink_to("check.sh")
    choices = random.Random(seeded(40))
    missed = []
    for number in while_in_time(range(TRIES)):
        script.write_text('echo x > "$RAN"\n')
        script.chmod(0o755)
        command = spell(choices)
        before = cover(command, str(folder)).digest
        script.write_text(f'echo x > "$RAN"\n# {number}\n')
        if cover(command, str(folder)).digest == before and runs(command, folder):
            missed.append(command)
    assert not sorted(set(missed))[:20]
