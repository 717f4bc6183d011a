"""Pure: determine the effects of a command line: dangers, paths, unknown effects, and whether it is
read-only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patterns import regex
from agent_ls.policy.shell import dangers, read_only
from agent_ls.policy.shell.findings import LineFindings
from agent_ls.policy.shell.names import changes_commands, is_harmless
from agent_ls.policy.shell.reader import Reader
from agent_ls.policy.shell.state import State

_BOMB = regex(
    r"(?<![\w:])([\w:]{1,40})\s{0,5}\(\s{0,5}\)\s{0,5}\{[^}]{0,200}?(?:\1|:)\s{0,5}\|\s{0,5}(?:\1|:)"
)
MAX_SEARCHED = 20_000


@dataclass(frozen=True, slots=True)
class CommandAnalysis:
    """The effects of a command line.

    `commands`: the words of each command that would run, without wrappers. `acts`: the commands that are not
    read-only. `paths`: absolute paths in arguments and redirections; they may contain patterns in the syntax of
    `glob`. `git_folders`: folders in which git would run. `runs`: commands, each with the folders in which it
    may run. `configs`: pairs of a folder and the name of a file that decides what would run, if the file exists
    in the folder or above. `entered`: folders that are assumed to exist. `named`: the paths of which the line prints at
    most names, sizes and times. `needs_plain_names`: the line is safe only if the files that it lists have names
    without blanks, quotes or a leading `-`; `splits_matches`: only if no file that a pattern matches has a name with
    blanks or wildcards; `only_files`: only if these patterns match no folder.

    `fed`: the commands that get words which another command prints, as from xargs.

    `refusal`: why the line is never run. `danger`: why it needs approval in every mode. `doubt`: why its
    effects are unknown, which also requires approval in every mode. Each of these three fields is "" for none.
    `dangers` and `doubts` are all such reasons.
    `is_read_only`: the line is known to change nothing. `is_general`: the words of its commands determine all
    its effects, and therefore a rule for these words can cover it. `is_on_short_list`: it is read-only, and its
    commands may run without approval even if confinement is not available. `needs_confinement`: one of them is
    harmless only if it is confined.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    acts: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ()
    git_folders: tuple[str, ...] = ()
    runs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    configs: tuple[tuple[str, str], ...] = ()
    entered: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    only_files: tuple[str, ...] = ()
    needs_plain_names: bool = False
    reads_listed: bool = False
    splits_matches: bool = False
    uses_xargs: bool = False
    fed: tuple[tuple[str, ...], ...] = ()
    refusal: str = ""
    danger: str = ""
    doubt: str = ""
    dangers: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    is_read_only: bool = False
    is_general: bool = False
    is_on_short_list: bool = False
    needs_confinement: bool = False


def understand(
    command: str,
    *,
    working_dir: str,
    home: str,
    env_vars: Sequence[tuple[str, str]] = (),
    folders_exist: bool = False,
) -> CommandAnalysis:
    """Analyse `command` as a shell in `working_dir` would interpret it. `home` is the value of `~`.

    `folders_exist`: assume that each `cd` succeeds if the line is read-only. The folders are listed in `entered`.
    The function runs nothing and reads no files.
    """
    found = LineFindings(home, working_dir, folders_exist=folders_exist)
    for name, value in env_vars:
        if changes_commands(name):
            found.doubt(f"It sets {name}, which changes what other commands do.")
        elif not is_harmless(name):
            found.change()
            found.add_path(value, (working_dir,))
    Reader(found).read(command, State((working_dir,)))
    result = _result(command, found)
    if folders_exist and not result.is_read_only:  # the line itself may remove a folder
        return understand(command, working_dir=working_dir, home=home, env_vars=env_vars)
    return result


def _only_named(found: LineFindings) -> frozenset[str]:
    """Return the paths of which no command of the line reads the content."""
    if found.uses_xargs:  # a command that lists names may pass them to another one
        return frozenset()
    return frozenset(found.named) - frozenset(Counter(found.paths) - Counter(found.named))


def _result(command: str, found: LineFindings) -> CommandAnalysis:
    words = " ".join([command, *(word for argv in found.commands for word in argv)])
    if place := dangers.CREDENTIAL_PLACES.search(words):
        found.danger(f"It names a place that holds credentials: {place[0].strip()}.")
    if _BOMB.search(command[:MAX_SEARCHED]):
        found.refusals.append("It would start processes without end")
    is_clear = not (found.refusals or found.dangers or found.doubts) and bool(found.commands)
    is_read_only = is_clear and not found.changes and not found.acts
    return CommandAnalysis(
        commands=tuple(dict.fromkeys(found.commands)),
        acts=tuple(dict.fromkeys(found.acts)),
        paths=tuple(dict.fromkeys(found.paths)),
        git_folders=tuple(dict.fromkeys(found.git_folders)),
        runs=tuple(dict.fromkeys(found.runs)),
        configs=tuple(dict.fromkeys(found.configs)),
        entered=tuple(dict.fromkeys(found.entered)),
        named=_only_named(found),
        only_files=tuple(dict.fromkeys(found.only_files)),
        needs_plain_names=found.needs_plain_names,
        reads_listed=found.reads_listed,
        splits_matches=found.splits_matches,
        uses_xargs=found.uses_xargs,
        fed=tuple(found.fed),
        refusal=next(iter(found.refusals), ""),
        danger=next(iter(found.dangers), ""),
        doubt=next(iter(found.doubts), ""),
        dangers=tuple(found.dangers),
        doubts=tuple(found.doubts),
        is_read_only=is_read_only,
        is_general=is_clear and found.is_plain,
        is_on_short_list=is_read_only and all(map(read_only.is_on_short_list, found.commands)),
        needs_confinement=any(map(read_only.needs_confinement, found.commands)),
    )
