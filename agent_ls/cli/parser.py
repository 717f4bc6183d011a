"""The parser of the commands: an error is one line that says what is wrong, and a second one that says what to do."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from agent_ls.cli.other_words import OTHER_OPTIONS, same_action
from agent_ls.near_names import nearest
from agent_ls.patterns import regex

_MISSING = regex(r"the following arguments are required: (?P<names>.+)")
_AMBIGUOUS = regex(r"ambiguous option: (?P<given>\S+) could match (?P<known>.+)")
_CHOICE = regex(r"argument (?P<name>[^:]+): invalid choice: (?P<given>.+?) \(choose from", re.DOTALL)
_VALUE = regex(r"argument (?P<name>[^:]+): invalid (?P<kind>\w+) value: (?P<given>.+)", re.DOTALL)
_SHORT = regex(r"-[A-Za-z]")
_UNBROKEN: Any = {"break_on_hyphens": False, "break_long_words": False}
_NO_VALUE = regex(r"argument (?P<name>[^:]+): expected (?:one|at least one) argument")


class _Help(argparse.HelpFormatter):
    """Breaks lines between words only: a command or a path with a hyphen could not be copied from two lines."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return self._fill_text(text, width, "").splitlines()

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap  # imported here, because only a help page needs it

        return "\n".join(
            textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent, **_UNBROKEN)
            for line in text.splitlines()
        )


class Parser(argparse.ArgumentParser):
    """A parser whose errors are short, and which names the command that has an unknown option.

    `hint` is what to do about an unknown option that is like none of the options; by default their list.
    """

    hint = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Help, **options})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the arguments. Arguments that this parser does not know are an error of its own command."""
        self._given: Sequence[str] = sys.argv[1:] if args is None else args
        found, others = super().parse_known_args(args, namespace)
        if others:
            self.refuse(others)
        return found, others

    def error(self, message: str) -> NoReturn:
        self.fail(*self._about(message))

    def refuse(self, others: Sequence[str]) -> NoReturn:
        """End with the error about arguments that this command does not have."""
        self.fail(*self._about_others(others))

    def fail(self, words: str, hint: str = "") -> NoReturn:
        """End with this error."""
        self.exit(2, f"{self.prog}: {words}\n  {hint or f'`{self.prog} --help` lists the options'}\n")

    def _about(self, message: str) -> tuple[str, str]:
        """Return what is wrong and what to do, in place of a message of argparse."""
        if found := _MISSING.fullmatch(message):
            names = found["names"]
            if unknown := [word for word in self._given if self._is_unknown(word)]:
                return self._about_others(unknown)
            chosen = self._choices(names)
            hint = (
                f"choose one of {', '.join(chosen)}"
                if chosen
                else f"`{self.prog} --help` shows how it is written"
            )
            verb = "are" if ", " in names else "is"
            return f"{_word(names)} {verb} missing", hint
        if found := _CHOICE.match(message):
            hint = _hint(found["given"].strip("'"), self._choices(found["name"]))
            may_be_prompt = found["name"].startswith("--") and self._needs_no_value(found["name"])
            hint += "; without one of them, write the option after the prompt" if may_be_prompt else ""
            return f"there is no {_word(found['name'])} {found['given']}", hint
        if found := _AMBIGUOUS.fullmatch(message):
            known = found["known"].replace(", ", " or ")
            return f"there is no option {found['given']}", f"did you mean {known}?"
        if found := _VALUE.fullmatch(message):
            kind = "a number" if found["kind"] in ("int", "float") else "valid"
            return f"{found['name']}: {found['given']} is not {kind}", ""
        if found := _NO_VALUE.fullmatch(message):
            return f"{found['name']} needs a value", ""
        return message.removeprefix("argument "), ""

    def _about_others(self, others: Sequence[str]) -> tuple[str, str]:
        """Return what is wrong with arguments that are too many, and what to do."""
        options = [word.partition("=")[0] for word in others if word.startswith("-")]
        if options:
            return f"there is no option {options[0]}", self._hint_for_option(options[0])
        if any(action.dest == "prompt" for action in self._actions):
            return "the prompt is more than one argument", "write it in quotation marks"
        return f"{' '.join(others)!r} is too much", f"`{self.prog} --help` shows how it is written"

    def _hint_for_option(self, option: str) -> str:
        """Return what to write in place of an option that this command does not have; "" if nothing is like it."""
        known = self._option_string_actions
        other = OTHER_OPTIONS.get(option, "")
        if other.partition(" ")[0] in known:
            return f"did you mean {other}?"
        near = nearest(option, known) if option.startswith("--") else ""  # one letter is like any other
        return f"did you mean {near}?" if near else self.hint

    def _is_unknown(self, word: str) -> bool:
        option = word.partition("=")[0]
        known = self._option_string_actions
        if not option.startswith("--"):
            return bool(_SHORT.match(option)) and option[:2] not in known
        return not any(it.startswith(option) for it in known)

    def _needs_no_value(self, option: str) -> bool:
        return self._option_string_actions[option].nargs == argparse.OPTIONAL

    def _choices(self, name: str) -> list[str]:
        """Return the values of the argument that argparse calls `name`; none if it takes any value."""
        for action in self._actions:
            if name in (action.metavar, action.dest, "/".join(action.option_strings)) and action.choices:
                return [str(choice) for choice in action.choices]
        return []


def positive(text: str) -> int:
    """Return the number in the text, for arguments that count something."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _hint(given: str, choices: Iterable[str]) -> str:
    known = list(choices)
    near = nearest(given, known) or same_action(given, known)
    return f"choose one of {', '.join(known)}" + (f"; did you mean {near}?" if near else "")


def _word(name: str) -> str:
    """Return the name of an argument in the help as a word of a sentence."""
    return name.lower() if name.isupper() else name
