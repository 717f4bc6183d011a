"""Usual read-only commands give the same exit code and output under confinement, and leave the same files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_ls.environments.base import CommandOptions
from tests.environments.confinement.harm_world import harm_world
from tests.environments.confinement.test_looking_alone import IS_WHOLE, KINDS, looking

pytestmark = pytest.mark.req("X4", "X11", "T5")

QUICK = CommandOptions(timeout_ms=60_000)

LOOKERS = (
    "pwd; ls -a; ls -l kept; ls /usr 2>&1",
    "cat kept nothing 2>&1; echo $?",
    "head -1 kept; tail -1 kept; wc kept; nl kept",
    "grep -rn kept . --include=kept; rg kept; grep nothing kept",
    "find . -name 'k*' -type f -printf '%p %s\\n' | sort",
    "sort kept | uniq -c | cut -c1-20 | tr a-z A-Z | rev",
    "awk '{print $1}' kept; sed -n '1,2p' kept; sed 1d kept",
    "git status; git diff; git log --oneline; git show --stat",
    "git branch -a; git stash list; git reflog | cut -c9-",
    "git ls-files; git rev-parse HEAD; git config --list --local; git blame kept 2>&1",
    "git grep kept; git fsck 2>&1",
    "python3 --version; python3 -c 'import json, subprocess; print(subprocess.run([\"true\"]).returncode)'",
    "diff <(ls) <(ls -a); cat <<< here; cat <<'EOF'\nthere\nEOF",
    "echo a | xargs -n1 echo; seq 3 | tee /dev/null | rev",
    "tar -cf - kept | tar -tf -; gzip -c kept | zcat; base64 kept; md5sum kept; file kept; stat -c %a kept",
    "timeout 5 sleep 0.01; echo $?; timeout 0.1 sleep 5; echo $?",
    "env | grep ^HOME; id; uname; nproc; which ls; type cd",
    "(sleep 5 & kill $!; wait $!; echo $?)",
    "echo out; echo err >&2; echo more > /dev/stderr; exit 3",
    "kill -TERM $$",
    "man -w ls; man ls 2>&1 | head -3",
    "node --version; npm --version; npm ls 2>&1",
    "cargo --version; cargo tree 2>&1",
    "go version; go env GOROOT 2>&1",
    "ps -o pid= -p $$ | wc -l; du -s . | wc -l; test -w kept; [ -r kept ] && echo r",
)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
async def test_usual_read_only_commands_give_the_same_output_with_confinement(
    tmp_path: Path, kind: str
) -> None:
    assert shutil.which("git")
    commands = (
        LOOKERS if IS_WHOLE else LOOKERS[kind == "landlock" :: 2]
    )  # each command runs with only one mechanism
    with harm_world(tmp_path / "w") as world:
        async with looking(world, kind) as environment:
            plain = [await environment.inner.exec_command(command, QUICK) for command in commands]
            before = world.facts()
            for command, without in zip(commands, plain, strict=True):
                done = await environment.exec_command(command, QUICK)
                assert (done.exit_code, done.stdout) == (without.exit_code, without.stdout), command
                assert world.facts() == before, command
