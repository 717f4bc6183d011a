"""Pure: recognize programs of jq and yq that only print parts of a document."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.patterns import regex

_JSON_FILE = regex(r"(?:[\w-]+/)*env(?:\.\w+)*\.json")
"""A usual file. As a program of jq, the name prints the variable `json`, or fails."""
_JQ_READS = regex(
    r"\b(import|include|modulemeta|get_search_list|input_filename)\b|(?<![\w.])env\b|(?<![\w.])(ENV\b|__prog)"
)
_YQ_VALUED = ("-o", "-p", "-I")
_YQ_EXPRESSION = regex(
    r"""(?:[\s.,|()?*:+-]|\[|\]|//|[=!]=|[<>]=?|"[^"\\$]*"|\d"""
    r"""|(?<=\.)(?<!\.\.)[A-Za-z_](?:\w|-(?!modulemeta|get_search_list|input_filename))*(?!\w|-|\s*\()"""
    r"""|\b(?:keys|length|type|select|map|has|to_entries|from_entries|with_entries|sort|sort_by|unique|unique_by|first"""
    r"""|last|min|max|add|any|all|not|and|or|contains|join|flatten|group_by|empty|tostring|to_number|tag|kind|key|test"""
    r"""|reverse|true|false|null)\b)+"""
)
"""An expression of names after one dot, and of functions that read no variables and no files, in both programs yq.

For one of them `a-b` is a name, for the other a difference.
"""


def is_plain_jq(word: str) -> bool:
    """Return whether jq, with this word as its program or as a file, reads no modules and no environment variables."""
    return _JSON_FILE.fullmatch(word) is not None or _JQ_READS.search(word) is None


def is_plain_yq(program: str) -> bool:
    """Return whether a program only prints, in both programs named yq."""
    return _YQ_EXPRESSION.fullmatch(program) is not None


def count_of_yq_verbs(arguments: Sequence[str]) -> int:
    """Return 1 if the words after yq begin with a verb that evaluates a program, else 0."""
    return int(bool(arguments) and arguments[0] in ("e", "eval", "ea", "eval-all"))


def program_of_yq(arguments: Sequence[str]) -> int:
    """Return the index of the program in the words after yq, -1 if there is none."""
    start = count_of_yq_verbs(arguments)
    operands = (
        at
        for at, word in enumerate(arguments)
        if at >= start and not word.startswith("-") and (at == start or arguments[at - 1] not in _YQ_VALUED)
    )
    return next(operands, -1)
