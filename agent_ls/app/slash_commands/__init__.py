"""The commands that a user may begin a message with (`/tests`): a description for people, and words for the model.

Each is a Markdown file of this folder; its name is the command's. What the user writes behind the name stands in the
first line that the model reads, so that a transcript shows what was typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NAMES = ("explain", "fix", "tests", "review", "document", "commit-message")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """`argument_hint` says what may follow the name; `text` is told to the model."""

    name: str
    description: str
    argument_hint: str
    text: str

    def told(self, arguments: str) -> str:
        """What the model reads when the user sends it."""
        typed = f"/{self.name} {arguments.strip()}".rstrip()
        return f"{typed}\n\n{self.text}"


@cache
def slash_commands() -> tuple[SlashCommand, ...]:
    folder = files("agent_ls.app.slash_commands")
    return tuple(_parsed(name, (folder / f"{name}.md").read_text(encoding="utf-8")) for name in NAMES)


def maybe_command(name: str) -> SlashCommand | None:
    return next((command for command in slash_commands() if command.name == name), None)


def _parsed(name: str, page: str) -> SlashCommand:
    """A page begins with rows `key: value` between two lines of three dashes."""
    _, head, text = page.split("---\n", 2)
    rows = dict(line.split(": ", 1) for line in head.splitlines())
    return SlashCommand(name, rows["description"], rows["argument-hint"], text.strip())
