"""Built-in commands at the start of a message (`/tests`), each with a description for users and instructions
for the model.

Each command is a Markdown file in this folder with the command's name. The arguments that the user typed are
the first line of the prompt, so that the transcript shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from agent_ls.package_files import read_package_file

NAMES = ("explain", "fix", "tests", "review", "document", "commit-message", "remember")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A built-in command. `argument_hint` describes its arguments; `text` is sent to the model."""

    name: str
    description: str
    argument_hint: str
    text: str

    def prompt_text(self, arguments: str) -> str:
        """Return the prompt that the model gets for this command."""
        typed = f"/{self.name} {arguments.strip()}".rstrip()
        return f"{typed}\n\n{self.text}"


@cache
def slash_commands() -> tuple[SlashCommand, ...]:
    """Return all built-in commands, in the order of NAMES."""
    return tuple(_parse_page(name, read_package_file(__name__, f"{name}.md")) for name in NAMES)


def maybe_command(name: str) -> SlashCommand | None:
    """Return the built-in command with this name (without the slash), or None."""
    return next((command for command in slash_commands() if command.name == name), None)


def _parse_page(name: str, page: str) -> SlashCommand:
    """Parse a Markdown file whose front matter has the description and the argument hint."""
    _, head, text = page.split("---\n", 2)
    rows = dict(line.split(": ", 1) for line in head.splitlines())
    return SlashCommand(name, rows["description"], rows["argument-hint"], text.strip())
