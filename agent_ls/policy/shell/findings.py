"""Pure: collect the analysis results of a command line while its syntax tree is read."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import path as ospath

from agent_ls.policy.shell.arguments import HARMLESS_PLACES, absolute, candidates
from agent_ls.policy.shell.python_paths import Listed
from agent_ls.policy.shell.words import Word


@dataclass(slots=True)
class LineFindings:
    """The analysis results of one line; most fields are described in CommandAnalysis.

    `needs_plain_names`: the line is read-only only if no file name that it lists has blanks or begins with
    `-`. `reads_listed`: no link in the folders that it lists may lead outside. `splits_matches`: no file that a
    pattern matches may have a name with blanks or wildcards. `changes`: the line is not read-only.
    `is_plain`: the words of its commands determine all effects of the line. `named`: those of `paths` whose content the
    command does not read. `only_files`: patterns that must match no folder. `fed`: the commands that get words which
    another command prints.
    """

    home: str
    working_dir: str
    commands: list[tuple[str, ...]] = field(default_factory=list)
    acts: list[tuple[str, ...]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    git_folders: list[str] = field(default_factory=list)
    runs: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    configs: list[tuple[str, str]] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    folders_exist: bool = False
    refusals: list[str] = field(default_factory=list)
    dangers: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    changes: bool = False
    needs_plain_names: bool = False
    reads_listed: bool = False
    splits_matches: bool = False
    uses_xargs: bool = False
    is_plain: bool = True
    named: list[str] = field(default_factory=list)
    only_files: list[str] = field(default_factory=list)
    fed: list[tuple[str, ...]] = field(default_factory=list)

    def doubt(self, why: str) -> None:
        self.doubts.append(why)

    def doubt_expansion(self, word: Word) -> None:
        text = shortened(word.problem or word.text)
        self.doubt(f"Asked because of `{text}`: agent-ls cannot tell how the shell expands it.")

    def danger(self, why: str) -> None:
        self.dangers.append(why)

    def change(self) -> None:
        """Record an effect that the words of the commands do not determine. After that, no rule can cover the
        line.
        """
        self.changes, self.is_plain = True, False

    def add_command(self, argv: Sequence[str], *, is_read_only: bool) -> None:
        self.commands.append(tuple(argv))
        if not is_read_only:
            self.acts.append(tuple(argv))

    def add_word(self, word: Word, folders: Sequence[str]) -> None:
        """Add the paths that a word may name, relative to each of `folders`."""
        self.splits_matches |= word.is_split
        text = word.text if word.kind == "glob" else glob.escape(word.text)
        self.add_path(text, folders)

    def add_literal(self, text: str, folders: Sequence[str]) -> None:
        """Add a word that is certainly a path, even if it looks like an option or a URL."""
        self.paths += [glob.escape(ospath.join(folder, text)) for folder in folders]

    def add_listed(self, listed: Listed, folders: Sequence[str]) -> None:
        """Add the files that a command lists by itself and reads, as if find printed them for it."""
        places = [ospath.join(folder, listed.folder) for folder in folders]
        if not listed.is_deep:
            self.paths += [ospath.join(glob.escape(place), listed.pattern) for place in places]
            return
        finding = ("find", ospath.join(".", listed.folder), "-name", listed.pattern)
        self.commands.append(finding)
        self.runs.append((finding, tuple(folders)))
        self.fed.append(("cat",))
        self.uses_xargs = self.reads_listed = True

    def add_path(self, text: str, folders: Sequence[str]) -> None:
        for candidate in candidates(text):
            found = self.places(candidate, folders)
            if ".." in candidate.split("/") and candidate[0] != "~":
                # After a symbolic link, `..` leads to a folder other than the text suggests, so add the
                # unresolved path too.
                found += [ospath.join(folder, candidate) for folder in folders]
            self.paths += [place for place in found if place not in HARMLESS_PLACES]

    def places(self, text: str, folders: Iterable[str]) -> list[str]:
        return [absolute(text, folder, self.home) for folder in folders]


def shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
