"""Names of places that need care, as tables, so that a reader sees the whole list (PROTOCOL, Edits; X6)."""

from __future__ import annotations

SENSITIVE_NAMES = frozenset(
    (
        ".git", ".hg", ".svn", ".vscode", ".idea", ".github", ".gitlab-ci.yml", ".circleci", "Jenkinsfile",
        ".agent-ls", ".agent-ls-ignore", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".codex", ".mcp.json", ".envrc",
        ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", "config.fish",
        ".gitconfig", ".gitmodules", ".git-hooks", ".husky", ".pre-commit-config.yaml",
    )
)  # fmt: skip

GUARDED_NAMES = (
    ".git/hooks", ".git/config", ".hg/hgrc", ".vscode", ".idea", ".envrc", ".agent-ls", ".agent-ls-ignore",
    ".husky", ".pre-commit-config.yaml",
)  # fmt: skip
"""Below a root: what runs by itself later, so that a sandbox keeps commands from writing it."""

DENIED_HOME_PLACES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".config/gcloud", ".config/gh",
    ".password-store", ".netrc", ".git-credentials",
)  # fmt: skip
"""Below the user's home: never read or written, in no mode (X6)."""

DENIED_FILES = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers")

SECRET_FILES = (
    ".env", ".env.*", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "id_rsa", "id_ed25519",
    "id_ecdsa", "id_dsa", ".netrc", ".pgpass", ".git-credentials", "credentials.json",
    "secrets.json", "secrets.yaml", "secrets.yml",
)  # fmt: skip
"""Names of files that hold secrets wherever they lie: asked about before they are read."""

HARMLESS_FILES = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.test.example")

IGNORE_FILE = ".agent-ls-ignore"
"""In a root: what it names is read and written by nobody (patterns as in .gitignore)."""
