"""Make repositories of an attacker from a seed: settings, attributes and hooks that name a program, and links."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.git import git

_SETTINGS = (
    "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.gitProxy", "core.askPass",
    "core.alternateRefsCommand", "core.hooksPath", "diff.external", "diff.x.command", "diff.x.textconv",
    "filter.x.clean",
    "filter.x.smudge", "filter.x.process", "merge.x.driver", "pager.diff", "pager.log", "pager.status", "gpg.program",
    "gpg.ssh.program", "credential.helper", "interactive.diffFilter", "alias.status", "alias.st", "alias.diff",
    "sequence.editor", "uploadpack.packObjectsHook", "include.path", "log.showSignature", "remote.origin.vcs",
    "remote.origin.uploadpack", "trailer.x.command", "hook.x.command", "diff.submodule", "status.submoduleSummary",
)  # fmt: skip
_ATTRIBUTES = ("* filter=x", "* diff=x", "* merge=x", "*.txt diff=x filter=x", "* export-subst ident")
_HOOKS = ("post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman", "reference-transaction")
_LINKS = (
    "packed-refs", "shallow", "info/grafts", "info/attributes", "info/exclude", "config.worktree", "HEAD", "index",
    "refs/heads/x", "logs/HEAD", "logs/refs/stash", "FETCH_HEAD", "MERGE_HEAD", "MERGE_MSG", "rebase-merge/done",
    "rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START", "BISECT_LOG", "CHERRY_PICK_HEAD",
    "sequencer/todo", "worktrees/w/gitdir", "objects/info/alternates", "info/sparse-checkout", "commondir", "config",
    "remotes/origin", "branches/up", "refs/stash", "refs/tags/v1", "objects/info/commit-graph", "modules/a/HEAD",
)  # fmt: skip
"""Files of a repository, some of which git prints where it cannot read them."""
SECRET = "the-secret-outside"
_LINES = (
    "git status", "git status -s", "git diff", "git diff HEAD", "git diff --cached", "git diff --stat", "git log",
    "git log -p", "git log -1 --format=%G?", "git log --show-signature", "git show", "git show HEAD:a.txt",
    "git blame a.txt", "git grep one", "git ls-files", "git ls-files -m", "git stash list -p", "git branch -vv",
    "git describe --dirty", "git cat-file -p HEAD:a.txt", "git remote -v", "git remote show origin", "git st",
    "git config --list", "git diff-tree -p HEAD", "git -C . status", "git --no-pager diff", "git var -l", "git tag -l",
    "git worktree list", "git reflog", "git branch -a", "git log --all --oneline", "git status --ignored",
    "git rev-parse x", "git show other", "git log -p other", "git submodule status",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """A repository of an attacker: settings, attributes, hooks and links, and a line that the model would run in it."""

    settings: tuple[str, ...]
    attributes: str
    in_info: bool
    hooks: tuple[str, ...]
    line: str
    touches: bool
    links: tuple[str, ...] = ()
    foreign: str = ""
    """How the repository uses another one outside: as a `submodule`, or as `alternates`."""


def make_attacks(seed: int, count: int) -> Sequence[Attack]:
    chooser = random.Random(seed)
    return [
        Attack(
            tuple(chooser.sample(_SETTINGS, chooser.randint(0, 3))),
            chooser.choice(("", *_ATTRIBUTES)),
            chooser.random() < 0.5,
            tuple(chooser.sample(_HOOKS, chooser.randint(0, 1))),
            chooser.choice(_LINES),
            chooser.random() < 0.5,
            tuple(chooser.sample(_LINKS, chooser.choice((0, 0, 1, 2)))),
            chooser.choice(("", "", "submodule", "alternates")),
        )
        for _ in range(count)
    ]


def build(attack: Attack, template: Path, folder: Path, made: Path) -> None:
    """Copy the repository `template` to `folder` with the attack in it. Its programs make the file `made`."""
    subprocess.run(["cp", "-R", str(template), str(folder)], check=True)
    if attack.foreign:
        _use_foreign(attack.foreign, folder)
    program = folder / ".git" / "attack"
    program.write_text(f"#!/bin/sh\ntouch {made}\ncat\n")
    program.chmod(0o755)
    (folder / ".git" / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    with (folder / ".git" / "config").open("a") as config:
        for name in attack.settings:
            section, _, key = name.rpartition(".")
            first, _, rest = section.partition(".")
            head = f'[{first} "{rest}"]' if rest else f"[{first}]"
            values = {
                "submodule": "log",
                "submoduleSummary": "true",
                "path": ".git/more",
                "showSignature": "true",
                "hooksPath": ".git/own",
                "vcs": "x",
            }
            shell = f"!{program}" if first in ("alias", "credential") else str(program)
            config.write(f"{head}\n\t{key} = {values.get(key, shell)}\n")
    if attack.attributes:
        place = folder / ".git" / "info" / "attributes" if attack.in_info else folder / ".gitattributes"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{attack.attributes}\n")
    for hook in attack.hooks:
        for hooks in (folder / ".git" / "hooks", folder / ".git" / "own"):
            hooks.mkdir(exist_ok=True)
            (hooks / hook).write_text(program.read_text())
            (hooks / hook).chmod(0o755)
    outside = folder.parent / "outside.txt"
    outside.write_text(f"{SECRET}\n")
    for name in attack.links:
        link = folder / ".git" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(outside)
    if attack.touches:
        (folder / "a.txt").write_text("changed\n")


def _use_foreign(how: str, folder: Path) -> None:
    other = folder.parent / "other"
    if not other.exists():
        git(folder.parent, "init", "-q", str(other))
        git(other, "commit", "-q", "--allow-empty", "-m", "one")
        git(other, "tag", "first")
        (other / "b.txt").write_text(f"{SECRET}\n")
        git(other, "add", ".")
        git(other, "commit", "-q", "-m", SECRET)
    if how == "alternates":
        (folder / ".git/objects/info").mkdir(exist_ok=True)
        (folder / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
        (folder / ".git/refs/tags/other").write_text(f"{git(other, 'rev-parse', 'HEAD')}\n")
        return
    (folder / "sub").mkdir()
    (folder / "sub/.git").write_text(f"gitdir: {other}/.git\n")
    (folder / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./x\n')
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(other, 'rev-parse', 'first')},sub")
    git(folder, "commit", "-q", "-m", "sub")
