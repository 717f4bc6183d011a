"""The checklists of CONTRIBUTING.md, carried out: each test adds a thing to a copy of the package, and uses it.

The number of files of the product that have to be changed is limited; docs and tests are not counted.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, read, section
from tests.support.commands import environment, provider_variables
from tests.support.loopback import ChatServer, ToolCall

pytestmark = pytest.mark.group("conformance")

MOST_FILES = {"A tool": 4, "A setting": 8, "An event": 8, "A provider": 6}


@dataclass
class Copy:
    """A copy of the parts of the repository that the checklists name. `changed` are the changed files."""

    root: Path
    changed: set[str] = field(default_factory=set)

    def add(self, name: str, text: str) -> None:
        """Add a file."""
        assert not (self.root / name).exists()
        (self.root / name).write_text(text, encoding="utf-8")
        self.changed.add(name)

    def insert(self, name: str, after: str, text: str) -> None:
        """Insert a text after the only place with the text `after`."""
        old = (self.root / name).read_text(encoding="utf-8")
        assert old.count(after) == 1, (name, after)
        (self.root / name).write_text(old.replace(after, after + text), encoding="utf-8")
        self.changed.add(name)

    def repeat(self, name: str, line: str, kind: str) -> None:
        """Repeat the line that begins with `line` for another kind of event."""
        (old,) = [it for it in (self.root / name).read_text("utf-8").splitlines() if it.startswith(line)]
        self.insert(name, f"{old}\n", old.replace("loop_detection", kind) + "\n")

    def run(self, *arguments: str, **variables: str) -> str:
        environ = environment(self.root / "home", PYTHONPATH=str(self.root), **variables)
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=environ, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def exec(self, *options: str, **variables: str) -> list[Any]:
        """Run `agent-ls exec --json` with the copy, and return its events."""
        out = self.run("-m", "agent_ls", "exec", *options, "do it", **variables)
        return [json.loads(line) for line in out.splitlines()]

    def probe(self, program: str) -> None:
        """Run a program that uses the copy."""
        self.run("-c", f"import agent_ls\nassert {str(self.root)!r} in agent_ls.__file__\n{program}")

    def generate(self, module: str) -> None:
        """Run a generator; count the files that it changes."""
        before = self._contents()
        self.run("-m", module)
        self.changed |= {name for name, content in self._contents().items() if before.get(name) != content}

    def _contents(self) -> dict[str, bytes]:
        folders = (self.root / "vscode-extension/src", self.root / "editors", self.root / "agent_ls")
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for folder in folders
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    def assert_follows(self, checklist: str) -> None:
        """Check that the checklist leads to each changed file, and that few had to be changed."""
        changed = sorted(name for name in self.changed if not name.startswith("docs/"))
        listed = re.findall(r"`([^`]+)`", section(read("CONTRIBUTING.md"), f"### {checklist}"))
        missing = [
            name
            for name in changed
            if not any(name.startswith(place.rstrip("/")) for place in listed if "/" in place)
        ]
        assert missing == []
        assert len(changed) <= MOST_FILES[checklist], changed


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    root = tmp_path / "copy"
    names = (
        "agent_ls", "docs", "editors/nvim/lua", "tests/tools", "tests/golden/protocol", "vscode-extension/src",
        "vscode-extension/package.json",
    )  # fmt: skip
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, root / name)
    for folder in ("tests", "tests/docs"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "__init__.py").touch()
    for name in ("pages.py", "test_vscode_page.py"):
        shutil.copy(ROOT / "tests/docs" / name, root / "tests/docs" / name)
    return Copy(root)


TOOL = '''
"""shout: return a text in capitals."""

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing


class ShoutArguments(Arguments):
    text: str


async def prepare(arguments: ShoutArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return ToolOutput(arguments.text.upper())

    return Prepared(NoEffect(), run)


SHOUT = Tool(
    name="shout",
    description="Return a text in capitals.",
    category="read",
    arguments=ShoutArguments,
    prepare=prepare,
    look=Look("think", "Shouting", "Shouted"),
    summarize=lambda arguments: arguments.text,
    touches=touches_nothing,
)
'''


def test_a_tool_for_all_models_needs_its_file_and_a_row(copy: Copy) -> None:
    rows = "agent_ls/profiles/shared_tools.py"
    copy.add("agent_ls/tools/shout.py", TOOL)
    copy.insert(rows, "import ToolRegistry\n", "from agent_ls.tools.shout import SHOUT\n")
    copy.insert(rows, "registry.register(PROCESSES)\n", "    registry.register(SHOUT)\n")
    copy.probe("""
from agent_ls.features.tools.yaml_tools import own_kinds
from agent_ls.profiles.create import create_profile

for family in ("anthropic", "openai", "gemini", "compatible"):
    assert create_profile(family, "any").registry.lookup("shout").look.done == "Shouted"
assert "shout" in own_kinds()  # so settings, hooks and `--allow` accept the name
""")
    with ChatServer([[ToolCall("shout", {"text": "hello"})], "Done."]) as server:
        events = copy.exec("--allow", "shout", "--json", **provider_variables(server))
    (start,) = [event["data"] for event in events if event["kind"] == "tool_call_start"]
    (end,) = [event["data"] for event in events if event["kind"] == "tool_call_end"]
    assert (start["doing"], start["done"], end["output"]) == ("Shouting", "Shouted", "HELLO")
    copy.assert_follows("A tool")


def test_a_provider_of_a_known_wire_needs_its_address_key_and_title(copy: Copy) -> None:
    copy.insert(
        "agent_ls/llm/providers/openai_chat/servers.py",
        "SERVERS: Mapping[str, Server] = {\n",
        '    "acme": Server("Acme", "https://acme.invalid/v1"),\n',
    )
    copy.insert(
        "agent_ls/llm/credentials.py",
        "VARIABLES: Mapping[str, ProviderVariables] = {\n",
        '    "acme": ProviderVariables(("ACME_API_KEY",), "ACME_BASE_URL"),\n',
    )
    copy.insert("agent_ls/profiles/create.py", "COMPATIBLE = (\n", '    "acme",\n')
    copy.insert("agent_ls/services/models/service.py", "_PROVIDER_NAMES = {\n", '    "acme": "Acme",\n')
    with ChatServer(["Hello."]) as server:
        address = {"ACME_API_KEY": "test-key", "ACME_BASE_URL": server.base_url}
        events = copy.exec("--provider", "acme", "--model", "m", "--json", **address)
        assert "Acme" in copy.run("-m", "agent_ls", "models", "acme", **address)
    assert [event["data"]["text"] for event in events if event["kind"] == "assistant_text_end"] == ["Hello."]
    copy.assert_follows("A provider")


def test_a_setting_needs_its_field_its_trust_and_the_two_lists_of_the_extension(copy: Copy) -> None:
    manifest = "vscode-extension/package.json"
    copy.insert(
        "agent_ls/services/settings/model.py",
        "    max_read_mebibytes: int = Field(default=50, ge=1, le=1_024)\n",
        "    shouts_at_most: int = Field(default=3, ge=0)\n",
    )
    copy.insert(
        "agent_ls/services/settings/untrusted.py",
        '    "max_read_mebibytes": _is_longer,\n',
        '    "shouts_at_most": _is_longer,\n',
    )
    copy.insert("vscode-extension/src/settings/settings.ts", '"maxReadMebibytes", ', '"shoutsAtMost", ')
    copy.insert(manifest, '        "agentLs.maxReadMebibytes",\n', '        "agentLs.shoutsAtMost",\n')
    declared = {"type": "integer", "minimum": 0, "default": 3, "scope": "machine", "description": "Shouts."}
    declaration = f'        "agentLs.shoutsAtMost": {json.dumps(declared)},\n'
    copy.insert(
        manifest,
        '"description": "Maximum size of a file that the model reads or edits, in MiB."\n        },\n',
        declaration,
    )
    for page, name in (
        ("docs/vscode.md", "agentLs.maxReadMebibytes"),
        ("docs/configuration.md", "maxReadMebibytes"),
    ):
        row = next(
            line for line in (copy.root / page).read_text("utf-8").splitlines() if f"`{name}` | `50`" in line
        )
        new = row.replace("maxReadMebibytes", "shoutsAtMost").replace("`50`", "`3`")
        copy.insert(page, f"{row}\n", f"{new}\n")
    # The other tests of the page are about files that the copy lacks.
    about = "settings or setting"
    copy.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", about, "tests/docs/test_vscode_page.py")
    assert "shoutsAtMost" in copy.run("-m", "agent_ls", "config", "--schema")
    with ChatServer(["Hello."]) as server:
        copy.exec("--set", "shoutsAtMost=4", "--json", **provider_variables(server))
    copy.assert_follows("A setting")


def test_an_event_that_is_a_note_is_shown_by_all_front_ends(copy: Copy) -> None:
    types = "agent_ls/loop/events/types.py"
    copy.insert(
        types,
        """    kind: ClassVar[Literal["loop_detection"]] = "loop_detection"
    message: str
""",
        '''

@dataclass(frozen=True, slots=True)
class LidClosed(Noted):
    """The lid was closed."""

    kind: ClassVar[Literal["lid_closed"]] = "lid_closed"
    message: str
''',
    )
    copy.insert(types, "    | LoopDetection\n", "    | LidClosed\n")
    api = "agent_ls/__init__.py"
    copy.insert(api, "        LoopDetection as LoopDetection,\n", "        LidClosed as LidClosed,\n")
    copy.insert(api, " LoopDetection PlanChanged", " LidClosed")
    copy.repeat("editors/nvim/lua/agent_ls/reducers.lua", "function by_kind.loop_detection(", "lid_closed")
    copy.repeat("vscode-extension/src/snapshot/folds.ts", "  loop_detection: (s, data, seq) =>", "lid_closed")
    copy.generate("tests.tools.wire_types")
    copy.probe("""
from agent_ls.acp.client import ClientFacts
from agent_ls.acp.updates import UpdateMapper
from agent_ls.headless.transcript import Transcript
from agent_ls.loop.events import codec
from agent_ls.loop.events.items import ItemReducer, Notice
from agent_ls.loop.events.types import Envelope
from agent_ls.server.chat.transcript import ChatTranscript

envelope = Envelope("s-1", 1, "2026-01-01T00:00:00.000Z", agent_ls.LidClosed("It is dark."), turn_id="t-1")
assert codec.decode(codec.encode(envelope)).event == envelope.event
reducer = ItemReducer()
reducer.add(envelope)
assert [item.body for item in reducer.items] == [Notice("warn", "It is dark.")]
for shown in (
    Transcript().feed(envelope),
    ChatTranscript().feed(envelope),
    str(UpdateMapper("s-1", lambda name: name, ClientFacts()).feed(envelope)),
):
    assert "It is dark." in shown
""")
    for client in ("vscode-extension/src/wire/events.ts", "editors/nvim/lua/agent_ls/wire/events.lua"):
        assert "lid_closed" in (copy.root / client).read_text("utf-8")
    copy.assert_follows("An event")
