"""Check the imports between packages (docs/architecture.md): the table lists the permitted ones; a failure
names the new import.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agent_ls"

LLM_TYPES = {"llm.messages", "llm.requests", "llm.stream", "llm.errors"}
ENV_TYPES = {"environments.base", "environments.errors", "environments.effects"}

# package or module -> permitted imports of agent_ls (a name permits everything below it). The longest match
# counts.
ALLOWED: dict[str, set[str]] = {
    "_version": set(),
    "background": set(),
    "text": {"memo"},
    "memo": set(),
    "lean_imports": set(),
    "system": set(),
    "installation": {"program_lookup"},
    "program_lookup": set(),
    "patch": {"patch", "memo", "text"},
    "notebook": {"notebook", "text"},
    "review": {"review", "patch", "memo", "text"},
    "llm": {"llm", "text", "_version"},
    "llm.providers": LLM_TYPES | {"llm.providers", "llm.sse", "memo", "text"},
    "environments": set(),
    "environments.base": {"confinement", "memo"},
    "environments.errors": set(),
    "environments.effects": set(),
    "environments.language_host": set(),
    "environments.search": ENV_TYPES | {"text"},
    "environments.globs": ENV_TYPES | {"environments.search"},
    "environments.timed_search": ENV_TYPES | {"environments.search"},
    "environments.terminal_host": set(),
    "environments.sandbox": {"program_lookup", "confinement", "environments.base"},
    "environments.opened": set(),
    "environments.local": ENV_TYPES
    | {"program_lookup", "environments.local", "environments.opened", "environments.globs", "environments.search",
       "environments.terminal_host",
       "environments.timed_search", "environments.sandbox", "confinement", "relay.frames", "system", "text"},
    "environments.remote.place": set(),
    "environments.instruction_files": set(),
    "environments.remote": ENV_TYPES
    | {"program_lookup", "environments.remote", "environments.instruction_files", "environments.local",
       "environments.opened",
       "environments.globs", "environments.search", "environments.wrappers.forwarding", "text"},
    "confinement": {"confinement"},
    "relay": {"relay", "confinement"},
    "environments.basic": ENV_TYPES
    | {"environments.globs", "environments.search", "environments.timed_search", "text"},
    "environments.memory": ENV_TYPES
    | {"environments.globs", "environments.search", "environments.timed_search", "text"},
    "environments.wrappers": ENV_TYPES
    | {"environments.opened", "environments.sandbox", "environments.wrappers", "text"},
    "environments.notebooks": ENV_TYPES | {"environments.opened"}
    | {"environments.editor_host", "environments.wrappers", "notebook", "text"},
    "environments.editor_host": ENV_TYPES | {"notebook", "text"},
    "environments.editor": ENV_TYPES | {"environments.opened"}
    | {"environments.editor_host", "environments.globs", "environments.search", "environments.timed_search",
       "environments.wrappers", "patch",
       "text"},
    "tools": ENV_TYPES
    | LLM_TYPES
    | {"tools", "notebook", "patch", "text", "environments.globs", "environments.search", "environments.language_host"},
    "profiles": ENV_TYPES | LLM_TYPES | {"profiles", "tools", "text", "llm.catalog"},
    "loop": ENV_TYPES
    | LLM_TYPES
    | {"loop", "profiles", "tools", "text", "llm.client", "llm.adapter", "llm.retry", "environments.sandbox",
       "environments.wrappers.scoped"},
    "policy": ENV_TYPES | {"policy", "environments.globs", "environments.search"},
    "store": ENV_TYPES
    | LLM_TYPES
    | {"store", "environments.remote.place", "loop", "review", "policy", "system", "text"},
    "mcp": {"installation", "background", "mcp", "_version", "environments", "llm", "store", "system", "text", "tools"},
    "mcp.entry": {"mcp.entry"},
    "app": {"app"},
    "app.clock": {"app.clock"},
    "app.turn_reads": {"app.turn_reads"},
    "app.errors": {"app.errors"},
    "app.review": {
        "background", "app.review", "environments", "loop", "notebook", "patch", "review", "store", "system", "text",
        "tools",
    },
    "app.sample": {"app.sample"},
    "app.slash_commands": {"app.slash_commands"},
    "app.hooks": {
        "background", "app.clock", "app.hooks", "app.settings", "app.turn_reads", "environments", "loop", "policy",
        "program_lookup", "store", "tools.foreign_names",
    },
    "app.skills": {
        "app.permissions", "app.settings", "app.skills", "app.slash_commands", "app.tools", "environments", "profiles",
        "tools",
    },
    "app.tools": {"program_lookup", "app.tools", "environments", "llm", "loop", "profiles", "tools"},
    "app.changes": {
        "program_lookup", "app.changes", "app.review", "environments", "loop", "patch", "policy", "system", "text",
    },
    "app.worktrees": {"program_lookup", "app.errors", "app.worktrees", "environments.local", "patch", "store", "text"},
    "app.store_errors": {"app.errors", "app.store_errors", "store", "system"},
    "app.settings": {
        "app.errors", "app.settings", "app.store_errors", "environments", "llm", "loop", "mcp.entry", "store",
    },
    "app.models": {
        "app.errors", "app.models", "app.settings", "environments", "llm", "loop", "profiles", "system",
        "tools",
    },
    "app.permissions": {
        "program_lookup",
        "background",
        "app.errors", "app.permissions", "app.settings", "app.turn_reads", "environments", "loop", "policy", "store",
        "system",
    },
    "app.suggestions": {
        "app.errors", "app.git", "app.models", "app.permissions", "app.settings", "app.suggestions", "environments",
        "llm", "loop",
        "profiles", "system", "text",
    },
    "app.web": {
        "app.settings", "app.web", "_version", "environments", "llm", "loop", "profiles", "tools",
    },
    "app.git": {"app.errors", "app.git", "environments", "profiles"},
    "app.mentions": {
        "app.context", "app.errors", "app.git", "app.mentions", "app.permissions", "environments", "llm.messages",
        "loop", "profiles", "text", "tools",
    },
    "app.context": {
        "background",
        "app.changes", "app.context", "app.permissions", "app.turn_reads", "environments", "llm", "loop", "policy",
        "profiles",
        "system",
    },
    "app.diagnostics": {"program_lookup", "installation",
        "app.clock", "app.diagnostics", "app.hooks", "app.models", "app.permissions", "app.mcp_servers", "app.settings",
        "app.skills", "app.tools", "_version", "environments", "llm", "loop", "mcp", "store", "tools.foreign_names",
    },
    "app.recording": {
        "app.context", "app.permissions", "app.recording", "app.settings", "environments", "llm", "loop",
        "policy", "store", "tools",
    },
    "app.mcp_servers": {"installation",
        "background",
        "app.errors", "app.models", "app.permissions", "app.mcp_servers", "app.settings", "app.turn_reads", "app.web",
        "environments",
        "loop", "mcp", "policy.places", "profiles",
    },
    "app.sessions": {
        "program_lookup",
        "background",
        "app.changes", "app.clock", "app.context", "app.diagnostics", "app.errors", "app.hooks", "app.mentions",
        "app.models", "app.permissions", "app.recording", "app.review", "app.mcp_servers",
        "app.sessions", "app.settings", "app.skills", "app.slash_commands", "app.store_errors", "app.tools",
        "app.turn_reads", "app.web",
        "app.worktrees",
        "environments", "llm", "loop", "patch", "policy",
        "profiles", "review", "store", "system", "text", "tools",
    },
    "server": {"server"},
    "server.chat.chat_text": {"server.chat.chat_text", "environments", "text"},
    "server.lsp": {"server.lsp", "_version", "environments", "text"},
    "server.protocol": {"server.protocol"},
    "server.start_time": {"server.start_time"},
    "server.transport": {"server.lsp", "server.transport", "environments", "system"},
    "server.editor": {
        "background", "server.chat.chat_text", "server.editor", "server.lsp", "server.protocol", "server.transport",
        "environments", "loop", "notebook", "review", "system", "text",
    },
    "server.rpc": {
        "background", "server.editor", "server.lsp", "server.protocol", "server.rpc", "server.transport", "app.context",
        "app.errors", "app.permissions", "app.sessions", "app.slash_commands", "llm", "loop", "policy", "store",
        "system",
    },
    "server.session_manager": {
        "server.editor", "server.session_manager", "app.diagnostics", "app.models",
        "app.sessions", "app.settings",
    },
    "server.features": {
        "background", "server.editor", "server.features", "server.lsp", "server.protocol", "server.rpc",
        "server.transport", "llm.messages", "app.context", "app.errors", "app.mentions", "app.permissions",
        "app.review", "app.mcp_servers", "app.sessions", "app.skills", "app.slash_commands", "app.suggestions",
        "environments", "loop", "notebook", "system", "text",
    },
    "server.channel.paths": {"server.channel.paths", "app.settings", "store.locks", "system"},
    "server.channel": {
        "background",
        "server.channel", "server.editor", "server.lsp", "server.protocol", "server.rpc", "server.transport", "loop",
        "store.locks",
    },
    "server.chat": {
        "background", "server.chat", "server.editor", "server.features", "server.lsp", "server.protocol", "server.rpc",
        "server.start_time", "server.transport", "app.errors", "app.review", "app.sessions", "app.worktrees",
        "environments", "loop", "store", "system", "text",
    },
    "server.server": {
        "server.editor", "server.features", "server.server", "server.transport", "_version", "system",
    },
    "server.assembly": {
        "background",
        "server.assembly", "server.channel", "server.chat", "server.editor", "server.features", "server.lsp",
        "server.rpc", "server.server", "server.transport", "app.sessions", "app.settings", "loop", "notebook",
    },
    "server.backend": {
        "background", "server.assembly", "server.backend", "server.features.routes", "server.rpc", "server.server",
        "server.transport",
        "server.session_manager",
    },
    "server.schema": {
        "server.features.routes", "server.protocol", "server.rpc", "server.schema", "server.transport",
        "environments", "loop",
    },
    "server.start": {
        "server.backend", "server.lsp", "server.server", "server.start", "server.start_time",
        "server.transport", "app.models", "lean_imports", "system",
    },
    "replay": {
        "replay", "app.errors", "app.permissions", "app.recording", "app.sessions", "app.settings",
        "environments", "llm", "loop", "tools",
    },
    "acp": {
        "acp", "_version", "app", "environments", "lean_imports", "llm", "loop", "patch", "policy", "review",
        "store", "system", "text", "tools.look",
    },
    "acp.start": {"acp", "_version", "app.models", "lean_imports", "llm.credentials", "system"},
    "panel": {
        "panel", "app.settings", "environments.local.processes.ending", "server.channel.paths", "server.transport",
        "store.layout", "store.locks",
    },
    "headless": {
        "program_lookup", "headless", "app", "loop", "llm", "mcp.names", "policy", "environments", "patch", "system",
        "text", "_version",
    },
    "batch": {"installation",
        "batch", "policy.modes", "policy.situation",
        "_version", "app", "environments", "llm.middleware", "llm.requests", "llm.stream", "store.locks",
        "system", "text",
    },
    "cli": {"program_lookup", "installation",
        "cli", "acp", "panel", "server", "headless", "batch", "environments.remote.place", "lean_imports",
        "environments.local.environ", "replay", "app", "mcp", "store",
        "patch", "policy.modes", "policy.situation", "llm.credentials", "system", "_version",
    },
    "library": {"library", "app", "loop", "llm", "policy", "profiles", "tools", "environments", "_version"},
    "__init__": {"library", "app", "loop", "llm", "profiles", "tools", "environments", "_version"},
    "testing": ENV_TYPES | {"testing"},
    "__main__": {"cli"},
}  # fmt: skip

# Engines: values in, values out; no access to files, network, clock or processes.
NO_IO = ("text", "memo", "patch", "notebook", "review", "llm.providers", "llm.sse", "llm.retry",
         "loop.step", "loop.calls.truncation",
         "loop.calls.loop_detection", "loop.calls.redaction", "loop.context.history", "loop.events.figures",
         "loop.events.log_lines", "loop.events.types", "loop.events.codec", "loop.events.items",
         "policy", "tools",
         "environments.memory", "environments.search", "llm.accumulate", "headless.transcript",
         "app.sessions.export.markdown", "app.sessions.export.html_page", "app.sessions.export.clean_items",
         "store.forks")  # fmt: skip
BANNED_IN_NO_IO = {"asyncio", "httpx", "pygls", "lsprotocol", "subprocess", "socket", "time", "random", "os",
                   "pathlib", "io", "shutil", "tempfile", "threading"}  # fmt: skip
# Third-party libraries that only some modules may import.
ONLY_IN = {
    "httpx": ("llm.http.proxied", "app.web"),
    "h11": ("llm.http.connection", "llm.http.direct"),
    "pygls": ("server",),
    "lsprotocol": ("server", "lean_imports"),
    "websockets": ("server.transport.websocket", "panel.serve"),
    "jsonschema": ("llm.schema_check",),
    "asyncio": ("server.server", "server.transport.io", "system", "llm.http", "library.owner"),
    "mcp": ("mcp",),
    "mcp_types": ("mcp",),
    "httpx2": ("mcp",),
    "subprocess": ("environments.local", "environments.remote.connection", "cli.demo", "cli.tools", "batch"),
}
# Exceptions to NO_IO for engines: pure parts of otherwise impure modules.
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
def test_a_module_imports_only_what_the_layer_table_permits(name: str, path: Path) -> None:
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


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports of types and imports inside functions count too: each module can be read after those it names."""
    known = dict(modules())
    graph = {
        name: {_module_of(imported, known) for imported, _ in imports(path)} - {name, ""}
        for name, path in known.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(
            "open the circle: move what both need to a module of its own: " + " -> ".join(error.args[1])
        )


def _module_of(imported: str, known: Collection[str]) -> str:
    """Return the module of agent_ls that an import names; "" for other packages."""
    package, _, name = imported.partition(".")
    while package == "agent_ls" and name and name not in known:
        name = name.rpartition(".")[0]
    return name if package == "agent_ls" else ""
