"""Pure: the permission rules that an approval may store. The id of a rule has one of these forms:

edits                        edits of ordinary files of the workspace
read:/PATH                   reading one path outside the workspace
command:DIGEST               one exact command in one folder
words:npm test               this command
words:pytest                 this command with any arguments that shell/rules.toml allows for it
words:ruff check --fix       this command with allowed arguments, one of which must be `--fix`
words:git add && git commit  several commands
words:npm test *             commands that begin with these words; only the user can add this rule, for one run
tool:NAME@DEFINITION         all calls of a tool while it has this definition; `tool:NAME` covers any definition
call:DIGEST                  one exact call of a tool
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from agent_ls.environments.effects import CallEffect
from agent_ls.package_files import read_package_file
from agent_ls.patterns import regex

Scope: TypeAlias = Literal["turn", "session", "project", "user"]

EDITS_RULE = "edits"
"""The rule that allows edits of ordinary files inside the workspace folders."""

WORDS = "words:"
MAX_PARTS = 4
AND = " && "

MAX_WORDS = 12

_PLAIN_WORD = regex(r"[\w@%+:./=,-]+", re.ASCII)
_ANY_OPERAND = r"[^\n\0]*"
_NO_OPTION = r"(?![-@+:*?\[])(?:{})"
"""Template of a pattern for operands. `{}` is replaced by the pattern of one command's operands.

It excludes options, files of options (`@file`), git pathspecs such as `:/`, and wildcards that may match a file
with the name of an option.
"""
_ANYTHING = "*"
"""The last word of a rule that the user wrote for one run. It allows any further words."""


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """The further words that a rule allows after its own words. Each pattern matches one word.

    `options` and `operands` match allowed words; `operands` None allows no operands. `kept` matches options
    that decide whether the command only checks or also writes files. The rule must name such an option to
    allow it.
    """

    options: re.Pattern[str]
    operands: re.Pattern[str] | None
    kept: re.Pattern[str]
    example: str

    def covers(self, words: Sequence[str]) -> bool:
        """Return whether the rule allows all of these further words."""
        return all(
            self.kept.fullmatch(word)
            or self.options.fullmatch(word)
            or (self.operands is not None and self.operands.fullmatch(word))
            for word in words
        )

    def keep_words(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted({word for word in words if self.kept.fullmatch(word)}))


@cache
def _open_ends() -> Mapping[tuple[str, ...], OpenEnd]:
    """Load the patterns of further words from rules.toml. The keys are the first words of the commands."""
    import tomllib  # imported here, to keep the start fast: it compiles long patterns

    text = read_package_file("agent_ls.policy.shell", "rules.toml")
    found = {}
    for name, row in tomllib.loads(text).items():
        operands = row.get("operands", "")
        end = OpenEnd(
            re.compile("|".join(row["options"].split())),
            re.compile(_NO_OPTION.format(_ANY_OPERAND if operands == "any" else operands))
            if operands
            else None,
            re.compile("|".join(row.get("kept", "").split()) or r"(?!)"),
            row["example"],
        )
        for words in (name, *filter(None, row.get("also", "").split(","))):
            found[tuple(words.split())] = end
    return found


@dataclass(frozen=True, slots=True)
class Rule:
    """A permission that an approval may store. `id` is the stored text; `label` is displayed to the user.

    `allows` are example commands that the rule would also allow, `still_asked` are examples that it would not
    allow.
    """

    id: str
    label: str
    scope: Scope
    allows: tuple[str, ...] = ()
    still_asked: tuple[str, ...] = ()


def general_id(commands: Sequence[tuple[str, ...]]) -> str:
    """Return the id of the rule that covers all of these commands.

    Return "" if their words are too many, or have characters that are not allowed in a rule.
    """
    found = []
    for argv in commands:
        words = _open_words(argv) or argv
        if len(words) > MAX_WORDS or not all(map(_PLAIN_WORD.fullmatch, words)):
            return ""
        found.append(" ".join(words))
    parts = tuple(dict.fromkeys(found))
    return WORDS + AND.join(parts) if 0 < len(parts) <= MAX_PARTS else ""


def tool_id(name: str) -> str:
    """Return the id of the rule that allows the tool of this name, even if its definition changes."""
    return f"tool:{name}"


def id_of_words(text: str) -> str:
    """Return the id of the rule for commands that begin with these words, "" if a word is not allowed in a
    rule.

    Use it only for words that the user wrote, because the rule allows any further words.
    """
    words = text.split()
    is_plain = all(_PLAIN_WORD.fullmatch(word) and not word.startswith("-") for word in words)
    return f"{WORDS}{' '.join(words)} {_ANYTHING}" if words and is_plain else ""


def tool_ids(effect: CallEffect) -> tuple[str, ...]:
    """Return the ids of the rules that cover all calls of this tool. The first one is offered to the user."""
    by_name = tool_id(effect.tool)
    return (f"{by_name}@{effect.definition[:16]}", by_name) if effect.definition else (by_name,)


def describe_rule(rule_id: str) -> str:
    """Return the commands of a rule for display:

    `pytest …` if further words are allowed, otherwise `npm test`.
    """
    labels = []
    for words in _parts(rule_id):
        is_open = _open_end(words) is not None or words[-1] == _ANYTHING
        labels.append(f"`{' '.join(word for word in words if word != _ANYTHING)}{' …' if is_open else ''}`")
    return ", ".join(labels)


def examples(rule_id: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return example command lines that a rule probably allows, and others that it probably does not allow.

    The caller must check the examples.
    """
    words = next(_parts(rule_id))
    line = " ".join(words)
    other = " ".join((*words[:-1], "something-else")) if len(words) > 1 else "something-else"
    found = _open_end(words)
    return (f"{line} {found[0].example}",) if found else (line,), (
        other,
        f"{line} --another-option",
        f"{line} && rm -r .",
        f"{line} > out.txt",
    )


def find_matching(commands: Sequence[tuple[str, ...]], grants: Collection[str]) -> tuple[str, ...] | None:
    """Return the rules that together allow all of these commands, None if one command is not allowed."""
    known = [
        (rule_id, words)
        for rule_id in sorted(grants)
        if rule_id.startswith(WORDS)
        for words in _parts(rule_id)
    ]
    used: list[str] = []
    for argv in commands:
        found = next((rule_id for rule_id, words in known if _covers(words, argv)), None)
        if found is None:
            return None
        used.append(found)
    return tuple(dict.fromkeys(used))


def _parts(rule_id: str) -> Iterator[tuple[str, ...]]:
    for part in rule_id.removeprefix(WORDS).split(AND):
        if words := tuple(part.split()):
            yield words


def _covers(words: tuple[str, ...], argv: tuple[str, ...]) -> bool:
    if words[-1] == _ANYTHING:
        return argv[: len(words) - 1] == words[:-1]
    if argv == words:
        return True
    found = _open_end(words)
    if found is None:
        return False
    end, prefix = found
    further = argv[len(prefix) :]
    return (
        argv[: len(prefix)] == prefix
        and end.covers(further)
        and end.keep_words(further) == words[len(prefix) :]
    )


def _open_end(words: tuple[str, ...]) -> tuple[OpenEnd, tuple[str, ...]] | None:
    """Return the patterns of further words that a rule allows, and the rule's words without `kept` options.

    Return None if the rule allows no further words.
    """
    for count in range(len(words), 0, -1):
        end = _open_ends().get(words[:count])
        if end is not None and end.keep_words(words[count:]) == words[count:]:
            return end, words[:count]
    return None


def _open_words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a rule that allows `argv` with further words: the first words and the `kept` options.

    Return () if the table of further words has no entry for this command.
    """
    for count in range(min(len(argv), 5), 0, -1):
        end = _open_ends().get(argv[:count])
        if end is not None and end.covers(argv[count:]):
            return (*argv[:count], *end.keep_words(argv[count:]))
    return ()
