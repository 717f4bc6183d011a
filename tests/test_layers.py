"""Who may import whom (docs/architecture.md). The table is the architecture; a failure says which arrow is new."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agent_ls"

LLM_TYPES = {"llm.messages", "llm.requests", "llm.stream", "llm.errors"}
ENV_TYPES = {"environments.base", "environments.errors", "environments.effects"}

# package or module -> what of agent_ls it may import (a name allows everything below it). Longest match counts.
ALLOWED: dict[str, set[str]] = {
    "_version": set(),
    "text": {"recent"},
    "recent": set(),
    "system": set(),
    "patch": {"patch", "recent", "text"},
    "notebook": {"notebook", "text"},
    "review": {"review", "patch", "recent", "text"},
    "llm": {"llm", "text", "_version"},
    "llm.providers": LLM_TYPES | {"llm.providers", "llm.sse", "text"},
    "environments": set(),
    "environments.base": {"recent"},
    "environments.errors": set(),
    "environments.effects": set(),
    "environments.language_host": set(),
    "environments.search": ENV_TYPES | {"text"},
    "environments.terminal_host": set(),
    "environments.walls": set(),
    "environments.opened": set(),
    "environments.local": ENV_TYPES
    | {"environments.local", "environments.opened", "environments.search", "environments.terminal_host",
       "environments.walls", "relay.frames", "system", "text"},
    "relay": {"relay"},
    "environments.memory": ENV_TYPES | {"environments.search", "text"},
    "environments.wrappers": ENV_TYPES | {"environments.opened", "environments.wrappers", "text"},
    "environments.notebooks": ENV_TYPES
    | {"environments.editor_host", "environments.wrappers", "notebook", "text"},
    "environments.editor_host": ENV_TYPES | {"notebook"},
    "environments.editor": ENV_TYPES
    | {"environments.editor_host", "environments.search", "environments.wrappers", "patch", "text"},
    "tools": ENV_TYPES
    | LLM_TYPES
    | {"tools", "notebook", "patch", "text", "environments.search", "environments.language_host"},
    "profiles": ENV_TYPES | LLM_TYPES | {"profiles", "tools", "text"},
    "loop": ENV_TYPES
    | LLM_TYPES
    | {"loop", "profiles", "tools", "text", "llm.client", "llm.adapter", "llm.retry", "environments.wrappers.scoped"},
    "policy": ENV_TYPES | {"policy"},
    "store": ENV_TYPES | LLM_TYPES | {"store", "loop", "review", "policy", "system", "text"},
    "app": {
        "app", "store", "loop", "policy", "profiles", "tools", "environments", "notebook", "review", "patch", "llm",
        "text", "system", "_version",
    },
    "server": {
        "server", "app", "store", "loop", "policy", "environments", "notebook", "review", "llm", "system", "text",
        "_version",
    },
    "headless": {"headless", "app", "loop", "llm", "policy", "environments", "patch", "system", "text", "_version"},
    "cli": {"cli", "server", "headless", "app", "store", "patch", "llm.credentials", "system", "_version"},
    "library": {"library", "app", "loop", "llm", "policy", "profiles", "tools", "environments", "_version"},
    "__init__": {"library", "app", "loop", "llm", "profiles", "tools", "environments", "_version"},
    "testing": ENV_TYPES | {"testing"},
    "__main__": {"cli"},
}  # fmt: skip

# Engines: values in, values out. Nothing here may touch the world.
NO_IO = ("text", "recent", "patch", "notebook", "review", "llm.providers", "llm.sse", "llm.retry",
         "loop.step", "loop.truncation",
         "loop.loop_detection", "loop.redaction", "loop.history", "loop.figures", "loop.log_lines", "loop.events",
         "loop.event_codec", "loop.items",
         "policy", "tools",
         "environments.memory", "environments.search", "llm.accumulate", "headless.transcript",
         "app.export", "store.forks")  # fmt: skip
BANNED_IN_NO_IO = {"asyncio", "httpx", "pygls", "lsprotocol", "subprocess", "socket", "time", "random", "os",
                   "pathlib", "io", "shutil", "tempfile", "threading"}  # fmt: skip
# A third-party library that only some places may import.
ONLY_IN = {
    "httpx": ("llm.transport", "app.web"),
    "pygls": ("server",),
    "lsprotocol": ("server",),
    "websockets": ("server.websocket",),
    "asyncio": ("server.server", "server.io", "system"),
    "subprocess": ("environments.local", "cli.demo"),
}
# An engine may use these although NO_IO bans them: pure parts of otherwise impure modules.
PURE_EXCEPTIONS = {("tools", "os"): {"os.path"}, ("policy", "os"): {"os.path"},
                   ("environments.memory", "time"): {"time"}}  # fmt: skip


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "sample_project" in path.parts:
            continue
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found.append((name, path))
    return found


def imports(path: Path) -> list[tuple[str, int]]:
    names: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return names


def below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def rule_for(name: str) -> str:
    return max((key for key in ALLOWED if below(name, key)), key=len, default="")


@pytest.mark.parametrize(("name", "path"), modules(), ids=[name for name, _ in modules()])
def test_imports_of_a_module_follow_the_table(name: str, path: Path) -> None:
    rule = rule_for(name)
    assert rule, f"{path}: the layer table has no row for {name}"
    wrong = []
    for imported, line in imports(path):
        top = imported.split(".")[0]
        if top == "agent_ls":
            target = imported.removeprefix("agent_ls").removeprefix(".")
            if target and not any(below(target, allowed) for allowed in ALLOWED[rule]):
                wrong.append(f"{path}:{line}: {rule} may not import {target}")
        for library, places in ONLY_IN.items():
            if below(imported, library) and not any(below(name, place) for place in places):
                wrong.append(f"{path}:{line}: only {', '.join(places)} may import {library}")
        for engine in NO_IO:
            pure = PURE_EXCEPTIONS.get((engine, top), set())
            if below(name, engine) and top in BANNED_IN_NO_IO and not any(below(imported, p) for p in pure):
                wrong += [f"{path}:{line}: {engine} is an engine and may not import {imported}"]
    assert not wrong, "\n".join(wrong)
