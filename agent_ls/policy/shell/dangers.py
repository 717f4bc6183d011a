"""ENGINE: what is asked about in every mode, and what is refused in every one: tables over a command's words (X7)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from os import path as ospath

from agent_ls.policy.shell import git

_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    files("agent_ls.policy.shell").joinpath("dangers.toml").read_text("utf-8")
)
_RIGHTS = "it gains or gives rights"
_WHY = {name: why for why, names in _TABLES["names"].items() for name in names.split()}
_VERBS = {name: verbs.split() for name, verbs in _TABLES["verbs"].items()}
_RUNNING_OPTIONS = {name: options.split() for name, options in _TABLES["running_options"].items()}
RIGHTS = frozenset(_TABLES["names"][_RIGHTS].split())

CREDENTIAL_PLACES = re.compile(
    r"(^|[\s/~'\"=:@])(\.(ssh|gnupg|aws|azure|kube|netrc|git-credentials|password-store|pgpass|npmrc|pypirc)\b"
    r"|\.docker/config\b"
    r"|\.config/(gcloud|gh)\b|id_(rsa|ed25519|ecdsa|dsa)\b|etc/(shadow|gshadow|sudoers|passwd-)|proc/[^/]+/(environ|mem|fd)\b)",
    re.IGNORECASE,
)
_SYSTEM_FOLDERS = frozenset(
    "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var "
    "/usr/bin /usr/lib /usr/local /var/lib /Applications /Library /System /Users".split()
)
_DEVICE = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper/|md|loop|mem|kmem|port)")
_WIPING = frozenset("rm srm shred chmod chown chgrp mv find".split())
_ONTO_DEVICES = frozenset("wipefs blkdiscard shred tee cp mv".split())


def danger(argv: Sequence[str]) -> str:
    """Why this one is asked about whatever the mode, "" when nothing of the tables is in it."""
    name, arguments = argv[0], argv[1:]
    if why := _WHY.get(name):
        return f"{why}: {name}"
    if name.startswith("mkfs"):
        return f"it works on disks: {name}"
    for option in _RUNNING_OPTIONS.get(name, ()):
        if any(_is_option(argument, option) for argument in arguments):
            return f"{name} {option} runs a program"
    verb = next((a for a in arguments if not a.startswith("-")), "")
    if verb and verb in _VERBS.get(name, ()):
        return f"others see what it does, or it changes what is not in the folder: {name} {verb}"
    check = _CHECKS.get(name)
    return check(arguments) if check else ""


def refusal(argv: Sequence[str], places: Callable[[str], Iterable[str]], home: str) -> str:
    """Why this one is never run: it would wipe a root or a disk (X7). `places`: where a word may lead."""
    name, arguments = argv[0], argv[1:]
    operands = [a for a in arguments if not a.startswith("-")]
    for operand in operands if _wipes(name, arguments) else ():
        if any(_holds_everything(place, home) for place in places(operand)):
            return f"{name} {operand} would destroy more than a project"
    targets = [a.removeprefix("of=") for a in arguments if a.startswith("of=")] if name == "dd" else []
    if name.startswith("mkfs") or name in _ONTO_DEVICES:
        targets += operands
    for target in targets:
        if any(is_device(place) for place in places(target)):
            return f"{name} would overwrite the disk {target}"
    return ""


def is_known(name: str) -> bool:
    """Whether the tables hold this name, wherever its program lies."""
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
    """The place itself or, by a pattern, all that lies in it."""
    folder, name = ospath.split(place)
    if any(c in name for c in "*?[") and any(fnmatchcase(usual, name) for usual in ("etc", ".config", "usr")):
        place = folder
    place = re.sub("^//+", "/", ospath.normpath(place))
    return place in _SYSTEM_FOLDERS or place == home or home.startswith(place.rstrip("/") + "/")


def _is_option(argument: str, option: str) -> bool:
    """Also as `--option=value`, and cut short as far as a program takes that."""
    if option == "+":
        return argument.startswith("+")
    given = argument.partition("=")[0]
    if option.startswith("--"):
        return given == option or (len(given) > 4 and given.startswith("--") and option.startswith(given))
    if len(option) == 2:
        return argument.startswith(option)
    return given in (option, f"-{option}")


def _find(arguments: Sequence[str]) -> str:
    if "-delete" in arguments:
        return "find -delete deletes"
    writers = [a for a in arguments if a.startswith(("-fprint", "-fls"))]
    return f"find {writers[0]} overwrites a file" if writers else ""


def _ps(arguments: Sequence[str]) -> str:
    shows = any((not a.startswith("-") and "e" in a) or a.startswith("-E") for a in arguments)
    return "it shows the variables of other processes: ps e" if shows else ""


_SED_REPLACE = re.compile(r"s([/|#,:])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIi0-9]*p?")
_SED_RUNS = re.compile(r"(^|[;{}\n]|\d|\$|/)\s*[ewWrR]\b|/[gIi0-9p]*[ew]")


def _sed(arguments: Sequence[str]) -> str:
    script = next((a for a in arguments if not a.startswith("-")), "")
    if _SED_RUNS.search(script) and not _SED_REPLACE.fullmatch(script):
        return "its sed script may write files or run commands"
    return ""


_CHECKS: dict[str, Callable[[Sequence[str]], str]] = {
    "git": git.danger, "find": _find, "sed": _sed, "ps": _ps,
}  # fmt: skip
NAMES = frozenset((*_WHY, *_VERBS, *_RUNNING_OPTIONS, *_CHECKS))
