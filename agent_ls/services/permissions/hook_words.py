"""Pure: find the words of a hook's command that are only data, and code in it that runs nothing else.

The user has confirmed the text of the command. Only what the command takes from elsewhere can run other code: a file
that a formatter rewrites is data, a file that `sh` gets is not.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_TAKE_DATA = frozenset(
    """
    prettier biome eslint oxlint oxfmt stylelint dprint standard xo ruff black isort autopep8 yapf flake8 pylint mypy
    pyright bandit gofmt goimports gofumpt rustfmt clang-format google-java-format ktlint ktfmt swiftformat swiftlint
    stylua shfmt shellcheck rubocop standardrb php-cs-fixer phpcs phpcbf phpstan taplo mdformat markdownlint
    markdownlint-cli2 yamllint jsonlint sqlfluff buf nixfmt alejandra cat head tail grep egrep fgrep rg jq
    yq wc sort uniq cut tr diff cmp file stat ls basename dirname realpath readlink echo printf test [ date touch
    md5sum sha256sum logger notify-send terminal-notifier say
    """.split()
)
"""Programs that read, check or rewrite the files in their arguments, and never run them."""

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
_VALUED_BY_XARGS = ("-I", "-n", "-P", "-d", "-L", "-s", "-E", "-a")
_EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "process_substitution")


def without_data(command: str) -> str:
    """Return the command without the words that are only data. Commands in such words are put behind it."""
    from agent_ls.policy.shell.grammar import parse

    root, problem = parse(command)
    if root is None or problem:
        return command
    source = bytearray(command.encode())
    behind: list[str] = []
    for node in _all(root):
        if node.type == "command":
            for left in _data_of(node):
                behind += [_text(it) for it in _all(left) if it.type == "command_substitution"]
                _blank(source, left)
        elif node.type == "case_item" and (pattern := node.child_by_field_name("value")):
            source[pattern.start_byte : pattern.end_byte] = b"*".ljust(pattern.end_byte - pattern.start_byte)
    return "\n".join([source.decode(errors="replace"), *behind])


def _data_of(node: Node) -> Iterator[Node]:
    """Yield the words of a command that are only data: of xargs, all before a program that takes data."""
    words = [
        it for it in node.children if it.is_named and it.type not in ("variable_assignment", "file_redirect")
    ]
    begin = _behind_xargs(words) if words and _text(words[0]) == "xargs" else 0
    if (program := _program(words, begin)) is None:
        return
    yield from words[:begin]
    for before, word in zip(words[program:], words[program + 1 :], strict=False):
        is_value = _text(before).startswith("-") and _text(before) not in _FLAGS
        if not is_value and any(it.type in _EXPANSIONS for it in _all(word)):
            yield from () if _text(word).lstrip("\"'").startswith("-") else (word,)


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


_PYTHON_MODULES = frozenset(
    """
    json sys os re pathlib datetime time math string textwrap collections itertools functools fnmatch hashlib base64
    urllib glob shutil tempfile platform
    """.split()
)
_PYTHON_RUNS = frozenset(
    "exec eval compile __import__ globals locals vars getattr breakpoint system popen".split()
)
_NODE_RUNS = re.compile(r"\beval\b|\bFunction\b|\bimport\b|child_process|\bvm\b|\bmodule\b|_load|\bworker")
_NODE_REQUIRES = re.compile(
    r"\brequire\s*\(\s*(?:(['\"`])(?:node:)?(?:fs|path|os|url|util|crypto|readline)\1\s*\))?"
)
_APPLE_RUNS = re.compile(r"do shell script|(?:run|load) script|osascript|keystroke", re.IGNORECASE)


def runs_nothing_else(argv: Sequence[str]) -> bool:
    """Return whether code that is written in a command runs no file and no text that it gets."""
    if len(argv) < 3 or argv[1] not in ("-c", "-e"):
        return False
    name, code = os.path.basename(argv[0]), argv[2]
    if re.fullmatch(r"python[\d.]*", name) and argv[1] == "-c":
        return _python_is_closed(code)
    if name in ("node", "nodejs") and argv[1] == "-e":
        required = [*_NODE_REQUIRES.finditer(code)]
        return not _NODE_RUNS.search(code) and all(it[1] for it in required)
    return name == "osascript" and not _APPLE_RUNS.search(code)


def _python_is_closed(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [node.module or "", *(alias.name for alias in node.names)][:1]
                if any(alias.name in _PYTHON_RUNS for alias in node.names):
                    return False
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _PYTHON_RUNS or name.startswith(("exec", "spawn", "posix_spawn", "__")):
                    return False
                continue
            case _:
                continue
        if any(name.partition(".")[0] not in _PYTHON_MODULES for name in names):
            return False
    return True
