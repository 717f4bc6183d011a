"""ENGINE: what is asked about in every mode, and what is refused in every one: tables over a command's words (X7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from os import path as ospath

_BY_NAME: tuple[tuple[str, str], ...] = (
    ("it deletes", "rm rmdir unlink shred srm trash truncate wipe"),
    (
        "it works on disks",
        "dd fdisk sfdisk cfdisk gdisk parted wipefs blkdiscard badblocks mkswap swapoff mount umount losetup cryptsetup "
        "lvremove vgremove pvremove zpool zfs mdadm hdparm format diskutil",
    ),
    (
        "it gains or gives rights",
        "sudo su doas pkexec chown chgrp chmod setfacl chattr passwd usermod useradd userdel groupadd visudo setcap "
        "runuser newgrp",
    ),
    (
        "it ends or starts what outlives the turn",
        "kill pkill killall shutdown reboot halt poweroff init telinit systemctl service launchctl crontab at batch "
        "screen tmux disown systemd-run",
    ),
    (
        "it reaches other machines",
        "curl wget nc ncat netcat socat ssh scp sftp rsync ftp tftp telnet aria2c http https httpie rclone gsutil",
    ),
    (
        "it runs what is not in sight",
        "source . eval parallel watch script strace gdb ltrace unshare chroot nsenter trap alias enable hash coproc bind "
        "complete mapfile readarray",
    ),
)
_WHY = {name: why for why, names in _BY_NAME for name in names.split()}
RIGHTS = frozenset(name for name, why in _WHY.items() if why == "it gains or gives rights")

_GIT_LOSES = frozenset("push reset clean rebase checkout restore filter-branch filter-repo gc prune update-ref "
                       "replace fast-import send-email svn p4 switch reflog".split())  # fmt: skip
_PUBLISHES = {
    "npm": ("publish", "unpublish", "login", "token", "owner"), "pnpm": ("publish",), "yarn": ("publish",
    "npm"),
    "cargo": ("publish", "yank", "login"), "gem": ("push", "yank"), "twine": ("upload",),
    "poetry": ("publish",),
    "uv": ("publish",), "docker": ("push", "login", "run", "exec", "rm", "rmi", "system", "volume"),
    "podman": ("push", "run", "exec", "rm"), "kubectl": ("apply", "delete", "exec", "create", "patch",
    "replace", "scale", "drain"),
    "helm": ("install", "upgrade", "uninstall"), "terraform": ("apply", "destroy", "import"), "gh": ("",),
    "glab": ("",),
    "aws": ("",), "az": ("",), "gcloud": ("",), "fly": ("",), "vercel": ("",), "heroku": ("",),
    "firebase": ("",),
    "psql": ("",), "mysql": ("",), "mongo": ("",), "redis-cli": ("",), "sqlite3": ("",), "dropdb": ("",),
    "dropuser": ("",),
}  # fmt: skip
"""What is seen by others or changes what is not in the folder; "": whatever follows."""

CREDENTIAL_PLACES = re.compile(
    r"(^|[\s/~'\"=:@])(\.(ssh|gnupg|aws|azure|kube|netrc|git-credentials|password-store|pgpass|npmrc|pypirc|docker/config)\b"
    r"|\.config/(gcloud|gh)\b|id_(rsa|ed25519|ecdsa|dsa)\b|etc/(shadow|gshadow|sudoers|passwd-)|proc/[^/]+/(environ|mem|fd)\b)",
    re.IGNORECASE,
)
_ROOTS = re.compile(
    r"(/|/\*|/\.\*?|~/?\*?|\.\./?(\.\./?)*\*?|/(bin|boot|dev|etc|home|lib|opt|proc|root|sbin|sys|usr|var)/?\*?)"
)
_DEVICE = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper/|md|loop|mem|kmem|port)")


def danger(argv: Sequence[str]) -> str:
    """Why this one is asked about whatever the mode, "" when nothing of the tables is in it."""
    name, arguments = argv[0], argv[1:]
    if why := _WHY.get(name):
        return f"{why}: {name}"
    if name.startswith("mkfs"):
        return f"it works on disks: {name}"
    if check := _CHECKS.get(name):
        return check(arguments)
    known = _PUBLISHES.get(name, ())
    verb = next((a for a in arguments if not a.startswith("-")), "")
    if known and (verb in known or known == ("",)):
        return f"others may see it, or it changes what is not in the folder: {name} {verb}".rstrip()
    return ""


def refusal(argv: Sequence[str], home: str) -> str:
    """Why this one is never run: it would wipe a root or a disk (X7)."""
    name, arguments = argv[0], argv[1:]
    operands = [a for a in arguments if not a.startswith("-")]
    letters = "".join(a[1:] for a in arguments if a.startswith("-") and not a.startswith("--"))
    is_recursive = any(letter in letters for letter in "rR") or "--recursive" in arguments
    if name in ("rm", "srm", "shred", "chmod", "chown", "chgrp") and is_recursive:
        for operand in operands:
            place = ospath.normpath(operand) if operand.startswith("/") else operand
            if (_ROOTS.fullmatch(re.sub("^//", "/", place)) and not operand.startswith("..")) or place.rstrip(
                "/*"
            ) == home:
                return f"{name} {operand} would destroy more than a project"
    writes = [a.removeprefix("of=") for a in arguments if a.startswith("of=")] if name == "dd" else []
    if name.startswith("mkfs") or name in ("wipefs", "blkdiscard", "shred", "tee", "cp"):
        writes += operands
    for target in writes:
        if _DEVICE.match(target):
            return f"{name} would overwrite the disk {target}"
    return ""


def is_known(name: str) -> bool:
    """Whether the tables hold this name, wherever its program lies."""
    return name in _WHY


def is_device(path: str) -> bool:
    return bool(_DEVICE.match(path))


def _git(arguments: Sequence[str]) -> str:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        if rest[0] in ("-c", "--config-env") or rest[0].startswith(
            ("--exec-path", "--git-dir", "--work-tree", "--config-env=")
        ):
            return f"git with {rest[0]} may run what is not in sight"
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    verb, options = (rest[0] if rest else ""), rest[1:]
    if verb in _GIT_LOSES and not (verb == "reflog" and options[:1] in ([], ["show"])):
        return f"git {verb} can drop work, or sends it away"
    if verb == "stash" and options[:1] in (["drop"], ["clear"], ["pop"]):
        return f"git stash {options[0]} can drop work"
    if verb in ("branch", "tag", "worktree", "remote", "submodule") and any(
        o
        in (
            "-D",
            "-d",
            "--delete",
            "-f",
            "--force",
            "-M",
            "remove",
            "rm",
            "prune",
            "deinit",
            "set-url",
            "add",
        )
        for o in options
    ):
        return f"git {verb} {' '.join(options[:1])} changes what other work hangs on"
    if verb == "commit" and "--amend" in options:
        return "git commit --amend rewrites history"
    if verb == "config" and not any(o in ("--get", "--list", "-l", "--get-all") for o in options):
        return "git config can make git run programs"
    if verb in ("rm",) or any(
        o.startswith(("--upload-pack", "--receive-pack", "--ext-diff", "--textconv")) for o in options
    ):
        return f"git {verb} with these options deletes, or runs what is not in sight"
    return ""


def _find(arguments: Sequence[str]) -> str:
    if "-delete" in arguments:
        return "find -delete deletes"
    writers = [a for a in arguments if a.startswith(("-fprint", "-fls"))]
    return f"find {writers[0]} overwrites a file" if writers else ""


def _sed(arguments: Sequence[str]) -> str:
    scripts = [a for a in arguments if not a.startswith("-")][:1]
    return (
        "its sed script may write files or run commands"
        if any(
            re.search(r"(^|[;{}\n]|\d|\$|/)\s*[ewWrR]\b|/[gIi0-9p]*[ew]", script)
            and not _is_plain_replacement(script)
            for script in scripts
        )
        else ""
    )


def _is_plain_replacement(script: str) -> bool:
    return bool(
        re.fullmatch(r"s([/|#,:])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIi0-9]*p?", script)
    )


def _tar(arguments: Sequence[str]) -> str:
    for argument in arguments:
        if argument.startswith(
            ("--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--rsh-command")
        ):
            return f"tar {argument.partition('=')[0]} runs a program"
    return ""


_CHECKS: dict[str, Callable[[Sequence[str]], str]] = {"git": _git, "find": _find, "sed": _sed, "tar": _tar}
