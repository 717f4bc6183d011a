"""A sensitive file with another name: by links of any kind, its content is changed only after a question."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect, Effect, PlannedWrite, WriteEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Mode, Situation
from agent_ls.services.permissions.paths import places_of, read_effect_facts
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.links import contents, workspaces

pytestmark = pytest.mark.req("X6", "X8")

SEED = seeded(44)
LINKS = {
    "link to the file": ("a.txt", "mkdir -p {folder}; echo x > {file}; ln -s {file} a.txt"),
    "link in a folder": ("docs/a.txt", "mkdir -p {folder} docs; echo x > {file}; ln -s ../{file} docs/a.txt"),
    "link to a link": ("a", "mkdir -p {folder}; echo x > {file}; ln -s {file} b; ln -s b a"),
    "link through the file": ("a", "mkdir -p {folder}; echo x > y; ln -s $PWD/y {file}; ln -s {file} a"),
    "target of the file": ("y", "mkdir -p {folder}; echo x > y; ln -s $PWD/y {file}"),
    "target in a folder": ("s/y", "mkdir -p {folder} s; echo x > s/y; ln -s $PWD/s/y {file}"),
    "target that is missing": ("y", "mkdir -p {folder}; ln -s $PWD/y {file}"),
    "linked folder": ("f/{name}", "mkdir -p {folder}; echo x > {file}; ln -s {folder} f"),
    "target of the folder": (
        "f/{name}",
        "mkdir -p f $(dirname {folder}); echo x > f/{name}; ln -s $PWD/f {folder}",
    ),
    "hard link": ("a", "mkdir -p {folder}; echo x > {file}; ln {file} a"),
    "hard link in a folder": ("s/a", "mkdir -p {folder} s; echo x > {file}; ln {file} s/a"),
    "hard link to the target of the file": (
        "a",
        "mkdir -p {folder}; echo x > y; ln -s $PWD/y {file}; ln y a",
    ),
    "hard link of a file in a linked folder": (
        "a",
        "mkdir -p f $(dirname {folder}); echo x > f/{name}; ln -s $PWD/f {folder}; ln f/{name} a",
    ),
    "link in a linked folder": (
        "f/{name}",
        "mkdir -p f $(dirname {folder}); echo x > y; ln -s $PWD/y f/{name}; ln -s $PWD/f {folder}",
    ),
    "link to a hard link": ("b", "mkdir -p {folder}; echo x > {file}; ln {file} a; ln -s a b"),
}
ALWAYS = (".vscode/settings.json", ".git/hooks/pre-commit", ".husky/pre-push", ".github/workflows/ci.yml")
OFTEN = (".cursor/rules.md", ".devcontainer/devcontainer.json")
LINES = ("echo y > {}", "cp z {}", "printf y | tee -a {}", "sed -i s/x/y/ {}", "cat z >> {}", "dd if=z of={}")


def made(folder: Path, how: str, file: str) -> str:
    """Make the links, and return the name by which the file is changed."""
    folder.mkdir()
    (folder / "z").write_text("y\n")
    name, script = LINKS[how]
    facts = {"file": file, "folder": os.path.dirname(file), "name": os.path.basename(file)}
    subprocess.run(["sh", "-ec", script.format(**facts)], cwd=folder, check=True)
    return name.format(**facts)


def is_silent(effect: Effect, places: Places, mode: Mode) -> bool:
    seen = read_effect_facts(effect, places)
    found = Situation(mode, places, resolved=seen.resolved, leads=seen.leads, doubt=seen.doubt)
    return isinstance(judge(effect, found), Allow)


@pytest.mark.parametrize("how", LINKS)
def test_a_sensitive_file_is_not_changed_by_another_name_unasked(how: str, tmp_path: Path) -> None:
    silent, changed = [], 0
    for number, file in enumerate((*ALWAYS, *OFTEN)):
        folder = tmp_path / f"{number}"
        name = made(folder, how, file)
        places = places_of(str(folder))
        write = WriteEffect((PlannedWrite(str(folder / name), "modify", "", "k"),))
        modes: tuple[Mode, ...] = ("ask", "edits", "full") if file in ALWAYS else ("ask", "edits")
        silent += [(mode, file) for mode in modes if is_silent(write, places, mode)]
        lines = [line.format(name) for line in LINES]
        silent += [
            (mode, line)
            for mode, line in product(modes, lines)
            if is_silent(CommandEffect(line, str(folder)), places, mode)
        ]
        subprocess.run(["sh", "-c", f"echo changed >> {name}"], cwd=folder, check=True)
        changed += "changed" in (folder / file).read_text()
    assert changed == len((*ALWAYS, *OFTEN))
    assert silent == []


@pytest.mark.parametrize("how", LINKS)
def test_an_ordinary_file_with_another_name_is_changed_without_a_question(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    name = made(folder, how, "src/main.c")
    places = places_of(str(folder))
    assert is_silent(CommandEffect(f"echo y > {name}", str(folder)), places, "full")
    if "hard" not in how:
        write = WriteEffect((PlannedWrite(str(folder / name), "modify", "", "k"),))
        assert is_silent(write, places, "edits")


def test_files_beside_linked_configuration_are_changed_without_a_question(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    made(folder, "target in a folder", ".git/hooks/pre-commit")
    made_in = str(folder / "s" / "other")
    places = places_of(str(folder))
    assert is_silent(WriteEffect((PlannedWrite(made_in, "modify", "", "k"),)), places, "edits")
    assert is_silent(CommandEffect("make && pytest -q .", str(folder)), places, "full")


@pytest.mark.req("T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(7_200 if IS_WHOLE else 300)
def test_no_link_makes_a_silent_change_of_a_sensitive_file(tmp_path: Path) -> None:
    silent = 0
    for number, attack in enumerate(while_in_time(workspaces(SEED, 20_000 if IS_WHOLE else 150))):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        attack.build(folder)
        places = places_of(str(folder))
        line = f"echo CHANGED > {attack.changed}"
        write = WriteEffect((PlannedWrite(str(folder / attack.changed), "modify", "", "k"),))
        effects = (write, CommandEffect(line, str(folder)))
        if any(is_silent(effect, places, "full") for effect in effects):
            silent += 1
            before = contents(folder)
            subprocess.run(["bash", "-c", line], cwd=folder, check=False, capture_output=True)
            assert contents(folder) == before, attack
        shutil.rmtree(folder)
    assert silent
