"""TMPDIR of commands is the allowed folder for temporary files, and the policy knows the paths that it gives."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect, NoEffect
from agent_ls.llm.messages import Role
from agent_ls.services.permissions.temporary import name_temporary
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

import agent_ls  # isort: skip

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells only")
KNOWN = "/scratch/agent-ls-0"


def named(command: str, folder: str = KNOWN) -> str:
    found = name_temporary(CommandEffect(command, "/w"), folder)
    assert isinstance(found, CommandEffect)
    return found.command


@pytest.mark.req("X6")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo hi > $TMPDIR/x", f"echo hi > {KNOWN}/x"),
        ('cd "${TMPDIR}" && ls', f'cd "{KNOWN}" && ls'),
        ("f=$(mktemp); echo hi > $f", f"mktemp; echo hi > {KNOWN}/made-by-mktemp"),
        ('d="$(mktemp -d)" && cd "$d" && ls', f'mktemp && cd "{KNOWN}/made-by-mktemp" && ls'),
    ],
)
def test_paths_in_the_folder_for_temporary_files_are_known_to_the_policy(command: str, expected: str) -> None:
    assert named(command) == expected


@pytest.mark.req("X6")
@pytest.mark.parametrize(
    "command",
    [
        "echo '$TMPDIR/x'",
        "echo \\$TMPDIR",
        "TMPDIR=/x; echo > $TMPDIR/x",
        "export TMPDIR; ls $TMPDIR",
        "read TMPDIR; ls $TMPDIR",
        "cat <<'EOF' > $TMPDIR/x\n$TMPDIR\nEOF",
        "f=$(mktemp); f=/etc/x; echo > $f",
        "f=$(mktemp); read f; echo > $f",
        "for f in a b; do f=$(mktemp); echo > $f; done",
        "f=$(mktemp /etc/x.XXX); echo > $f",
        "f=$(mktemp -p /etc); echo > $f",
        "f=$(mktemp)x; echo > $f",
        "f=$(mktemp); unset f; echo > $f/x",
        "echo > $f; f=$(mktemp)",
        "ls $TMPDIRX",
        "ls ${TMPDIR:-/x}",
        "ls ${TMPDIR%p}/x; ls $TMPDIR",
    ],
)
def test_a_line_that_may_give_a_variable_another_value_stays_as_it_is(command: str) -> None:
    assert named(command) == command


def test_other_effects_and_folders_with_unusual_names_are_left_alone() -> None:
    assert name_temporary(NoEffect(), KNOWN) == NoEffect()
    for folder in ("", "/scratch/a b", "relative", "/scratch/$x"):
        assert named("ls $TMPDIR", folder) == "ls $TMPDIR"
    effect = CommandEffect("ls $TMPDIR", "/w", (("TMPDIR", "/x"),))
    assert name_temporary(effect, KNOWN) == effect
    typed = CommandEffect("ls $TMPDIR\n", "/w", input_of="p1")
    assert name_temporary(typed, KNOWN) == typed


@pytest.mark.req("X6", "X7")
@pytest.mark.report("omnigent-ai/omnigent#2692")  # fmt: skip
async def test_usual_checks_of_a_model_run_in_mode_full_without_a_callback(tmp_path: Path) -> None:
    commands = [
        "python3 -c 'print(40 + 2)'",
        "f=$(mktemp) && echo hi > $f && cat $f && basename $(dirname $f)",
        "echo x > new.txt",
        "rm new.txt",
        "cd $TMPDIR && pwd",
    ]
    model = FakeProvider([*([call("shell", command=command)] for command in commands), text("Done.")])
    folder = tmp_path / "scratch"
    folder.mkdir()
    settings = {"paths": {"temporary": str(folder)}}
    given = options(tmp_path, model, mode="full", trusted=True, settings=settings)
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        records = await session.calls()
    outputs = [record.output for record in records]
    assert [record.success for record in records] == [True] * 5, outputs
    assert "42" in outputs[0] and "hi\nscratch" in outputs[1] and str(folder) in outputs[4]
    assert not (tmp_path / "project" / "new.txt").exists()
    prompt = next(message.text for message in model.requests[0].messages if message.role is Role.SYSTEM)
    assert f"(TMPDIR): {folder}" in prompt


@pytest.mark.req("X7")
async def test_deleting_a_file_that_was_there_or_that_the_user_changed_is_refused(tmp_path: Path) -> None:
    model = FakeProvider(
        [
            [call("write_file", file_path="new.txt", content="a\n")],
            [call("shell", command="rm old.txt")],
            text("Wait."),
            [call("shell", command="rm new.txt")],
            text("Done."),
        ]
    )
    given = options(tmp_path, model, mode="full", trusted=True)
    project = tmp_path / "project"
    (project / "old.txt").write_text("mine\n")
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        (project / "new.txt").write_text("a\nand mine\n")
        await session.ask("again")
        kinds = [record.error.type if record.error else "" for record in await session.calls()]
    assert kinds == ["", "PermissionError", "PermissionError"]
    assert sorted(os.listdir(project)) == ["new.txt", "old.txt"]


@pytest.mark.req("X6")
async def test_no_folder_for_temporary_files_is_made_if_the_setting_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    model = FakeProvider([call("shell", command="echo hi"), text("Done.")])
    given = options(tmp_path, model, settings={"paths": {"temporary": "off"}}, trusted=True, mode="full")
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "Done."
    assert not (temporary / f"agent-ls-{os.getuid()}").exists()
