"""Pure: insert the user's arguments into the text of a skill or command."""

from __future__ import annotations

import re
import shlex

from agent_ls.features.skills.values import UserCommand

_PLACEHOLDER = re.compile(
    r"(?P<code>\bawk\b[^\n']*'[^'\n]*')|\\(?P<plain>\$[1-9])|\$\d+(?:[.,]\d+|[kKmMbB]\b|[.,]\d+[kKmMbB]\b)"
    r"|\$ARGUMENTS\[(?P<index>\d)\]|\$ARGUMENTS\b|\$\{ARGUMENTS\}|(?<![\"'])\$@(?![\"'\w])"
    r"|\$(?P<number>[0-9])(?!\w)|\$\{(?P<braced>[0-9])(?::-(?P<default>[^}]*))?\}(?!\w)"
    r"|\{\{args\}\}|\$\{input:(?P<input>[^}:]*)(?::[^}]*)?\}|\$\{(?P<editor>file|selection)\}"
)
_FROM_ZERO = re.compile(r"(?<!\\)\$(?:0(?![\w.,])|\{0\})")
_PRICE = re.compile(r"\$\d+(?:[.,]\d|[kKmMbB]\b)")
_COMMAND = re.compile(r"!`([^`\n]+)`|!\{([^}\n]+)\}")
_EDITOR = {
    "file": "the file that is open in the editor",
    "selection": "the text that is selected in the editor",
}


def insert_arguments(text: str, arguments: str) -> str:
    """Return `text` with `$ARGUMENTS`, `$@`, `$1`, `{{args}}` and `${input:name}` replaced by the user's words.

    In a text with `$0` that is the first word; `$ARGUMENTS[0]` always is. `${2:-none}` has a default.
    The words are appended if the text has no placeholder. Prices (`$1.2M`), the fields of awk and `\\$1` are no
    placeholders. A shell command in the text, for example
    `` !`git diff` ``, becomes a request to the model to run it. It is not run here, because the policy checks
    only commands that the model runs.
    """
    words = _split(arguments)
    has_place = False
    first = 0 if _FROM_ZERO.search(text) else 1

    def word(at: int) -> str:
        return words[at] if 0 <= at < len(words) else ""

    def insert(found: re.Match[str]) -> str:
        nonlocal has_place
        if editor := found["editor"]:
            return _EDITOR[editor]
        if found["code"] or _PRICE.match(found[0]):
            return found[0]
        if plain := found["plain"]:
            return plain
        has_place = True
        if number := found["index"]:
            return word(int(number))
        if number := found["number"] or found["braced"]:
            return word(int(number) - first) or found["default"] or ""
        return arguments

    requested = _COMMAND.sub(_request, text)
    filled = _PLACEHOLDER.sub(insert, requested)
    return filled if has_place or not arguments else f"{filled}\n\n{arguments}"


def expand_command(command: UserCommand, text: str, arguments: str) -> str:
    """Return the model's input for `/name arguments`: the words that the user typed, then the
    instructions.
    """
    typed = f"/{command.name} {arguments}".rstrip()
    return f"{typed}\n\n{wrap_instructions(command, insert_arguments(text, arguments))}"


def wrap_instructions(command: UserCommand, text: str) -> str:
    """Return the instructions of a skill inside a tag that names the skill and its folder.

    Relative paths in the instructions are relative to this folder. The instructions of a command get no tag.
    """
    if command.kind == "command":
        return text
    return f'<skill name="{command.name}" folder="{command.folder}">\n{text}\n</skill>'


def _request(found: re.Match[str]) -> str:
    command = (found[1] or found[2]).strip()
    return f"(insert the output of the command `{command}` here: run it if you are allowed to)"


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
