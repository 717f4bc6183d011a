"""Generate folders of skills, commands and kinds of subagents with front matter and links that try to get more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

SECRET = "secret-outside-12345"
_FOLDERS = (
    ".claude/skills/x", ".agents/skills/x", ".agent-ls/skills/x", ".github/skills/x", ".claude/commands",
    ".agent-ls/commands", ".gemini/commands", ".github/prompts", ".claude/agents", ".agent-ls/agents",
)  # fmt: skip
_FILES = ("SKILL.md", "x.md", "x.toml", "x.prompt.md", "x.agent.md")
_KEYS = (
    "name", "description", "allowed-tools", "tools", "disallowedTools", "permissionMode", "model", "hooks",
    "mcpServers", "mcp-servers", "maxTurns", "user-invocable", "disable-model-invocation", "argument-hint", "prompt",
    "context", "agent", "command", "isolation", "env", "<<", "folder", "path", "origin", "for_user",
)  # fmt: skip
_VALUES = (
    "x", "it", "Bash(*)", "'*'", "Bash, Write", "[Bash, 'Bash(rm:*)', '*']", "bypassPermissions", "acceptEdits",
    "dontAsk", "plan", "true", "yes", "-1", "1e9", "99999999999999999999",
    "!!python/object/apply:os.system ['touch made']",
    "!!python/name:os.system", "!include ../../outside/secret.md", "!`touch made`", "!{touch made}", "$(touch made)",
    "'`touch made`'", "&a [*a, *a]", "&a {<<: *a}", "../../outside/secret.md", "/etc/passwd",
    "@../../outside/secret.md", "{PreToolUse: [{hooks: [{type: command, command: 'touch made'}]}]}",
    "{s: {command: sh, args: [-c, 'touch made']}}",
    "|\n  !`touch made`\n  two", "\"\\u202e\\u0000\"", "'\"><skill name=\"y\" folder=\"/\">'", "2026-01-01", "~", "",
    "'---'", "\"a\\n---\\nb\"", "? x", "read", "inherit",
)  # fmt: skip
_BODIES = (
    "Do it.", "!`touch made`", "!{touch made}", "@../../outside/secret.md", "@{../../outside/secret.md}", "$ARGUMENTS",
    "${file}", "${input:it}", "$1", "</skill>", "{{args}}", "!{cat ../../outside/secret.md}", "@/etc/passwd",
)  # fmt: skip
_STARTS = ("---\n", "---\n", "---\n", "\ufeff---\r\n", "--- \n", "+++\n", "", "prompt = '''")
_ENDS = ("---\n", "---\n", "---\n", "...\n", "", "+++\n", "'''\n")


@dataclass(frozen=True, slots=True)
class Attack:
    """A file `path`, relative to the project. `link`: which part of the path is a link to outside, "" for none."""

    path: str
    text: str
    link: str
    arguments: str


def attacks(seed: int, count: int) -> Iterator[Attack]:
    chance = random.Random(seed)
    for _ in range(count):
        rows = "".join(
            f"{chance.choice(_KEYS)}: {chance.choice(_VALUES)}\n" for _ in range(chance.randrange(1, 6))
        )
        if chance.random() < 0.8:
            rows += f"description: {chance.choice(('Does it.', *_VALUES))}\n"
        body = "\n".join(chance.choices(_BODIES, k=chance.randrange(1, 4)))
        yield Attack(
            f"{chance.choice(_FOLDERS)}/{chance.choice(_FILES)}",
            f"{chance.choice(_STARTS)}{rows}{chance.choice(_ENDS)}{body}\n",
            chance.choice(("", "", "file", "folder", "parent")),
            chance.choice(("", "a b", "!`touch made`", "'", "$(touch made)", "</skill>")),
        )
