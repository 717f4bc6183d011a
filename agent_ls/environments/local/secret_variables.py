"""Pure: tell from the name of an environment variable that its value is a secret. The words of the name decide."""

from __future__ import annotations

from agent_ls.patterns import regex

_SEPARATOR = regex(r"[^A-Z0-9]+")

_SECRET = frozenset(
    """
    PASS PASSWD PASSWORD PASSWORDS PASSPHRASE PAT SECRET SECRETS TOKEN CREDENTIAL CREDENTIALS CRED CREDS
    AUTH AUTHORIZATION COOKIE COOKIES WEBHOOK WEBHOOKS APIKEY APIKEYS SSHPASS
    """.split()
)
_ENDINGS = (
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "TOKEN",
    "SECRET",
    "APIKEY",
    "ACCESSKEY",
    "SECRETKEY",
    "PRIVATEKEY",
)
"""Of words: PGPASSWORD."""

_AT_THE_END = frozenset({"KEY", "KEYS", "SESSION", "TOKENS"})
"""Secret only as the last word, with the forms of a value left out: KEY_BINDINGS and SESSION_MANAGER are none."""
_FORMS = frozenset(
    {"BASE64", "B64", "PEM", "JSON", "HEX", "RAW", "VALUE", "CONTENT", "BASE", "PREVIOUS", "OLD", "NEW"}
)

_ABOUT = frozenset(
    """
    PATH PATHS FILE FILES DIR DIRS DIRECTORY FOLDER HOME SOCK SOCKET ID IDS NAME NAMES URL URI HOST HOSTNAME PORT
    DOMAIN ADDR ADDRESS ENDPOINT TYPE METHOD METHODS MODE PROVIDER BACKEND STORE ALGORITHM ALG HEADER ISSUER AUDIENCE
    ENABLED DISABLED REQUIRED LENGTH LEN SIZE COUNT LIMIT MAX MIN TTL EXPIRY EXPIRES EXPIRATION TIMEOUT LIFETIME AGE
    HELPER COMMAND CMD PROGRAM PID USER USERNAME REGION VERSION
    """.split()
)
"""Last words of names whose values are something about a secret, such as its place."""

_PUBLIC = frozenset(
    """
    PUBLIC PUB CACHE PRIMARY FOREIGN SORT PARTITION HOT META COMPOSE
    DESKTOP GDM FULL TMUX ZELLIJ SSH MIR KDE GNOME PLASMA XDG WAYLAND TERM VIM NVIM SHELL LOGIN
    """.split()
)
"""Words before a last word that is then none of a secret: KITTY_PUBLIC_KEY, DESKTOP_SESSION."""
_COUNTS = frozenset("MAX MIN NUM LIMIT BUDGET COUNT OUTPUT INPUT THINKING".split())

_ACCOUNTS = frozenset("MYSQL DB DATABASE USER ADMIN ROOT SMTP MAIL REDIS LDAP SQL".split())
"""Words before PWD that make it a password; elsewhere it is a working directory."""

_NEEDED = regex(r"GOOGLE_APPLICATION_CREDENTIALS|GIT_CONFIG_KEY_\d+")
"""A path that tools need, and names of settings, without which git fails."""
_BY_ACCOUNT = "OP_SESSION_"


def names_secret(name: str) -> bool:
    """Return whether a variable with this name is a secret, such as DB_PASS, NPM_AUTH or PGPASSWORD."""
    name = name.upper()
    words = [word for word in _SEPARATOR.split(name) if word]
    while len(words) > 1 and (words[-1] in _FORMS or words[-1].isdigit()):
        words.pop()
    if not words or _NEEDED.fullmatch(name):
        return False
    *before, last = words
    if "WEBHOOK" in words or last.endswith(_ENDINGS) or name.startswith(_BY_ACCOUNT):
        return True
    if last in _ABOUT:
        return False
    if last in _AT_THE_END:
        is_count = last == "TOKENS" and not _COUNTS.isdisjoint(before)
        return not is_count and (not before or before[-1] not in _PUBLIC)
    if last == "PWD":
        return bool(before) and before[-1] in _ACCOUNTS
    return any(word in _SECRET or word.endswith(_ENDINGS) for word in words)
