"""ENGINE: what git's subcommands can lose, send away or run, as tables over their words."""

from __future__ import annotations

from collections.abc import Sequence

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
"""Subcommands of git itself that do no harm but for what stands below. Any other name may be an alias."""

_OPTIONS: dict[str, tuple[str, ...]] = {
    "switch": ("-f", "--force", "--discard-changes", "-C", "--force-create"),
    "branch": ("-D", "-d", "--delete", "-f", "--force", "-M", "-C"),
    "tag": ("-d", "--delete", "-f", "--force"),
    "stash": ("drop", "clear"),
    "worktree": ("remove", "prune", "-f", "--force", "-B"),
    "remote": ("add", "remove", "rm", "set-url", "rename", "prune"),
    "reflog": ("expire", "delete"),
    "notes": ("remove", "prune"),
    "symbolic-ref": ("-d", "--delete"),
    "pull": ("--rebase", "-r", "--force", "-f"),
    "fetch": ("--force", "-f"),
    "grep": ("-O", "--open-files-in-pager"),
}
_RUNNING_OPTIONS = ("--upload-pack", "--receive-pack", "--ext-diff", "--textconv", "--exec", "--tool")
_READING_CONFIG = ("--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list")


def danger(arguments: Sequence[str]) -> str:
    """Why `git` with these arguments is asked about whatever the mode, "" when nothing of the tables is in it."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        if rest[0].startswith(("-c", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--bare")):
            return f"git with {rest[0]} may run what is not in sight"
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    if not rest:
        return ""
    verb, options = rest[0], rest[1:]
    if verb in _LOSES:
        return f"git {verb} can drop work, or sends it away"
    if verb in _RUNS:
        return f"git {verb} runs what is not in sight"
    if verb not in _HARMLESS:
        return f"git {verb} is none of git's own: it may be an alias"
    return _by_options(verb, options)


def _by_options(verb: str, options: Sequence[str]) -> str:
    if any("::" in option for option in options):
        return f"git {verb} by a helper program"
    if verb == "checkout" and options[:1] != ["-b"]:
        return "git checkout can drop work"
    if verb == "commit" and any(_is(o, "--amend") for o in options):
        return "git commit --amend rewrites history"
    if verb == "config" and not any(o in _READING_CONFIG for o in options):
        return "git config can make git run programs"
    if verb == "clone":
        return "it reaches other machines: git clone"
    for option in options:
        if any(_is(option, known) for known in _OPTIONS.get(verb, ()) if known):
            return f"git {verb} {option} changes what other work hangs on"
        if any(_is(option, known) for known in _RUNNING_OPTIONS):
            return f"git {verb} {option} runs what is not in sight"
    return ""


def _is(option: str, known: str) -> bool:
    """Also `--option=value`, a long one cut short as git takes it, and a letter among others."""
    given = option.partition("=")[0]
    if known.startswith("--"):
        return given == known or (len(given) > 3 and given.startswith("--") and known.startswith(given))
    if known.startswith("-"):
        return option.startswith("-") and not option.startswith("--") and known[1] in option[1:]
    return option == known
