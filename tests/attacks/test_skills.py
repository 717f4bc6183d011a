"""Skills, commands and kinds of subagents of a project run nothing, read nothing outside, and get no permission."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.environments.instruction_files import UnreadableFileError
from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.features.skills.loader import load_user_commands, read_body
from agent_ls.features.skills.placeholders import expand_command
from agent_ls.front_matter import FrontMatterError
from agent_ls.services.settings.model import SkillSettings
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.skills import SECRET, Attack, attacks

pytestmark = pytest.mark.req("T10", "X4")
TRIES = 20_000 if IS_WHOLE else 300
SEED = seeded(12)
PARTS = {"file": 0, "folder": 1, "parent": 2}


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    kind: str
    category: str


TOOLS = (Tool("read_file", "", "read"), Tool("run_command", "", "command"), Tool("write_file", "", "write"))


def build(attack: Attack, folder: Path) -> Path:
    """Make a project with the attack, and beside it a file of the user. Return the project."""
    outside, project = folder / "outside", folder / "project"
    for place in (outside, project / ".git"):
        place.mkdir(parents=True)
    path = project / attack.path
    own = f"---\nname: it\ndescription: {SECRET}\n---\n{SECRET}\n"
    for name in ("secret.md", path.name):
        (outside / name).write_text(own)
    (outside / "x").mkdir()
    (outside / "x" / path.name).write_text(own)
    if attack.link in PARTS:
        parts = [path, *path.parents]
        link = parts[PARTS[attack.link]]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside / "secret.md" if attack.link == "file" else outside)
    else:
        path.parent.mkdir(parents=True)
        path.write_text(attack.text)
    return project


def act(attack: Attack, project: Path) -> str:
    """Do what a session does with the files of a trusted folder, and return all that a model may be shown."""
    settings, state = SkillSettings(), ""
    commands = load_user_commands(settings, state, str(project))
    kinds = load_agent_kinds(settings, state, str(project))
    shown = [*commands.problems, *kinds.problems]
    for command in commands.found:
        shown += [repr(command)]
        try:
            text, _ = read_body(command)
        except (UnreadableFileError, FrontMatterError):
            continue
        shown.append(expand_command(command, text, attack.arguments))
        assert re.fullmatch(r"[\w.:-]+", command.name), command.name
    for kind in kinds.found.values():
        shown.append(repr(kind))
        kept = [tool for tool in TOOLS if kind.keeps(tool)]
        assert not kind.only_reads or {tool.category for tool in kept} <= {"read"}
    return "\n".join(shown)


@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 120)
def test_a_skill_of_a_project_runs_nothing_and_reads_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read = 0
    for number, attack in enumerate(while_in_time(attacks(SEED, TRIES))):
        folder = tmp_path / f"{number}"
        project = build(attack, folder)
        shown = act(attack, project)
        read += "touch made" in shown
        assert SECRET not in shown, attack
        assert not [*tmp_path.rglob("made")], attack
        shutil.rmtree(folder)
    assert read > TRIES / 50


def test_a_link_that_is_followed_is_noticed(tmp_path: Path) -> None:
    attack = Attack(".agent-ls/skills/x/SKILL.md", f"---\nname: x\ndescription: {SECRET}\n---\n", "", "")
    assert SECRET in act(attack, build(attack, tmp_path))
