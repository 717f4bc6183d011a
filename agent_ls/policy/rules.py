"""What is always asked, whatever the mode: tables, so that a reader sees the whole list (PROTOCOL, Edits).

Commands are looked at word by word, not understood: a word of the list anywhere in the text is enough. That
errs on the side of asking.
"""

from __future__ import annotations

import re

NEVER_SILENT_WORDS = frozenset(
    (
        "rm", "rmdir", "unlink", "shred", "dd", "mkfs", "fdisk", "parted", "wipefs", "truncate",  # lose data
        "sudo", "su", "doas", "pkexec", "chown", "chmod", "passwd",  # gain or give rights
        "kill", "pkill", "killall", "shutdown", "reboot", "systemctl", "crontab", "at",  # outlive the turn
        "curl", "wget", "nc", "ssh", "scp", "rsync",  # reach other machines
        "eval", "exec", "source", "xargs",  # run what is not in sight
    )
)  # fmt: skip

NEVER_SILENT_PHRASES = (
    (re.compile(r"\bgit\b.*\b(push|reset|clean|rebase|checkout|restore|stash|filter-branch|gc)\b", re.DOTALL),
     "git that moves or drops work"),
    (re.compile(r"\bfind\b.*(-delete|-exec)", re.DOTALL), "find that deletes or runs"),
    (re.compile(r"\|\s*(sudo\s+)?(ba|z|da|k)?sh\b"), "a pipe into a shell"),
    (re.compile(r">\|?\s*(~|\$HOME|\$\{HOME|/(?!dev/(null|stdout|stderr)\b))"),
     "a redirection to a path outside the folder"),
    (re.compile(r"\b(npm|pnpm|yarn|pip3?|gem|cargo)\b.*\bpublish\b"), "publishing"),
    (re.compile(r"(^|[\s/~'\"=])\.(ssh|gnupg|aws|azure|kube|netrc|git-credentials|password-store)\b", re.IGNORECASE),
     "the name of a place that holds credentials"),
)  # fmt: skip

SENSITIVE_NAMES = frozenset(
    (
        ".git", ".hg", ".svn", ".vscode", ".idea", ".github", ".gitlab-ci.yml", ".circleci", "Jenkinsfile",
        ".agent-ls", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".codex", ".mcp.json", ".envrc",
        ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", "config.fish",
        ".gitconfig", ".gitmodules", ".git-hooks", ".husky", ".pre-commit-config.yaml",
    )
)  # fmt: skip

DENIED_HOME_PLACES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".config/gcloud", ".config/gh",
    ".password-store", ".netrc", ".git-credentials",
)  # fmt: skip
"""Below the user's home: never read or written, in no mode (X6)."""

DENIED_FILES = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers")


def never_silent(command: str) -> str:
    """Why this command is asked about in every mode, "" when nothing of the lists is in it."""
    words = re.findall(r"[\w.+-]+", command)
    for word in words:
        if word in NEVER_SILENT_WORDS or word.startswith("mkfs"):
            return f"it uses {word}"
    for phrase, why in NEVER_SILENT_PHRASES:
        if phrase.search(command):
            return f"it contains {why}"
    return ""
