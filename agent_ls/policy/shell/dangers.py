"""Pure: tables of commands that need approval in every mode, and of commands that are refused in every mode."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from os import path as ospath
from typing import Any

from agent_ls.package_files import read_package_file
from agent_ls.paths import is_within
from agent_ls.patterns import regex
from agent_ls.policy.shell import git, processes, sed

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(read_package_file("agent_ls.policy.shell", "dangers.toml"))
_WHY = {name: why for why, names in _TABLES["names"].items() for name in names.split()}
_VERBS = {name: verbs.split() for name, verbs in _TABLES["verbs"].items()}
_OPTIONS = [
    (name, options.split(), why) for why, rows in _TABLES["options"].items() for name, options in rows.items()
]
_QUIET = {name: regex(pattern) for name, pattern in _TABLES["quiet"].items()}
_QUOTING = frozenset(_TABLES["carried"]["quoting"].split())
_TEXTS = frozenset(_TABLES["carried"]["texts"].split())
_CARRIED = regex(_TABLES["carried"]["pattern"], re.VERBOSE)
_WORDS = {
    name: (regex(pattern), why)
    for why, rows in _TABLES["words"].items()
    for names, pattern in rows.items()
    for name in names.split()
}
_ONLY_INFORMS = (["--version"], ["--help"])
_NO_WORDS = (regex("(?!)"), "")
MAX_CARRIED = 20_000
_RUNS_ITS_WORDS = "Can run code that this line does not show"

CREDENTIAL_PLACES = regex(
    r"(^|[\s/~'\"=:@])(\.(ssh|gnupg|aws|azure|kube|netrc|git-credentials|password-store|pgpass|npmrc|pypirc)\b"
    r"|\.docker/config\b"
    r"|\.config/(gcloud|gh)\b|id_(rsa|ed25519|ecdsa|dsa)\b|etc/(shadow|gshadow|sudoers|passwd-)|proc/[^/]+/(environ|mem|fd)\b)",
    re.IGNORECASE,
)
_SYSTEM_FOLDERS = frozenset(
    "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var "
    "/usr/bin /usr/lib /usr/local /var/lib /Applications /Library /System /Users".split()
)
_DEVICE = regex(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper/|md|loop|mem|kmem|port)")
_WIPING = frozenset("rm srm shred chmod chown chgrp mv find".split())
_ONTO_DEVICES = frozenset("wipefs blkdiscard shred tee cp mv".split())


def danger(argv: Sequence[str]) -> str:
    """Return why this command needs approval in every mode, "" if no table lists it."""
    name, arguments = argv[0], argv[1:]
    why = _WHY.get(name)
    if name in _QUIET and _QUIET[name].fullmatch(" ".join(arguments)):
        return ""
    if why and not (list(arguments) in _ONLY_INFORMS and why != _RUNS_ITS_WORDS):
        return f"{why} ({name})."
    if name.startswith("mkfs"):
        return f"Works on disks ({name})."
    for options, reason in _options_of(name):
        if found := next((word for word in arguments if any(_is_option(word, it) for it in options)), ""):
            return f"{reason} ({name} {found})."
    pattern, reason = _WORDS.get(name, _NO_WORDS)
    if found := next(filter(pattern.search, arguments), ""):
        return f"{reason} ({name} {found})."
    known = _VERBS.get(name, ())
    if verb := next((word for word in _verbs(arguments) if _is_verb(word, known)), ""):
        return f"Acts on things that are not in this folder ({name} {verb.replace('/', ' ')})."
    check = None if list(arguments) in _ONLY_INFORMS else _CHECKS.get(name)
    return check(arguments) if check else ""


def carried_danger(argv: Sequence[str]) -> str:
    """Return the command among the arguments that would lose work, as a reason for approval; "" for none.

    It is found in the words of any program and within each word, because unlisted programs may run it too. A text such
    as the message of a commit is no command, and neither is what a program searches for.
    """
    if argv[0] in _QUOTING:
        return ""
    words = [word for before, word in pairwise(argv) if before not in _TEXTS]
    found = _CARRIED.search(" ".join((argv[0], *words))[:MAX_CARRIED])
    return (
        f"Its words contain a command that can lose work: {found[found.lastgroup or 0].strip()}."
        if found
        else ""
    )


def refusal(argv: Sequence[str], places: Callable[[str], Iterable[str]], home: str) -> str:
    """Return why this command is never run, because it would wipe a root folder or a disk; "" otherwise.

    `places` returns the paths that a word may refer to. `home` is the path of the home folder.
    """
    name, arguments = argv[0], argv[1:]
    operands = [a for a in arguments if not a.startswith("-")]
    for operand in operands if _wipes(name, arguments) else ():
        if any(_holds_everything(place, home) for place in places(operand)):
            return f"{name} {operand} would destroy more than this project"
    targets = [a.removeprefix("of=") for a in arguments if a.startswith("of=")] if name == "dd" else []
    if name.startswith("mkfs") or name in _ONTO_DEVICES:
        targets += operands
    for target in targets:
        if any(is_device(place) for place in places(target)):
            return f"{name} would overwrite the disk {target}"
    return ""


@cache
def _options_of(name: str) -> Sequence[tuple[Sequence[str], str]]:
    return [(options, why) for program, options, why in _OPTIONS if program == name]


def is_known(name: str) -> bool:
    """Return whether the table of dangerous programs contains `name`, a program name without its folder."""
    return name in _WHY


def is_device(path: str) -> bool:
    return bool(_DEVICE.match(path))


def _wipes(name: str, arguments: Sequence[str]) -> bool:
    if name == "find":
        return any(a in ("-delete", "-exec", "-execdir", "-ok") for a in arguments)
    if name == "mv":
        return True
    letters = "".join(a[1:] for a in arguments if a.startswith("-") and not a.startswith("--"))
    is_recursive = any(letter in letters for letter in "rR") or any(
        len(a) > 3 and "--recursive".startswith(a) for a in arguments
    )
    return name in _WIPING and is_recursive


def _holds_everything(place: str, home: str) -> bool:
    """Return whether the path is a system folder or contains the home folder.

    A pattern that matches everything in such a folder counts too.
    """
    folder, name = ospath.split(place)
    if any(c in name for c in "*?[") and any(fnmatchcase(usual, name) for usual in ("etc", ".config", "usr")):
        place = folder
    place = re.sub("^//+", "/", ospath.normpath(place))
    return place in _SYSTEM_FOLDERS or is_within(home, place, "/")


def _is_option(argument: str, option: str) -> bool:
    """Return whether `argument` is `option`: the same word, `--option=value`, or an accepted abbreviation."""
    if option in ("+", "@"):
        return argument.startswith(option)
    if option == "-":
        return argument == "-"
    if option.startswith("-*"):
        return re.match(rf"-[^-]*{option[2:]}", argument) is not None
    given = argument.partition("=")[0]
    if option.startswith("--"):
        return given == option or (len(given) > 4 and given.startswith("--") and option.startswith(given))
    if len(option) == 2:
        return argument.startswith(option)
    return given in (option, f"-{option}")


def _verbs(arguments: Sequence[str]) -> Iterator[str]:
    """Yield each word that may be the subcommand, alone and joined with its next word (`word/next`).

    The word after an option may be the value of the option or the subcommand. Yield that word, and continue the
    search.
    """
    for at, word in enumerate(arguments):
        if not word.startswith(("-", "+")):
            yield word
            yield from (f"{word}/{it}" for it in arguments[at + 1 :][:1])
            if at == 0 or not arguments[at - 1].startswith("-") or "=" in arguments[at - 1]:
                return


def _is_verb(word: str, known: Sequence[str]) -> bool:
    return word in known or (":" in word and any(":" in it and word.startswith(f"{it}:") for it in known))


def _fd(arguments: Sequence[str]) -> str:
    found = next((word for word in arguments if re.match(r"-[HIusigaF0plLq1]*[xX]", word)), "")
    return f"fd {found} runs a program that the line names." if found else ""


def _make(arguments: Sequence[str]) -> str:
    reads_input = any(
        word in ("-", "-f-") or "/dev/stdin" in word or "/dev/fd/" in word for word in arguments
    )
    return "make runs programs that its standard input names." if reads_input else ""


def _find(arguments: Sequence[str]) -> str:
    if "-delete" in arguments:
        return "Deletes files (find -delete)."
    writers = [a for a in arguments if a.startswith(("-fprint", "-fls"))]
    return f"find {writers[0]} overwrites a file." if writers else ""


_IN_PLACE = regex(r"-([nErsuz]*)i.*", re.DOTALL)


def _sed(arguments: Sequence[str]) -> str:
    """Return why a call of sed is dangerous, "" if it is not.

    Editing the given files in place (`-i`) is not dangerous, but writing other files or running commands is.
    """
    printing = [_IN_PLACE.sub(r"-\1", word) for word in arguments if not word.startswith("--in-place")]
    if sed.only_prints([word for word in printing if word != "-"]):
        return ""
    return "The script of sed may write other files or run commands."


def _tar(arguments: Sequence[str]) -> str:
    """Return why a call of tar is dangerous, "" if it is not.

    A word may combine several option letters, and the first word needs no dash.
    """
    bundles = [
        word for at, word in enumerate(arguments) if re.match(r"-[^-]", word) or (at == 0 and word[:1] != "-")
    ]
    if found := next((word for word in bundles if set("IF") & set(word)), ""):
        return f"Runs a program that the line names (tar {found})."
    if found := next((word for word in bundles if "P" in word and any("x" in it for it in bundles)), ""):
        return f"Writes where the archive says (tar {found})."
    found = next((word for word in bundles if "U" in word), "")
    return f"Deletes or overwrites files (tar {found})." if found else ""


_JQ_MODULE = regex(r"(?<![.\w$])(?:import|include)\b")
_YQ_READS = regex(r"(?<![.\w$])(?:load\w*|env|strenv|envsubst)\b")


def _jq(arguments: Sequence[str]) -> str:
    found = any(map(_JQ_MODULE.search, arguments))
    return "Reads files that the program of jq names." if found else ""


def _yq(arguments: Sequence[str]) -> str:
    found = any(map(_YQ_READS.search, arguments))
    return "Reads files or variables that the program of yq names." if found else ""


_CHECKS: dict[str, Callable[[Sequence[str]], str]] = {
    "git": git.danger, "find": _find, "sed": _sed, "ps": processes.danger, "tar": _tar,
    "jq": _jq, "yq": _yq, "fd": _fd, "fdfind": _fd, "make": _make, "gmake": _make,
}  # fmt: skip
NAMES = frozenset((*_WHY, *_WORDS, *_VERBS, *(name for name, _, _ in _OPTIONS), *_CHECKS))
