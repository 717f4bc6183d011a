"""Check the imports between packages (docs/architecture.md): the table lists the permitted ones; a failure
names the new import.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.docs.pages import nodes

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agent_ls"

LLM_TYPES = {"llm.messages", "llm.requests", "llm.stream", "llm.errors"}
ENV_TYPES = {"argument_types", "paths", "environments.base", "environments.errors", "environments.effects"}

EVERYWHERE = {"long_texts", "near_names", "patterns"}

# package or module -> permitted imports of agent_ls (a name permits everything below it). The longest match
# counts.
ALLOWED: dict[str, set[str]] = {
    "_version": set(),
    "argument_types": {"method_forms", "text"},
    "method_forms": set(),
    "addresses": set(),
    "background": set(),
    "own_code": {"text"},
    "program_calls": {"own_code"},
    "temporary_folders": set(),
    "text": {"legacy_encodings", "memo"},
    "legacy_encodings": set(),
    "memo": set(),
    "near_names": set(),
    "long_texts": set(),
    "patterns": set(),
    "package_files": set(),
    "paths": set(),
    "jsonc": set(),
    "yaml_depth": set(),
    "front_matter": {"yaml_depth"},
    "lean_dataclasses": set(),
    "lean_imports": {"lean_dataclasses"},
    "system": set(),
    "installation": {"addresses", "program_lookup"},
    "program_lookup": {"paths"},
    "patch": {"patch", "memo", "text"},
    "notebook": {"notebook", "text"},
    "review": {"review", "patch", "memo", "text"},
    "llm": {"addresses", "argument_types", "llm", "own_code", "package_files", "program_calls", "text", "_version"},
    "llm.providers": LLM_TYPES | {
        "addresses", "llm.accumulate", "llm.image_data", "llm.providers", "llm.sse", "memo", "package_files", "text",
    },
    "environments": set(),
    "environments.base": {"confinement", "memo"},
    "environments.errors": {"text"},
    "environments.read_once": set(),
    "environments.effects": set(),
    "environments.language_host": set(),
    "environments.ignore_rules": set(),
    "environments.search": ENV_TYPES | {"environments.ignore_rules", "text"},
    "environments.globs": ENV_TYPES | {"environments.search"},
    "environments.worker": set(),
    "environments.timed_search": ENV_TYPES | {"environments.search", "environments.worker"},
    "environments.terminal_host": set(),
    "environments.sandbox": {"paths", "program_lookup", "confinement", "environments.base"},
    "environments.opened": set(),
    "environments.local": ENV_TYPES
    | {"program_lookup", "environments.local", "environments.opened", "environments.globs", "environments.search",
       "environments.instruction_files", "environments.instruction_names", "environments.terminal_host",
       "environments.timed_search", "environments.sandbox", "confinement", "relay.frames", "system", "text"},
    "environments.remote.place": set(),
    "environments.instruction_files": {"paths"},
    "environments.instruction_names": set(),
    "environments.remote": ENV_TYPES
    | {"program_lookup", "environments.remote", "environments.instruction_files", "environments.local",
       "environments.opened",
       "environments.globs", "environments.search", "environments.wrappers.forwarding", "text"},
    "confinement": {"confinement"},
    "relay": {"relay", "confinement"},
    "environments.no_processes": ENV_TYPES,
    "environments.tree": ENV_TYPES
    | {"environments.no_processes", "environments.globs", "environments.read_once", "environments.search",
       "environments.timed_search", "text"},
    "environments.basic": ENV_TYPES | {"environments.search", "environments.tree", "own_code"},
    "environments.memory": ENV_TYPES | {"environments.tree"},
    "environments.wrappers.own": ENV_TYPES
    | {"environments.local.processes.output", "environments.wrappers", "own_code", "text"},
    "environments.wrappers": ENV_TYPES
    | {"environments.opened", "environments.sandbox", "environments.wrappers", "own_code", "text"},
    "environments.notebooks": ENV_TYPES | {"environments.opened"}
    | {"environments.editor_host", "environments.wrappers", "notebook", "text"},
    "environments.editor_host": ENV_TYPES | {"notebook", "text"},
    "environments.editor": ENV_TYPES | {"environments.opened"}
    | {"environments.editor_host", "environments.globs", "environments.search", "environments.timed_search",
       "environments.wrappers", "patch",
       "text"},
    "tools": ENV_TYPES
    | LLM_TYPES
    | {"addresses", "tools", "notebook", "package_files", "patch", "text", "environments.globs", "environments.search",
       "environments.language_host", "environments.wrappers.scoped"},
    "profiles": ENV_TYPES
    | LLM_TYPES
    | {"environments.globs", "front_matter", "jsonc", "package_files", "profiles", "tools", "text", "llm.catalog"},
    "loop": ENV_TYPES
    | LLM_TYPES
    | {"loop", "own_code", "profiles", "tools", "text", "llm.argument_forms", "llm.client", "llm.adapter", "llm.retry",
       "environments.read_once", "environments.sandbox", "environments.wrappers.scoped"},
    # What a session shows, in words: below all front ends.
    "display": {"display", "loop", "text"},
    "policy": ENV_TYPES | {"addresses", "package_files", "policy", "environments.globs", "environments.search"},
    "store": ENV_TYPES
    | LLM_TYPES
    | {"store", "environments.remote.place", "loop", "review", "policy", "system", "text"},
    "mcp": {"addresses",
        "_version", "background", "environments", "installation", "jsonc", "llm", "mcp", "near_names", "store",
        "system", "text", "tools", "yaml_depth",
    },
    "mcp.entry": {"mcp.entry"},
    "services.clock": {"services.clock"},
    "services.turn_reads": {"services.turn_reads", "system"},
    "services.errors": {"services.errors"},
    "services.review": {
        "background", "environments", "loop", "notebook", "patch", "review", "services.review", "store",
        "system", "text", "tools",
    },
    # The decisions of the review are pure: no session, clock, task or editor.
    "services.review.advance": {
        "review", "services.review.advance_proposals", "services.review.effects", "services.review.notebooks",
        "services.review.reports", "services.review.reviewed_file",
    },
    "services.review.advance_proposals": {
        "review", "services.review.change_events", "services.review.effects", "services.review.proposal_notes",
        "services.review.reviewed_file",
    },
    "features.slash_commands": {"features.slash_commands", "package_files"},
    "features.base": {"environments", "features.base", "loop", "profiles", "tools"},
    "features.hooks": {
        "background", "environments", "features.base", "features.hooks", "jsonc", "loop", "policy",
        "program_lookup", "services.clock", "services.permissions", "services.settings", "services.turn_reads",
        "store", "tools.foreign_names",
    },
    "features.skills": {
        "front_matter", "yaml_depth", "paths",
        "environments", "features.packs", "features.skills", "features.slash_commands", "features.tools",
        "profiles", "services.permissions", "services.settings", "tools", "features.base", "llm.requests",
    },
    "features.packs": {
        "environments", "features.packs", "features.tools", "llm", "loop", "profiles", "program_lookup",
        "tools", "features.base",
    },
    "features.memory": {
        "environments", "features.memory", "features.slash_commands", "loop", "profiles", "text",
        "tools.remember", "features.base",
    },
    "features.review_tool": {
        "environments", "features.review_tool", "features.slash_commands", "loop", "profiles",
        "tools.report_finding", "features.base",
    },
    "services": set(),
    "features": set(),
    "services.logs": {
        "environments", "llm", "loop", "services.clock", "services.logs", "services.settings", "store",
    },
    "features.tools": {
        "front_matter", "yaml_depth",
        "environments", "features.packs", "features.tools", "llm", "loop", "profiles", "program_lookup",
        "tools", "features.base",
    },
    "services.changes": {
        "environments", "loop", "patch", "policy", "program_lookup", "services.changes", "services.review",
        "system", "text",
    },
    "features.worktrees": {
        "environments.local", "features.git.reason", "features.worktrees", "patch", "program_lookup",
        "services.errors", "store", "text",
    },
    "services.store_errors": {"services.errors", "services.store_errors", "store", "system"},
    "services.settings": {
        "environments", "llm", "loop", "mcp.entry", "services.errors", "services.settings",
        "services.store_errors", "store", "system",
    },
    "services.models": {
        "environments", "llm", "loop", "profiles", "services.errors", "services.models", "services.settings",
        "services.turn_reads",
        "system", "tools",
    },
    "services.permissions": {
        "background", "environments", "jsonc", "loop", "paths", "policy", "program_lookup", "services.clock",
        "services.errors", "temporary_folders",
        "services.permissions", "services.settings", "services.turn_reads", "store", "system",
    },
    "features.suggestions": {
        "environments", "features.git", "features.suggestions", "llm", "loop", "profiles", "services.errors",
        "services.models", "services.permissions", "services.settings", "system", "text",
    },
    "features.web": {"addresses",
        "_version", "environments", "features.web", "llm", "loop", "profiles", "services.settings", "tools",
    },
    "features.git": {"services.errors", "features.git", "environments", "profiles"},
    "features.mentions": {
        "environments", "features.git", "features.mentions", "llm.messages", "loop", "profiles",
        "services.context", "services.errors", "services.permissions", "text", "tools", "features.base",
    },
    "services.context": {
        "background", "environments", "llm", "loop", "paths", "policy", "profiles", "services.changes",
        "services.context", "services.permissions", "services.turn_reads", "system",
    },
    "doctor": {
        "_version", "doctor", "environments", "features.hooks", "features.mcp", "features.packs",
        "features.skills", "features.tools", "installation", "jsonc", "llm", "loop", "mcp", "program_lookup",
        "services.clock", "services.logs", "services.models", "services.permissions", "services.settings",
        "store", "tools.foreign_names",
    },
    "features.recording": {
        "environments", "features.recording", "llm", "loop", "policy", "services.context",
        "services.permissions", "services.settings", "store", "tools",
    },
    "features.mcp": {
        "background", "environments", "features.mcp", "features.web", "installation", "loop", "mcp",
        "policy.places", "profiles", "services.errors", "services.models", "services.permissions",
        "services.settings", "services.turn_reads", "features.base", "text",
    },
    "sessions": {
        "background", "display", "environments", "features.hooks", "features.mcp", "features.memory",
        "features.mentions", "features.packs", "features.recording", "features.review_tool",
        "features.skills", "features.slash_commands", "features.tools", "features.web", "features.worktrees",
        "llm", "loop", "patch", "paths", "policy", "profiles", "program_lookup", "review", "services.changes",
        "services.clock", "services.context", "services.errors", "services.logs", "services.models",
        "services.permissions", "services.review", "services.settings", "services.store_errors",
        "services.turn_reads", "sessions", "store", "system", "text", "tools", "features.base",
    },
    "server": {"server"},
    "server.chat.chat_text": {"server.chat.chat_text", "environments", "text"},
    "server.lsp": {"addresses", "server.lsp", "_version", "environments", "text"},
    "server.protocol": {"server.protocol"},
    "server.start_time": {"server.start_time"},
    "server.transport": {"addresses", "server.lsp", "server.transport", "environments", "system"},
    "server.editor": {
        "background", "environments", "loop", "notebook", "review", "server.chat.chat_text", "server.editor",
        "server.lsp", "server.protocol", "server.transport", "system", "text",
    },
    "server.rpc": {
        "background", "features.slash_commands", "llm", "loop", "policy", "server.editor", "server.lsp",
        "server.protocol", "server.rpc", "server.transport", "services.context", "services.errors",
        "services.permissions", "sessions", "store", "system", "text",
    },
    "server.create_manager": {
        "server.editor", "server.create_manager", "services.logs", "services.models", "services.settings",
        "sessions",
    },
    "server.features": {"addresses",
        "background", "display", "environments", "features.mcp", "features.memory", "features.mentions",
        "features.skills", "features.slash_commands", "features.suggestions", "llm.messages", "loop",
        "notebook", "server.editor", "server.features", "server.lsp", "server.protocol", "server.rpc",
        "server.transport", "services.context", "services.errors", "services.permissions", "services.review",
        "services.store_errors", "sessions", "system", "text",
    },
    "server.channel.paths": {"server.channel.paths", "services.settings", "store.locks", "system"},
    "server.channel": {
        "background", "loop", "server.channel", "server.editor", "server.lsp", "server.protocol",
        "server.rpc", "server.transport", "store.locks",
    },
    "server.chat": {
        "background", "display", "environments", "features.mcp", "features.worktrees", "loop", "server.chat",
        "server.editor",
        "server.features", "server.lsp", "server.protocol", "server.rpc", "server.start_time",
        "server.transport", "services.errors", "services.review", "sessions", "store", "system", "text",
    },
    "server.server": {
        "_version", "server.editor", "server.features", "server.server", "server.transport", "system",
    },
    "server.assembly": {
        "background", "loop", "notebook", "server.assembly", "server.channel", "server.chat", "server.editor",
        "server.features", "server.lsp", "server.rpc", "server.server", "server.transport",
        "services.settings", "sessions",
    },
    "server.backend": {
        "background", "server.assembly", "server.backend", "server.features.routes", "server.rpc",
        "server.server", "server.create_manager", "server.transport",
    },
    "server.schema": {
        "environments", "loop", "server.features.routes", "server.protocol", "server.rpc", "server.schema",
        "server.transport",
    },
    "server.start": {
        "lean_imports", "server.backend", "server.lsp", "server.server", "server.start", "server.start_time",
        "server.transport", "services.models", "system",
    },
    "replay": {
        "environments", "features.recording", "llm", "loop", "replay", "services.errors",
        "services.permissions", "services.settings", "sessions", "tools",
    },
    "acp": {
        "_version", "acp", "addresses", "display", "environments", "features", "lean_imports", "llm", "loop", "patch",
        "paths", "policy", "review", "services", "sessions", "store", "system", "text", "tools.look",
    },
    "acp.start": {"acp", "_version", "services.models", "lean_imports", "llm.credentials", "system"},
    "panel": {"addresses",
        "environments.local.processes.ending", "panel", "server.channel.paths", "server.transport",
        "services.settings", "store.layout", "store.locks",
    },
    "headless": {
        "_version", "display", "environments", "features", "headless", "llm", "loop", "mcp.names", "patch", "paths",
        "policy", "program_lookup", "services", "sessions", "system", "text",
    },
    "batch": {
        "_version", "batch", "environments", "features", "installation", "llm.middleware", "llm.requests",
        "llm.stream", "policy.modes", "policy.situation", "services", "sessions", "store.locks", "system",
        "text",
    },
    "cli": {"addresses", "display.words",
        "text",
        "_version", "acp", "batch", "cli", "doctor", "environments.local.environ",
        "environments.local.ripgrep", "environments.local.trees.session_trees", "environments.remote.place",
        "features", "headless", "installation",
        "lean_dataclasses", "lean_imports",
        "llm.credentials", "mcp", "panel", "patch", "policy.modes", "policy.situation", "program_lookup",
        "replay", "server", "services", "sessions", "store", "system",
    },
    "library": {
        "argument_types", "own_code", "program_calls", "text",
        "_version", "environments", "features", "library", "llm", "loop", "policy", "profiles", "services",
        "sessions", "store.layout", "store.pages", "store.sessions", "store.worktrees", "temporary_folders", "tools",
    },
    "__init__": {
        "_version", "environments", "features", "library", "llm", "loop", "policy", "profiles", "review", "services",
        "sessions", "tools",
    },
    "testing": ENV_TYPES | {"testing"},
    "__main__": {"cli"},
}  # fmt: skip

# Engines: values in, values out; no access to files, network, clock or processes.
NO_IO = ("text", "paths", "legacy_encodings", "memo", "jsonc", "front_matter", "yaml_depth",
         "patch", "notebook", "review", "llm.providers", "llm.sse", "llm.retry",
         "loop.step", "loop.calls.truncation",
         "loop.calls.loop_detection", "loop.calls.redaction", "loop.context.history", "loop.events.figures",
         "loop.events.log_lines", "loop.events.types", "loop.events.codec", "loop.events.items",
         "policy", "tools",
         "environments.memory", "environments.search", "llm.accumulate", "display", "headless.transcript",
         "sessions.export.markdown", "sessions.export.html_page", "sessions.export.clean_items",
         "store.forks")  # fmt: skip
BANNED_IN_NO_IO = {"asyncio", "httpx", "pygls", "lsprotocol", "subprocess", "socket", "time", "random", "os",
                   "pathlib", "io", "shutil", "tempfile", "threading"}  # fmt: skip
# Third-party libraries that only some modules may import.
ONLY_IN = {
    "httpx": ("llm.http.proxied", "features.web"),
    "h11": ("llm.http.connection", "llm.http.direct"),
    "pygls": ("server",),
    "lsprotocol": ("server", "lean_imports"),
    "websockets": ("server.transport.websocket", "panel.serve"),
    "jsonschema": ("llm.schema_check", "llm.schema_cost"),
    "asyncio": (
        "environments.local.processes.ending",
        "server.server",
        "server.transport.io",
        "server.transport.reading",
        "system",
        "llm.http",
        "library.owner",
        "program_calls",
        "own_code",
    ),
    "mcp": ("mcp",),
    "mcp_types": ("mcp",),
    "httpx2": ("mcp",),
    "subprocess": (
        "environments.local",
        "environments.worker",
        "environments.remote.connection",
        "cli.browser",
        "cli.demo",
        "cli.tools",
        "batch",
    ),
}
# Exceptions to NO_IO for engines: pure parts of otherwise impure modules.
PURE_EXCEPTIONS = {("tools", "os"): {"os.path"}, ("policy", "os"): {"os.path"}, ("paths", "os"): {"os.path"},
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


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    names: list[tuple[str, int]] = []
    for node in nodes(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)):
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return names


def below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def rule_for(name: str) -> str:
    return max((key for key in ALLOWED if below(name, key)), key=len, default="")


def test_each_module_imports_only_what_the_layer_table_permits() -> None:
    wrong = [text for name, path in modules() for text in wrong_imports(name, path)]
    assert not wrong, "\n".join(wrong)


def wrong_imports(name: str, path: Path) -> Iterator[str]:
    if not (rule := rule_for(name)):
        yield f"{path}: the layer table has no row for {name}"
        return
    for imported, line in imports(path):
        top = imported.split(".")[0]
        if top == "agent_ls":
            target = imported.removeprefix("agent_ls").removeprefix(".")
            if target and not any(below(target, allowed) for allowed in ALLOWED[rule] | EVERYWHERE):
                yield f"{path}:{line}: {rule} may not import {target}"
        for library, places in ONLY_IN.items():
            if below(imported, library) and not any(below(name, place) for place in places):
                yield f"{path}:{line}: only {', '.join(places)} may import {library}"
        for engine in NO_IO:
            pure = PURE_EXCEPTIONS.get((engine, top), set())
            if below(name, engine) and top in BANNED_IN_NO_IO and not any(below(imported, p) for p in pure):
                yield f"{path}:{line}: {engine} is an engine and may not import {imported}"


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
