"""Every reader of files that other people write reads an odd file or says what is wrong, and never raises or waits."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.features.hooks.config import load_hooks
from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.features.skills.loader import load_user_commands
from agent_ls.features.tools.yaml_tools import read_tool_file
from agent_ls.mcp.sources import find_servers
from agent_ls.profiles.project_docs import find_project_documents
from agent_ls.services.settings.model import HookSettings, SkillSettings

pytestmark = [pytest.mark.req("T12"), pytest.mark.req("T15")]

HEADER = "---\nname: x\ndescription: d\n---\nText.\n"
DEEP = 100_000
ODD: dict[str, bytes] = {
    "empty": b"",
    "mark": b"\xef\xbb\xbf",
    "utf-16": HEADER.encode("utf-16"),
    "windows": HEADER.replace("\n", "\r\n").encode(),
    "latin-1": "---\nname: x\ndescription: é\n---\nÀ".encode("latin-1"),
    "nul": b"---\nname: \0\ndescription: d\n---\n\0",
    "large": b"x" * 50_000_000,
    "brackets": b"[" * DEEP,
    "braces": b'{"hooks": ' * DEEP,
    "nested": b"---\nname: x\ndescription: " + b"[" * DEEP + b"\n---\nA",
    "indented": b"---\nname: x\ndescription:\n"
    + b"".join(b" " * i + b"a:\n" for i in range(1, 300))
    + b"---\nA",
    "aliases": b"---\nname: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\ndescription: *c\n---\nA",
    "repeated": b"---\nname: x\nname: y\ndescription: d\ndescription: e\n---\nA",
    "repeated keys": b'{"hooks": {}, "hooks": {"Stop": []}, "mcpServers": {}, "mcpServers": {}}',
    "tabs": b"---\nname:\tx\n\tdescription: d\nmetadata:\n\t\ta: b\n---\nA",
    "open": b"---\nname: x\ndescription: d\n",
    "rules": b"---\n---\n---\n",
    "number": b"42",
    "text": b'"x"',
    "null": b"null",
    "list": b"[1, null, {}]",
    "surrogate": b'{"mcpServers": {"\\ud800": {"command": "\\ud800"}}, "hooks": {"\\ud800": []}}',
    "numbers": b'{"mcpServers": {"a": {"command": 1e999, "args": NaN}}, "hooks": {"Stop": [{"timeout": 1e999}]}}',
}
VALUES: Sequence[Any] = (None, True, 0, -1, 1.5, "", "x", [], [None], [[]], {}, {"a": {"b": []}})
KEYS_OF_HEADERS = (
    "name", "description", "tools", "disallowedTools", "permission", "model", "permissionMode", "maxTurns",
    "allowed-tools", "argument-hint", "user-invocable", "disable-model-invocation", "globs", "paths", "applyTo",
    "alwaysApply", "trigger", "inclusion", "fileMatchPattern", "prompt", "metadata",
)  # fmt: skip
KEYS_OF_HOOKS = ("matcher", "hooks", "command", "type", "timeout", "timeoutMs", "args", "bash", "event")
KEYS_OF_SERVERS = (
    "command", "args", "env", "cwd", "url", "headers", "type", "transport", "tools", "disabled", "timeout", "trust",
    "sandbox", "oauth", "enabledTools", "tool_timeout_sec", "env_http_headers", "bearer_token_env_var", "envFile",
)  # fmt: skip


def wrong_headers() -> Iterator[tuple[str, bytes]]:
    for value in VALUES:
        for key in KEYS_OF_HEADERS:
            rows = {"name": "x", "description": "d", key: value}
            header = "\n".join(f"{name}: {json.dumps(it)}" for name, it in rows.items())
            yield f"{key}: {value!r}", f"---\n{header}\n---\nText.".encode()


def wrong_settings() -> Iterator[tuple[str, bytes]]:
    hook, servers = (
        {"type": "command", "command": "true"},
        ({"command": "x"}, {"url": "https://a.example/mcp"}),
    )
    for value in VALUES:
        entries: list[Any] = [{"hooks": {"PreToolUse": value}}, {"hooks": value, "mcpServers": value}]
        for key in KEYS_OF_HOOKS:
            entries.append({"hooks": {"PreToolUse": [{"hooks": [{**hook, key: value}]}]}})
            entries.append({"hooks": {"PreToolUse": [{"hooks": [hook], key: value}]}})
        for key in KEYS_OF_SERVERS:
            entries += [{"mcpServers": {"s": {**server, key: value}}} for server in servers]
        entries.append({"mcpServers": {"s": value}})
        for entry in entries:
            yield repr(entry), json.dumps(entry).encode()


async def _documents(project: Path) -> None:
    await find_project_documents(LocalEnvironment(str(project)), ("CLAUDE.md", "GEMINI.md"))


def read_texts(home: Path, project: Path) -> list[str]:
    """Read everything in Markdown and TOML, and return the problems."""
    state = str(home / "state")
    anyio.run(_documents, project)
    commands = load_user_commands(SkillSettings(), state, str(project))
    kinds = load_agent_kinds(SkillSettings(), state, str(project))
    return [*commands.problems, *kinds.problems]


def read_settings(home: Path, project: Path) -> list[str]:
    """Read everything in JSON and YAML, and return the problems."""
    hooks = load_hooks(HookSettings.model_validate({"foreign": True}), str(home / "state"), str(project))
    servers = find_servers(None, project)
    path = project / "tools.yaml"
    tools = [it for it in read_tool_file(path) if isinstance(it, str)] if os.path.exists(path) else []
    return [*hooks.problems, *servers.problems, *tools]


def read_all(home: Path, project: Path) -> list[str]:
    return read_texts(home, project) + read_settings(home, project)


TEXTS = (
    "AGENTS.md", "CLAUDE.md", ".cursor/rules/a.mdc", ".claude/rules/a.md", ".clinerules/a.md",
    ".github/copilot-instructions.md", ".claude/skills/x/SKILL.md", ".claude/commands/x.md",
    ".gemini/commands/x.toml", ".github/prompts/x.prompt.md", ".claude/agents/x.md",
)  # fmt: skip
SETTINGS = (
    ".agent-ls/hooks.json", ".claude/settings.json", ".cursor/hooks.json", ".github/hooks/x.json", ".mcp.json",
    ".vscode/mcp.json",
)  # fmt: skip
FILES = (*TEXTS, *SETTINGS)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    home, project = tmp_path / "someone", tmp_path / "project"
    monkeypatch.setenv("HOME", str(home))
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    for name in FILES:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
    return home, project


def in_time(act: Callable[[], list[str]]) -> list[str]:
    """Return the result of `act`, which must end within 60 seconds."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append(act())
        except BaseException as error:
            done.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert done, "a reader waits for ever"
    if isinstance(done[0], BaseException):
        raise done[0]
    return list(done[0])


@pytest.mark.parametrize("name", ODD)
def test_odd_contents_are_read_or_reported(places: tuple[Path, Path], name: str) -> None:
    home, project = places
    for file in (*FILES, "tools.yaml"):
        (project / file).write_bytes(ODD[name])
    said = in_time(lambda: read_all(home, project))
    assert all(len(line) < 2_000 for line in said)


def make_link_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_secret(path: Path) -> None:
    path.write_text(HEADER)
    path.chmod(0)


PLACES: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "broken link": lambda path: path.symlink_to("nowhere"),
    "loop": make_link_loop,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "secret": make_secret,
}


@pytest.mark.parametrize("kind", PLACES)
def test_things_that_are_no_files_are_left_out_or_reported(places: tuple[Path, Path], kind: str) -> None:
    home, project = places
    for file in FILES:
        PLACES[kind](project / file)
    try:
        in_time(lambda: read_all(home, project))
    finally:
        for file in FILES:
            with suppress(OSError):
                (project / file).chmod(0o600)


CASES = {"headers": (wrong_headers, TEXTS, read_texts), "settings": (wrong_settings, SETTINGS, read_settings)}


@pytest.mark.group("sweeps")
@pytest.mark.parametrize("kind", CASES)
def test_a_value_of_any_type_for_any_key_is_read_or_reported(places: tuple[Path, Path], kind: str) -> None:
    home, project = places
    contents, files, read = CASES[kind]
    for what, data in contents():
        for file in files:
            (project / file).write_bytes(data)
        try:
            read(home, project)
        except Exception as error:
            raise AssertionError(what) from error
