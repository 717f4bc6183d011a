"""Pure: tables of git subcommands and options that can lose work, send data away, or run programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.patterns import regex

PRINTING_SETTING = regex(
    r"(?:color\.[a-z]+|core\.quote[pP]ath)=(?:never|always|auto|true|false|off|on)|core\.pager=cat"
)
"""Settings that git may get by `-c`, because they only change how it prints."""
_LOSES = frozenset(
    "push reset clean rebase restore filter-branch filter-repo gc prune update-ref replace fast-import send-email svn "
    "p4 rm request-pull".split()
)
_RUNS = frozenset(
    "difftool mergetool bisect submodule daemon instaweb gui citool shell hook maintenance".split()
)
_HARMLESS = frozenset(
    "add am annotate apply archive blame branch bundle cat-file check-attr check-ignore check-mailmap checkout "
    "cherry cherry-pick clone commit commit-graph commit-tree config count-objects describe diff diff-files "
    "diff-index diff-tree fetch for-each-ref format-patch fsck grep hash-object help init interpret-trailers log "
    "ls-files ls-remote ls-tree merge merge-base merge-file merge-tree mv name-rev notes pull range-diff read-tree "
    "reflog remote repack rev-list rev-parse revert shortlog show show-branch show-ref sparse-checkout stash status "
    "stripspace switch symbolic-ref tag unpack-objects update-index var verify-commit verify-tag version "
    "whatchanged worktree write-tree".split()
)
"""Subcommands of git that are harmless without the options in _OPTIONS.

A subcommand in no table needs approval, because it may be an alias.
"""

_OPTIONS: dict[str, tuple[str, ...]] = {
    "switch": ("-f", "--force", "--discard-changes", "-C", "--force-create", "--orphan"),
    "branch": ("-D", "-d", "--delete", "-f", "--force", "-M", "-C"),
    "tag": ("-d", "--delete", "-f", "--force"),
    "worktree": ("remove", "prune", "-f", "--force", "-B"),
    "remote": ("add", "remove", "rm", "set-url", "rename", "prune", "set-branches", "--prune", "-p"),
    "reflog": ("expire", "delete"),
    "notes": ("remove", "prune", "-f", "--force"),
    "symbolic-ref": ("-d", "--delete"),
    "pull": ("--rebase", "-r", "--force", "-f", "--prune", "-p", "--prune-tags"),
    "fetch": ("--force", "-f", "--update-head-ok", "-u", "--prune", "-p", "--prune-tags", "-P"),
    "archive": ("--remote",),
    "repack": ("-d",),
    "merge": ("--abort", "--quit"),
    "cherry-pick": ("--abort", "--quit", "--skip"),
    "revert": ("--abort", "--quit", "--skip"),
    "am": ("--abort", "--quit", "--skip"),
    "mv": ("-f", "--force"),
    "read-tree": ("--reset", "-u"),
    "init": ("--template", "--separate-git-dir"),
    "apply": ("--unsafe-paths",),
    "grep": ("-O", "--open-files-in-pager"),
}
_EFFECTS = {
    "grep": "starts a program that shows the files",
    "archive": "asks another machine",
    "init": "copies hooks, which git runs later, or writes to another folder",
    "apply": "can write outside of this folder",
}
"""What the options of `_OPTIONS` do, where that is not the loss of work."""
_RUNNING_OPTIONS = ("--upload-pack", "--receive-pack", "--ext-diff", "--textconv", "--exec", "--tool")
_QUIET = ("submodule", "submodule status", "bisect log", "lfs ls-files", "lfs status")
"""Calls that only list something, although other calls of the same subcommand are dangerous."""
_KEEPING_STASH = ("list", "show", "apply", "pop", "create", "store", "branch")
"""Subcommands of `git stash` after which all work is in the folder or still stashed."""
_WHERE = ("--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "--null", "-z")
_READING_CONFIG = ("--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list")


def danger(arguments: Sequence[str]) -> str:
    """Return why `git` with these arguments needs approval in every mode, "" if no table lists it."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        if rest[0] == "-c" and PRINTING_SETTING.fullmatch("".join(rest[1:2])):
            rest = rest[2:]
            continue
        if rest[0].startswith(("-c", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--bare")):
            return f"git {rest[0]} can make git run programs."
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    if not rest:
        return ""
    verb, options = rest[0], rest[1:]
    if _loses_nothing(verb, options) or " ".join(rest) in _QUIET:
        return ""
    if verb in _LOSES:
        return f"git {verb} can drop work, or sends it to another machine."
    if verb in _RUNS:
        return f"git {verb} can run code that this line does not show."
    if verb not in _HARMLESS:
        return f"git {verb} is not a command of git itself: it may be an alias."
    return _by_options(verb, options)


def _loses_nothing(verb: str, options: Sequence[str]) -> bool:
    """Return whether this command cannot lose work, although its subcommand can in general.

    It changes only the index, only lists the files that it would delete, or sets the user's name or e-mail
    address.
    """
    given = {option for option in options if option.startswith("-")}
    before = list(options[: options.index("--")] if "--" in options else options)
    match verb:
        case "restore":
            return bool(given & {"-S", "--staged"}) and given <= {"-S", "--staged", "-q", "--quiet", "--"}
        case "reset":
            words = [option for option in before if option not in ("-q", "--quiet", "--mixed")]
            return not any(word.startswith("-") for word in words) and words[:1] in ([], ["HEAD"])
        case "rm":
            return "--cached" in given and given <= {
                "--cached",
                "-r",
                "-q",
                "--quiet",
                "-n",
                "--ignore-unmatch",
                "--",
            }
        case "clean":
            return any(
                re.fullmatch(r"-[dxX]*n[dxXn]*|--dry-run", word)
                for at, word in enumerate(before)
                if not re.fullmatch("-[a-zA-Z]*e|--e[a-z]*", "".join(before[at - 1 : at]))  # takes a pattern
            )
        case "config":
            return given <= {"--local"} and [*options][len(given) :][:1] in (["user.name"], ["user.email"])
    return False


def _by_options(verb: str, options: Sequence[str]) -> str:
    if any("::" in option for option in options):
        return f"git {verb} runs a helper program for this address."
    if verb == "checkout" and not (options[:1] == ["-b"] and not any(o.startswith("-") for o in options[1:])):
        return "git checkout can drop work."
    if verb == "commit" and any(_matches(o, "--amend") for o in options):
        return "git commit --amend rewrites history."
    if verb == "config" and not _reads_config(options):
        return "git config can make git run programs."
    if verb in ("fetch", "pull") and any(
        "+" in o[:1] or ":" in o for o in options if "//" not in o and "@" not in o
    ):
        return f"git {verb} with a refspec can overwrite a branch."
    if verb == "stash" and (options[:1] or ["push"])[0] not in _KEEPING_STASH:
        return "git stash moves uncommitted work out of the folder, or drops work that it keeps."
    if verb == "clone":
        return "Connects to other machines (git clone)."
    for option in options:
        if any(_matches(option, known) for known in _OPTIONS.get(verb, ()) if known):
            return f"git {verb} {option} {_EFFECTS.get(verb, 'can drop work that others depend on')}."
        if any(_matches(option, known) for known in _RUNNING_OPTIONS):
            return f"git {verb} {option} can run code that this line does not show."
    return ""


def _reads_config(options: Sequence[str]) -> bool:
    names = [option for option in options if not option.startswith("-")]
    first = next((option for option in options if option not in _WHERE), "")
    if first in _READING_CONFIG:
        return True
    others = [option for option in options if option.startswith("-")]
    return len(names) == 1 and "." in names[0] and not set(others) - set(_WHERE)


def _matches(option: str, known: str) -> bool:
    """Return whether `option` is the option `known`.

    It may be written as `--option=value`, as an abbreviated long option, or in a group of letters.
    """
    given = option.partition("=")[0]
    if known.startswith("--"):
        return given == known or (len(given) > 3 and given.startswith("--") and known.startswith(given))
    if known.startswith("-"):
        return option.startswith("-") and not option.startswith("--") and known[1] in option[1:]
    return option == known
