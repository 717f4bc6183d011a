"""Nothing that a repository names is run or read: by git as agent-ls runs it, and by lines that are called harmless."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.git_objects import UncertainError
from agent_ls.policy.situation import Allow
from agent_ls.profiles.git_snapshot import take_git_snapshot
from agent_ls.services.permissions.git_names import shown_names
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.git_folders import SECRET, Attack, build, make_attacks
from tests.environments.confinement.harm_world import harm_world
from tests.environments.confinement.test_looking_alone import looking
from tests.services.test_shown_secrets import judged
from tests.sessions.test_uncommitted_work import commit, finder
from tests.support.sandboxes import needs_bubblewrap, needs_landlock

PARTS = range(20 if IS_WHOLE else 1)


@pytest.mark.req("X7", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(3_600 if IS_WHOLE else 300)
@pytest.mark.parametrize("part", PARTS)
def test_no_program_of_a_repository_is_run_and_no_file_outside_is_shown(part: int, tmp_path: Path) -> None:
    made, template = tmp_path / "made", _template(tmp_path)
    attacks = make_attacks(seeded(11 + part), 1_000 if IS_WHOLE else 60)
    for number, attack in enumerate(while_in_time(attacks)):
        folder = tmp_path / f"{number}"
        build(attack, template, folder, made)
        assert SECRET not in _act(attack, folder), attack
        assert not made.exists(), attack
        shutil.rmtree(folder)


@pytest.mark.req("X11", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(3_600 if IS_WHOLE else 300)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "kind",
    [pytest.param("landlock", marks=needs_landlock), pytest.param("bubblewrap", marks=needs_bubblewrap)],
)
async def test_a_confined_line_without_a_policy_runs_and_shows_nothing(
    kind: str, part: int, tmp_path: Path
) -> None:
    template = _template(tmp_path)
    attacks = make_attacks(seeded(1_600 + part), 500 if IS_WHOLE else 20)
    with harm_world(tmp_path / "world") as world:
        for number, attack in enumerate(while_in_time(attacks)):
            place = replace(world, root=tmp_path / f"{number}")
            for folder in (place.home, place.state):
                folder.mkdir(parents=True)
            build(attack, template, place.project, place.root / "made")
            async with looking(place, kind) as environment:
                done = await environment.exec_command(attack.line, CommandOptions(timeout_ms=20_000))
            assert SECRET not in done.output, attack
            assert not (place.root / "made").exists(), attack
            shutil.rmtree(place.root)


def test_an_attack_has_an_effect_where_nothing_stops_it(tmp_path: Path) -> None:
    made, folder = tmp_path / "made", tmp_path / "attacked"
    build(Attack(("core.fsmonitor",), "", False, (), "git status", False), _template(tmp_path), folder, made)
    assert not isinstance(judged("git status", folder), Allow)
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True)
    assert made.exists()


def _template(folder: Path) -> Path:
    template = folder / "template"
    template.mkdir()
    (template / "a.txt").write_text("one\n")
    commit(template)
    return template


def _act(attack: Attack, folder: Path) -> str:
    """Do what agent-ls does in the folder unasked, and run the line if the policy allows it, unconfined.

    Return what the line prints, and the state of the repository that the model gets.
    """
    printed = b""
    seen: list[object] = []
    if isinstance(judged(attack.line, folder), Allow):
        line = ["sh", "-c", f"{attack.line} 2>&1"]
        printed = subprocess.run(line, cwd=folder, check=False, capture_output=True, timeout=20).stdout

    async def look() -> None:
        seen.append(await take_git_snapshot(LocalEnvironment(str(folder)), trusted=True))
        changes = finder(folder)
        before = await changes.take_snapshot()
        await anyio.Path(folder / "a.txt").unlink(missing_ok=True)
        await changes.changes(before)

    anyio.run(look)
    return printed.decode("utf-8", "replace") + repr(seen)


def test_a_link_of_a_repository_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "attacked"
    attack = Attack((), "", False, (), "git branch", False, ("packed-refs",))
    build(attack, _template(tmp_path), folder, tmp_path / "made")
    assert not isinstance(judged(attack.line, folder), Allow)
    done = subprocess.run(["git", "branch"], cwd=folder, check=False, capture_output=True, text=True)
    assert SECRET in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("setting", "line", "foreign"),
    [
        ("diff.submodule", "git diff", "submodule"),
        ("status.submoduleSummary", "git show other", "alternates"),
    ],
)
def test_a_repository_outside_is_noticed(setting: str, line: str, foreign: str, tmp_path: Path) -> None:
    folder = tmp_path / "attacked"
    attack = Attack((setting,), "", False, (), line, False, foreign=foreign)
    build(attack, _template(tmp_path), folder, tmp_path / "made")
    assert not isinstance(judged(line, folder), Allow)
    done = subprocess.run(line.split(), cwd=folder, check=False, capture_output=True, text=True)
    assert SECRET in done.stdout


def test_asking_git_for_names_is_confined(tmp_path: Path) -> None:
    made, folder = tmp_path / "made", tmp_path / "attacked"
    build(
        Attack(("filter.x.clean",), "* filter=x", True, (), "git diff", True),
        _template(tmp_path),
        folder,
        made,
    )
    with suppress(UncertainError):
        assert [*shown_names(("git", "diff"), str(folder))] in ([], [str(folder / "a.txt")])
    assert not made.exists()
