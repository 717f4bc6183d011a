"""Pure: find the words of a hook's command that are only data.

The user has confirmed the text of the command. Only what the command takes from elsewhere can run other code: a file
that a formatter rewrites is data, a file that `sh` gets is not. A word that becomes an option of a formatter, such as
`--plugin=x`, is no data either, so formatters with such options may only get the path in the hook's input.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agent_ls.patterns import regex

if TYPE_CHECKING:
    from tree_sitter import Node

_FORMATTERS = frozenset(
    """
    prettier biome eslint oxlint oxfmt stylelint dprint standard xo ruff black isort autopep8 yapf flake8 pylint mypy
    pyright bandit gofmt goimports gofumpt rustfmt clang-format google-java-format ktlint ktfmt swiftformat swiftlint
    stylua shfmt shellcheck rubocop standardrb php-cs-fixer phpcs phpcbf phpstan taplo mdformat markdownlint
    markdownlint-cli2 yamllint jsonlint sqlfluff buf nixfmt alejandra
    """.split()
)
_TAKE_DATA = _FORMATTERS.union(
    """
    cat head tail grep egrep fgrep rg jq yq wc sort uniq cut tr diff cmp file stat ls basename dirname realpath readlink
    echo printf test [ date touch md5sum sha256sum logger notify-send terminal-notifier say
    """.split()
)
"""Programs that read, check or rewrite the files in their arguments, and never run them."""

_OPTIONS_RUN = frozenset(
    """
    prettier biome eslint oxlint stylelint dprint standard xo flake8 pylint mypy ktlint rubocop standardrb php-cs-fixer
    phpcs phpcbf phpstan markdownlint markdownlint-cli2 sqlfluff buf rg sort
    """.split()
)
"""Those of them that have an option which loads code or runs a program."""
_PATH_FILTER = regex(
    r"""['"]?\.(?:tool_?[iI]nput|tool_response)?\.?\w*[pP]ath"""
    r"""(?: *// *(?:empty|""|\.(?:tool_?[iI]nput|tool_response)?\.?\w*[pP]ath))*['"]?"""
)
_PRINT_INPUT = {"read": 1, "head": 0, "tail": 0, "grep": 1, "egrep": 1, "fgrep": 1, "tr": 2}
"""Programs that take text from a pipe, and the number of operands with which they read no file."""
_PRINT_WORDS = frozenset("echo printf test [ true false : cd exit basename dirname realpath".split())

_RUNNERS = ("npx", "bunx", "pnpx", "uvx")
_RUNS = {
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx", "run"),
    "npm": ("exec",),
    "uv": ("run",),
    "poetry": ("run",),
}
_RUNS |= {"bundle": ("exec",), "pipx": ("run",), "bun": ("x",)}
_FLAGS = frozenset(
    """
    -- -w --write -i --in-place --inplace --fix --check --diff -l --list-different -q --quiet --silent -s -v --verbose
    -u --ignore-unknown --no-error-on-unmatched-pattern --force-exclude --exit-zero -n -r -R -e -E -F -d -x
    --apply --unsafe --no-cache --cache --log-level=warn --loglevel=error --loglevel=silent
    """.split()
)
"""Options without a value. The value of any other option may name code, as behind `--config`."""
_NOTIFIES = regex(
    r"""osascript -e (?P<quote>['"])display notification (?P<text>\\?"[^"'\\$`]*\\?")"""
    r"""(?: (?:with title|subtitle|sound name) \\?"[^"'\\$`]*\\?")*(?P=quote)"""
)
_VALUED_BY_XARGS = ("-I", "-n", "-P", "-d", "-L", "-s", "-E", "-a")
_EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "process_substitution")


def without_data(command: str) -> tuple[str, bool]:
    """Return the command without the words that are only data, and whether the path in the hook's input must be one
    word, and no option. Commands in words that are left out are put behind the command.
    """
    from agent_ls.policy.shell.grammar import parse

    root, problem = parse(command)
    if root is None or problem:
        return command, False
    source = bytearray(command.encode())
    behind: list[str] = []
    takes_path, gets_path_only = False, _gets_path_only(root)
    for node in _all(root):
        if node.type == "command" and _NOTIFIES.fullmatch(_text(node)):
            _blank(source, node)
            source[node.start_byte : node.start_byte + 1] = b":"
        elif node.type == "command":
            is_loader, data = _data_of(node)
            takes_path |= is_loader and bool(data)
            for left in data if gets_path_only or not is_loader else ():
                behind += [_text(it) for it in _all(left) if it.type == "command_substitution"]
                _blank(source, left)
        elif node.type == "case_item" and (pattern := node.child_by_field_name("value")):
            source[pattern.start_byte : pattern.end_byte] = b"*".ljust(pattern.end_byte - pattern.start_byte)
    return "\n".join([source.decode(errors="replace"), *behind]), takes_path


def _data_of(node: Node) -> tuple[bool, list[Node]]:
    """Return whether a command runs a program whose options run code, and its words that are only data: of xargs, all
    before a program that takes data.
    """
    words = _words(node)
    begin = _behind_xargs(words) if words and _text(words[0]) == "xargs" else 0
    if (program := _program(words, begin)) is None:
        return False, []
    data = words[:begin]
    for before, word in zip(words[program:], words[program + 1 :], strict=False):
        is_value = _text(before).startswith("-") and _text(before) not in _FLAGS
        is_option = _text(word).lstrip("\"'").startswith("-")
        if not is_value and not is_option and any(it.type in _EXPANSIONS for it in _all(word)):
            data.append(word)
    return os.path.basename(_text(words[program])) in _OPTIONS_RUN, data


def _gets_path_only(root: Node) -> bool:
    """Return whether no command reads anything but the path in the hook's input, and the output of others that do."""
    return all(
        _reads_path_only(node) if node.type == "command" else not _text(node).lstrip("0").startswith("<")
        for node in _all(root)
        if node.type in ("command", "file_redirect")
    )


def _reads_path_only(node: Node) -> bool:
    words = _words(node)
    if not words:  # only assignments
        return True
    name = os.path.basename(_text(words[0]))
    operands = [it for it in map(_text, words[1:]) if not it.startswith("-") and not it.isdigit()]
    if name == "jq":
        return bool(operands) and all(map(_PATH_FILTER.fullmatch, operands))
    if name in _PRINT_INPUT:
        return len(operands) <= _PRINT_INPUT[name] and _is_piped(node)
    begin = _behind_xargs(words) if name == "xargs" else 0
    program = _program(words, begin)
    is_formatter = program is not None and os.path.basename(_text(words[program])) in _FORMATTERS
    return name in _PRINT_WORDS or (is_formatter and (not begin or _is_piped(node)))


def _is_piped(node: Node) -> bool:
    """Return whether a command gets the output of another one."""
    inner, outer = node, node.parent
    while outer is not None:
        if outer.type == "pipeline" and outer.children[0] != inner:
            return True
        inner, outer = outer, outer.parent
    return False


def _words(node: Node) -> list[Node]:
    return [
        it for it in node.children if it.is_named and it.type not in ("variable_assignment", "file_redirect")
    ]


def _behind_xargs(words: Sequence[Node]) -> int:
    place = 1
    while place < len(words) and _text(words[place]).startswith("-"):
        place += 2 if _text(words[place]) in _VALUED_BY_XARGS else 1
    return place


def _program(words: Sequence[Node], begin: int) -> int | None:
    """Return the place of the program that takes data, behind the programs that start it; None if there is none."""
    texts = [_text(word) for word in words]
    place = begin
    while place < len(texts):
        name = os.path.basename(texts[place])
        if name in _TAKE_DATA:
            return place
        if name in _RUNNERS:
            place += 1
        elif name in _RUNS and texts[place + 1 : place + 2] and texts[place + 1] in _RUNS[name]:
            place += 2
        else:
            return None
        while place < len(texts) and texts[place] in ("-y", "--yes", "--no-install", "--no", "--"):
            place += 1
    return None


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _text(node: Node) -> str:
    text = (node.text or b"").decode(errors="replace")
    return text[2:-1] if node.type == "command_substitution" and text.startswith("$(") else text.strip("`")


def _blank(source: bytearray, node: Node) -> None:
    source[node.start_byte : node.end_byte] = b" " * (node.end_byte - node.start_byte)
