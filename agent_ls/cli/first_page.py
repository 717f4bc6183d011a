"""Pure: the page that `agent-ls` prints alone, with the commands of the first day and all commands in groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent_ls.cli.other_words import OTHER_COMMANDS
from agent_ls.near_names import nearest

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Start": ("demo", "keys", "doctor", "nvim-path", "completions"),
    "Run": ("exec", "batch", "serve", "acp", "panel", "apply-patch"),
    "Sessions": ("sessions", "blame", "replay", "export"),
    "Trust and safety": ("trust", "policy"),
    "Extend": ("models", "tools", "skills", "hooks", "mcp"),
    "Look up": ("docs", "config", "protocol"),
}

FIRST_DAY = (
    ("agent-ls demo", "watch a complete session on a sample project; needs no key"),
    ("agent-ls keys set anthropic", "store the key of a provider (or set ANTHROPIC_API_KEY)"),
    ("agent-ls doctor", "check keys, programs and folders"),
    ('agent-ls exec "what does this do?"', "ask about this folder; nothing is changed"),
    ('agent-ls exec --trust --mode edits "…"', "let it edit the files of this folder"),
)


PROMPT_HINT = "to run a prompt, write `agent-ls exec` before it"


def first_page(commands: Mapping[str, str], *, is_short: bool) -> str:
    """Return the page. `commands` are all commands with their help; `is_short` leaves out the explanations."""
    width = max(len(command) for command, _ in FIRST_DAY)
    lines = [
        "agent-ls: a coding agent inside a language server, for your editor and for the command line.",
        "",
        "The first day:",
        *(f"  {command:{width}}  {meaning}" for command, meaning in FIRST_DAY),
        "",
    ]
    for title, names in GROUPS.items():
        if is_short:
            lines.append(f"{title + ':':18}{', '.join(names)}")
        else:
            lines += [f"{title}:", *(f"  {name:13}{commands[name]}" for name in names), ""]
    lines += [
        *([""] if is_short else []),
        "agent-ls COMMAND --help   the options of a command",
        "agent-ls docs PAGE        the documentation, for example `agent-ls docs installation` for your editor",
    ]
    return "\n".join(lines)


def unknown_command(name: str, commands: Iterable[str]) -> str:
    """Return the error for a command that does not exist: what is wrong, then what to do."""
    if meant := OTHER_COMMANDS.get(name):
        hint = f"did you mean `agent-ls {meant}`?"
    elif near := nearest(name, commands):
        hint = f"did you mean `agent-ls {near}`?"
    elif " " in name:
        hint = PROMPT_HINT
    else:
        hint = "`agent-ls` alone lists the commands"
    return f"agent-ls: there is no command {name!r}\n  {hint}"
