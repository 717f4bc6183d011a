"""ENGINE: rules that an approval may store: what they allow, in general form, as one readable line each.

edits                        edits of ordinary files of the workspace
read:/PATH                   reading one place outside
command:DIGEST               one command, word for word, in one folder
words:npm test               commands that begin with these words
words:git add && git commit  the same of several
tool:NAME@DEFINITION         calls of one added tool, as it is defined now; without a definition: of that name
call:DIGEST                  one call of an added tool, word for word
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.environments.effects import CallEffect

Scope: TypeAlias = Literal["turn", "session", "project", "user"]

EDITS_RULE = "edits"
"""Grants edits of ordinary files inside the roots."""

WORDS = "words:"
MAX_PARTS = 4
AND = " && "

_PLAIN_WORD = re.compile(r"[\w@%+:./-]+", re.ASCII)

_DEPTH = {
    "sh": 2, "bash": 2, "dash": 2, "zsh": 2, "ksh": 2, "ash": 2, "fish": 2,
    "git": 2, "npm": 2, "pnpm": 2, "yarn": 2, "bun": 2, "npx": 2, "cargo": 2, "go": 2, "docker": 2, "kubectl": 2,
    "pip": 2, "pip3": 2, "uv": 2, "poetry": 2, "pdm": 2, "hatch": 2, "conda": 2, "make": 2, "just": 2, "task": 2,
    "python": 2, "python3": 2, "node": 2, "deno": 2, "ruby": 2, "perl": 2, "php": 2, "bundle": 2, "rails": 2, "rake": 2,
    "dotnet": 2, "swift": 2, "mvn": 2, "gradle": 2, "./gradlew": 2, "./mvnw": 2, "mix": 2, "stack": 2, "cabal": 2,
    "terraform": 2, "tsx": 2, "java": 2, "composer": 2, "brew": 2, "apt": 2, "systemd-analyze": 2,
}  # fmt: skip
"""How many words say what a program does, where it is not the first alone."""
_DEEPER = frozenset(
    tuple(text.split())
    for text in (
        "npm run,pnpm run,yarn run,bun run,uv run,uv pip,poetry run,python -m,python3 -m,bundle exec,npm exec,"
        "pnpm exec,hatch run,pdm run,composer run"
    ).split(",")
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A permission that an approval may store: `id` is what is granted, `label` what the user reads.

    `allows` and `still_asked` are commands: what it would allow besides, and what it would not.
    """

    id: str
    label: str
    scope: Scope
    allows: tuple[str, ...] = ()
    still_asked: tuple[str, ...] = ()


def general_id(commands: Sequence[tuple[str, ...]]) -> str:
    """The rule over the first words of all commands that do more than look, "" when they cannot be told so."""
    from agent_ls.policy.shell.read_only import is_read_only  # its tables are loaded with the first command

    found = []
    for argv in commands:
        if not is_read_only(argv):
            words = _first_words(argv)
            if not words:
                return ""
            found.append(" ".join(words))
    parts = tuple(dict.fromkeys(found))
    return WORDS + AND.join(parts) if 0 < len(parts) <= MAX_PARTS else ""


def tool_id(name: str) -> str:
    """The rule for an added tool of this name, whatever its definition."""
    return f"tool:{name}"


def id_of_words(text: str) -> str:
    """The rule over commands that begin with these words, "" when they are none that a rule can have."""
    words = text.split()
    is_plain = all(_PLAIN_WORD.fullmatch(word) and not word.startswith("-") for word in words)
    return WORDS + " ".join(words) if words and is_plain else ""


def tool_ids(effect: CallEffect) -> tuple[str, ...]:
    """The rules that cover a call of an added tool; the first is the one that is offered."""
    by_name = tool_id(effect.tool)
    return (f"{by_name}@{effect.definition[:16]}", by_name) if effect.definition else (by_name,)


def described(rule_id: str) -> str:
    """The commands of a rule over words as people read them: `npm test …`."""
    return ", ".join(f"`{' '.join(words)} …`" for words in _parts(rule_id))


def examples(rule_id: str) -> tuple[Sequence[str], Sequence[str]]:
    """Command lines to show what a rule over words allows, and what it does not. Whether it does is to be judged."""
    words = next(_parts(rule_id))
    told = " ".join(words)
    other = " ".join((*words[:-1], "something-else")) if len(words) > 1 else "something-else"
    return (f"{told} --verbose", f"{told} other"), (
        other,
        f"{told} && rm -r .",
        f"{told} > /etc/out",
        f"{told} ../x",
    )


def matching(commands: Sequence[tuple[str, ...]], grants: Collection[str]) -> tuple[str, ...] | None:
    """The rules that together allow all of these commands, None when one is left."""
    from agent_ls.policy.shell.read_only import is_read_only

    known = [
        (rule_id, words)
        for rule_id in sorted(grants)
        if rule_id.startswith(WORDS)
        for words in _parts(rule_id)
    ]
    used: list[str] = []
    for argv in commands:
        if is_read_only(argv):
            continue
        found = next((rule_id for rule_id, words in known if argv[: len(words)] == words), None)
        if found is None:
            return None
        used.append(found)
    return tuple(dict.fromkeys(used))


def _parts(rule_id: str) -> Iterator[tuple[str, ...]]:
    for part in rule_id.removeprefix(WORDS).split(AND):
        if words := tuple(part.split()):
            yield words


def _first_words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Empty when an option, or nothing, stands where a word would say what is done."""
    depth = _DEPTH.get(argv[0], 1)
    if argv[:2] in _DEEPER:
        depth = 3
    words = argv[:depth]
    said = [word for word in words if not word.startswith("-") or (words[:2] in _DEEPER and word == "-m")]
    if len(words) < depth or len(said) < depth or not all(map(_PLAIN_WORD.fullmatch, words)):
        return ()
    return words
