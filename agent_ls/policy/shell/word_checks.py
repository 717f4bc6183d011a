"""Pure: the reasons to doubt a word of a command. Each is a small check, which returns its doubt, or "" for none.

tests/policy/test_word_checks.py lists for each check lines that are asked about because of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_ls.patterns import regex
from agent_ls.policy.shell import listing, read_only
from agent_ls.policy.shell.arguments import may_climb
from agent_ls.policy.shell.names import ASSIGNING, changes_commands
from agent_ls.policy.shell.words import NUMBER, Word

FROM_INPUT = Word("unknown", "what xargs reads", "what xargs reads", is_single=False)
"""The word for the arguments that xargs adds."""
ANY_WORDS = frozenset(("echo", "printf", "basename", "dirname"))
"""Commands that only print words, and do not use them as names of files."""
_TEST_OF_WORD = regex("-[defhLnrswxz]")
_TEXT_OF_GIT = regex('"?--(?:author|committer|grep|since|until|after|before)="?[$]')
"""Matches an option of git whose value is only compared with commits."""
_DESCRIBE = frozenset(("ls", "file", "readlink", "realpath", "stat"))
_PLACE_OF_A_PROGRAM = regex(r"\"?\$\((?:which|command -v|type -p) [\w.+-]+\)\"?")
"""Matches the path of a program. Commands in `_DESCRIBE` print only its name, kind, size and times."""
_SAFE_OPTIONS = {
    "set": regex(
        r"--?|[-+][abCeEfhmnTtuvx]*o?|allexport|err(?:exit|trace)|functrace|hashall|monitor|noclobber|noexec|noglob"
        r"|nounset|pipefail|verbose|xtrace"
    ),
    "shopt": regex(r"-[supqo]+|extglob|failglob|inherit_errexit|lastpipe|nocasematch|nullglob"),
}
_DECLARED = regex(r"-[xrpgu]+\Z|[A-Za-z_]\w*(=|\Z)")


@dataclass(frozen=True, slots=True)
class CheckedWord:
    """A word after the name of a command, and its index in the command's words `argv`."""

    argv: Sequence[str]
    at: int
    word: Word

    @property
    def name(self) -> str:
        return self.argv[0]


def places_of(words: Sequence[Word]) -> Iterator[CheckedWord]:
    """Yield the words that are checked. A command that only prints words may print all that xargs reads."""
    argv = tuple(word.text for word in words)
    for at, word in enumerate(words[1:], 1):
        if not (word is FROM_INPUT and argv[0] in ANY_WORDS and (argv[0], at) != ("printf", 1)):
            yield CheckedWord(argv, at, word)


def with_numbers(words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the words, with numbers that the line computes as text where only their digits differ.

    That is in a script, in an option and after an option. Elsewhere, a number would be the name of a file.
    """
    if not any(word.number for word in words[1:]) or words[0].text not in _COUNTING:
        return tuple(words)
    argv = tuple(word.with_number("1") or word.text for word in words)
    scripts = read_only.scripts_of(argv)

    def is_text(at: int, word: Word) -> bool:
        return _is_clear_script(argv, at, word) if at in scripts else _is_count(argv, at)

    return tuple(
        replace(word, kind="text", text=argv[at]) if word.number and at and is_text(at, word) else word
        for at, word in enumerate(words)
    )


def _is_clear_script(argv: Sequence[str], at: int, word: Word) -> bool:
    """Return whether the script is harmless also if its numbers are gone.

    Then the next word may take its place, it may become an option, and the text around a number may mean something
    else.
    """
    without = word.with_number("")
    if not without and word.source[:1] not in ("'", '"'):
        return False
    joined = _JOINED_IN_SED if argv[0] == "sed" else _JOINED
    return not joined.search(word.number) or read_only.is_read_only((*argv[:at], without, *argv[at + 1 :]))


_JOINED_IN_SED = regex(rf"[\\\[^]{NUMBER}")
_JOINED = regex(rf"\A{NUMBER}+-|[\w\\\[^./@]{NUMBER}|{NUMBER}(?:[\w.]|\s*/)")
"""Matches a number after which, or before which, the text is read in another way without the number.

Such as `$n / 2`, where `/` begins a pattern, `[$n]`, and names.
"""


def _is_count(argv: Sequence[str], at: int) -> bool:
    valued = read_only.valued_letters(argv[0])
    return bool(
        re.fullmatch(r"-[ncwsqkf]?[-+]?\d[\d,-]*|--\w+=\d+", argv[at])
        or (argv[at - 1][:1] == "-" and argv[at - 1][1:] in [*valued] and re.fullmatch(r"[-+]?\d+", argv[at]))
        or (argv[at - 1] == "-v" and re.fullmatch(r"[A-Za-z_]\w*=\d+", argv[at]))
        or (argv[0] == "test" and len(argv) == 4 and re.fullmatch("-(?:eq|ne|l[te]|g[te])", argv[2]))
    )


_COUNTING = frozenset("head tail sed awk gawk mawk cut fold ps jq lsof test".split())


def unknown_files(place: CheckedWord) -> str:
    """The word may be the name of any file."""
    word = place.word
    is_harmless = word is FROM_INPUT or place.name in read_only.TEXT_ONLY
    is_harmless |= place.name in _DESCRIBE and _PLACE_OF_A_PROGRAM.fullmatch(word.source) is not None
    is_harmless |= word.is_commit and listing.prints_no_changes(place.argv)
    is_harmless |= place.name == "ps" and word.source.strip('"') == "$USER"
    is_harmless |= word.is_single and place.name == "git" and _TEXT_OF_GIT.match(word.source) is not None
    is_harmless |= word.is_single and place.name == "test" and _is_clear_test(place.argv[1:])
    return (
        "" if word.kind != "unknown" or is_harmless else f"`{word.source}` decides on which files it works."
    )


def _is_clear_test(words: Sequence[str]) -> bool:
    """Return whether the meaning of a test does not depend on the values of its words."""
    words = words[1:] if words[:1] == ("!",) else words
    is_of_word = len(words) == 2 and _TEST_OF_WORD.fullmatch(words[0])
    return bool(is_of_word) or (len(words) == 3 and words[1] in ("=", "==", "!="))


def unknown_format(place: CheckedWord) -> str:
    """The word may be `-v`, with which printf sets a variable, or a format with `%n`."""
    is_format = place.at == 1 or (place.at == 2 and place.argv[1] == "--")
    if place.word.kind == "unknown" and place.name == "printf" and is_format:
        return f"Asked because of `{place.word.source}`: it may be an option of printf."
    return ""


def pattern_for_options(place: CheckedWord) -> str:
    """A file with a name such as `-o` may turn the pattern into an option."""
    if place.word.kind == "glob" and re.match(r"-(?![\w-]+=)", place.word.text):
        return f"`{place.word.source}` may match the name of an option."
    return ""


def pattern_for_parents(place: CheckedWord) -> str:
    """Older shells expand a pattern such as `.*` to `..` too."""
    describes = place.name == "ls" and any(
        re.fullmatch("-[a-zA-Z1]*d[a-zA-Z1]*", word) for word in place.argv
    )
    if place.word.kind == "glob" and may_climb(place.word.text) and not describes:
        return f"`{place.word.source}` may match `..`."
    return ""


def declared_variable(place: CheckedWord) -> str:
    """A variable such as PATH decides what later commands do, and an unknown word may name it."""
    word = place.word
    if place.name not in ASSIGNING or not (
        changes_commands(word.text.partition("=")[0]) or word.kind != "text"
    ):
        return ""
    return f"It sets {word.source}, which changes what other commands do."


def declared_expression(place: CheckedWord) -> str:
    """For a word such as `a[$(x)]=1`, the shell runs the code in the brackets."""
    word = place.word
    if place.name not in ASSIGNING or declared_variable(place) or _DECLARED.match(word.text):
        return ""
    return f"Asked because of `{word.source}`: the shell may run code to set the variable."


def named_variable(place: CheckedWord) -> str:
    """`read`, `getopts`, `printf -v` and `test -v` take the name of a variable, which may contain code too."""
    variable = _variable_of(place)
    if changes_commands(variable) or "[" in variable:
        return f"Asked because of `{variable}`: setting it may change what runs."
    return ""


def shell_option(place: CheckedWord) -> str:
    """Options of the shell such as `nocaseglob` and `keyword` change which files later words name."""
    if place.name not in ("set", "shopt") or "--" in place.argv[: place.at]:
        return ""
    if place.word.kind == "text" and _SAFE_OPTIONS[place.name].fullmatch(place.word.text):
        return ""
    return f"Asked because of `{place.word.source}`: it changes how the shell reads the command."


CHECKS: tuple[tuple[Callable[[CheckedWord], str], ...], ...] = (
    (unknown_files, unknown_format, pattern_for_options, pattern_for_parents),
    (declared_variable, declared_expression),
    (named_variable, shell_option),
)
"""All checks. Those of the first group look at all words before those of the next do."""


def doubts_of(words: Sequence[Word]) -> Iterator[str]:
    """Yield the doubts about the words of a command. The user is shown the first."""
    places = list(places_of(words))
    for group in CHECKS:
        for place in places:
            yield from filter(None, (check(place) for check in group))


def _variable_of(place: CheckedWord) -> str:
    """Return the name of a variable or of an array's element that the word may be for a command of the shell."""
    argv, at = place.argv, place.at
    match argv[0]:
        case "read" | "getopts":
            return argv[at]
        case "printf" if argv[1].startswith("-v"):
            return argv[1][2:] if at == 1 else argv[2] if at == 2 else ""
        case "test" if "-v" in argv or "-R" in argv:
            return argv[at]
    return ""
