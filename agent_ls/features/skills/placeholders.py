"""Pure: insert the user's arguments into the text of a skill or command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from agent_ls.features.skills.values import UserCommand
from agent_ls.patterns import regex

_PLACEHOLDER = regex(
    r"(?P<code>\bawk\b[^\n']*'[^'\n]*')"
    r"|\\(?P<plain>\$(?:[0-9@]|ARGUMENTS\b(?:\[\d\])?|\{(?:[0-9]|ARGUMENTS)(?::-[^}]*)?\}))"
    r"|\$\d+(?:[.,]\d+|[kKmMbB]\b|[.,]\d+[kKmMbB]\b)"
    r"|\$ARGUMENTS\[(?P<index>\d)\]|\$ARGUMENTS\b|\$\{ARGUMENTS\}|(?<![\"'])\$@(?![\"'\w])"
    r"|\$(?P<number>[0-9])(?!\w)|\$\{(?P<braced>[0-9])(?::-(?P<default>[^}]*))?\}(?!\w)"
    r"|\{\{args\}\}|\$\{input:(?P<input>[^}:]*)(?::[^}]*)?\}|\$\{(?P<editor>file|selection)\}"
    r"|(?<![\\$\w])\$(?P<named>[A-Za-z_]\w*)"
)
_FROM_ZERO = regex(r"(?<!\\)\$(?:0(?![\w.,])|\{0\})")
_PRICE = regex(r"\$\d+(?:[.,]\d|[kKmMbB]\b)")
_REQUEST = regex(
    r"^```![ \t]*\n(?P<lines>.*?)^```[ \t]*$|!`(?P<line>[^`\n]+)`|@\{(?P<file>(?:[^{}\n]|\{\{args\}\})+)\}"
    r"|(?P<code>(?<![!`])(?:``(?!`)[^\n]+?``(?!`)|`[^`\n]+`))"
    r"|!\{(?P<braced>(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})+)\}",
    re.MULTILINE | re.DOTALL,
)
_FOLDER = regex(r"\$\{?CLAUDE_SKILL_(?:DIR|ROOT)\b\}?|\{baseDir\}")
_PAIR = regex(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_EDITOR = {
    "file": "the file that is open in the editor",
    "selection": "the text that is selected in the editor",
}


def insert_arguments(text: str, arguments: str, names: Sequence[str] = ()) -> str:
    """Return `text` with `$ARGUMENTS`, `$@`, `$1`, `{{args}}` and `${input:name}` replaced by the user's words.

    In a text with `$0` that is the first word; `$ARGUMENTS[0]` always is. `${2:-none}` has a default. `names` are the
    names of the words, for `$name`; other names have the values of words such as `NAME=value`. The words are appended
    if the text has no placeholder. Prices (`$1.2M`), the fields of awk, `\\$1` and `\\$ARGUMENTS` are no placeholders.

    A shell command in the text, for example `` !`git diff` ``, becomes a request to the model to run it, with quotes
    around the user's words. It is not run here, because the policy checks only commands that the model runs. A file
    (`@{path}`) becomes a request to read it.
    """
    filling = _Filling(text, arguments, names)
    pieces, place = [], 0
    for found in _REQUEST.finditer(text):
        pieces += [filling.fill(text[place : found.start()]), _request(found, filling)]
        place = found.end()
    filled = "".join((*pieces, filling.fill(text[place:])))
    return filled if filling.has_place or not arguments else f"{filled}\n\n{arguments}"


def _request(found: re.Match[str], filling: _Filling) -> str:
    if code := found["code"]:
        return filling.fill(code)  # a sign in it, as in `if !`, begins no command
    if file := found["file"]:
        return f"(insert the content of the file `{filling.fill(file).strip()}` here: read it)"
    if lines := found["lines"]:
        commands = filling.fill(lines, in_shell=True)
        return (
            f"(insert the output of these commands here: run them if you are allowed to)\n```\n{commands}```"
        )
    command = filling.fill((found["line"] or found["braced"] or "").strip(), in_shell=True)
    return f"(insert the output of the command `{command}` here: run it if you are allowed to)"


class _Filling:
    """Fills placeholders of one text. `has_place` tells whether there was one."""

    def __init__(self, text: str, arguments: str, names: Sequence[str]) -> None:
        self.has_place = False
        self._arguments = arguments
        self._words = _split(arguments)
        self._first = 0 if _FROM_ZERO.search(text) else 1
        self._named = {name: self._word(at) for at, name in enumerate(names)}
        self._named |= {pair[1]: pair[2] for word in self._words if (pair := _PAIR.fullmatch(word))}
        self._inputs = _read_inputs(
            [it["input"] for it in _PLACEHOLDER.finditer(text) if it["input"]], arguments
        )

    def fill(self, text: str, *, in_shell: bool = False) -> str:
        """Return a part of the text with its placeholders filled, in a shell command with quotes."""

        def insert(found: re.Match[str]) -> str:
            value = self._value(found)
            if value is None:
                return found[0]
            return _quoted(found.string[: found.start()], value, found[0]) if in_shell else value

        return _PLACEHOLDER.sub(insert, text)

    def _word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def _value(self, found: re.Match[str]) -> str | None:
        """Return the text for a placeholder, None if it is none."""
        if editor := found["editor"]:
            return _EDITOR[editor]
        if found["code"] or _PRICE.match(found[0]):
            return None
        if plain := found["plain"]:
            return plain
        if name := found["named"]:
            self.has_place |= name in self._named
            return self._named.get(name)
        self.has_place = True
        if number := found["index"]:
            return self._word(int(number))
        if number := found["number"] or found["braced"]:
            return self._word(int(number) - self._first) or found["default"] or ""
        return self._inputs.get(found["input"] or "", self._arguments)


def _read_inputs(names: Sequence[str], arguments: str) -> dict[str, str]:
    """Return the values that the user gave as `name: value` or `name=value`, for some of `names`."""
    known = "|".join(re.escape(name) for name in dict.fromkeys(names))
    given = f" {arguments}"
    found = [*re.finditer(rf"[\s,;]({known})\s*[:=]\s*", given)] if known else []
    ends = [*(it.start() for it in found), len(given)][1:]
    return {it[1]: given[it.end() : end].strip().rstrip(",;") for it, end in zip(found, ends, strict=False)}


def _quoted(before: str, value: str, placeholder: str) -> str:
    """Return the user's words so that they stay words in a shell command, in which `before` precedes them."""
    outside = re.sub(r"\\.", "", before, flags=re.DOTALL)
    quote = ""
    for char in outside:
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
    if quote == "'":
        return value.replace("'", "'\"'\"'")
    if quote == '"':
        return re.sub(r'([\\"$`])', r"\\\1", value)
    if placeholder in ("$ARGUMENTS", "${ARGUMENTS}", "$@"):
        return " ".join(map(shlex.quote, _split(value)))
    return shlex.quote(value) if value else ""


def expand_command(command: UserCommand, text: str, arguments: str) -> str:
    """Return the model's input for `/name arguments`: the words that the user typed, then the
    instructions.
    """
    typed = f"/{command.name} {arguments}".rstrip()
    return (
        f"{typed}\n\n{wrap_instructions(command, insert_arguments(text, arguments, command.argument_names))}"
    )


def wrap_instructions(command: UserCommand, text: str) -> str:
    """Return the instructions of a skill inside a tag that names the skill and its folder.

    Relative paths in the instructions are relative to this folder, and the variables of other agents for it are
    replaced. The instructions of a command get no tag.
    """
    text = _FOLDER.sub(lambda found: command.folder, text)
    if command.kind == "command":
        return text
    return f'<skill name="{command.name}" folder="{command.folder}">\n{text}\n</skill>'


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
