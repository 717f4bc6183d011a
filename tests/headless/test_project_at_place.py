"""Files of a project at the remote end of a pipe: its instructions are used, and none of its programs runs on this
machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, Text, ToolCall

pytestmark = pytest.mark.req("X3")

SKILL = "---\nname: {0}\ndescription: Knows about {0}. Use it always.\n---\nBody of {0}.\n"
AGENT = "---\nname: {0}\ndescription: Looks for {0}.\n---\nText of {0}.\n"


@dataclass(frozen=True)
class Places:
    """`there` contains the project; `here` is an unrelated folder in which the command is started."""

    there: Path
    here: Path
    home: Path

    def play(
        self,
        script: Sequence[Answer],
        *options: str,
        prompt: str = "do it",
        settings: Mapping[str, object] | None = None,
        **variables: str,
    ) -> tuple[Finished, list[dict[str, Any]]]:
        """Return the outcome of one run at the place, and the bodies of its requests."""
        with AnthropicServer(list(script)) as server:
            if settings is not None:
                file = self.home.parent / "settings.json"
                file.write_text(json.dumps({"agentLs": settings}))
                variables["AGENT_LS_SETTINGS"] = str(file)
            environ = environment(self.home, **provider_variables(server), **variables)
            trust = [] if "AGENT_LS_TRUSTED_FOLDERS" in variables else ["--trust"]
            place = f"command:{self.there}:{sys.executable}"
            done = run(
                "exec", "--on", place, *trust, "--json", *options, prompt, cwd=self.here, environ=environ
            )
            return done, [request.body for request in server.requests]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(tmp_path / "there", tmp_path / "here", tmp_path / "user-home")
    for folder in (made.there, made.here, made.home):
        folder.mkdir()
    return made


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def call(tool: str, **arguments: object) -> Answer:
    return [Text("So."), ToolCall(tool, arguments)]


def system(body: Mapping[str, Any]) -> str:
    return json.dumps(body["system"])


def write_project(folder: Path, word: str) -> None:
    write(
        folder,
        {
            "AGENTS.md": f"Remember {word}-agents.\n",
            "inner/AGENTS.md": f"Remember {word}-inner.\n",
            "inner/a.py": "x = 1\n",
            f".agents/skills/{word}-skill/SKILL.md": SKILL.format(f"{word}-skill"),
            f".agents/skills/{word}-skill/notes.md": f"{word} notes\n",
            f".claude/agents/{word}-agent.md": AGENT.format(f"{word}-agent"),
            f".claude/commands/{word}-command.md": f"Text of {word}-command for $ARGUMENTS.\n",
        },
    )


def test_project_instructions_are_read_from_the_remote_place_and_not_from_this_machine(
    places: Places,
) -> None:
    write_project(places.there, "far")
    write_project(places.here, "near")
    script = [
        call("use_skill", name="far-skill"),
        call("read_file", file_path=".agents/skills/far-skill/notes.md"),
        call("read_file", file_path="inner/a.py"),
        "Done.",
    ]
    done, bodies = places.play(script)
    assert done.code == 0, done
    for word in ("far-agents", "far-skill: Knows about", "far-agent: Looks for"):
        assert word in system(bodies[0]), word
    results = json.dumps(bodies[-1]["messages"])
    assert "Body of far-skill" in results and ": notes.md" in results
    assert f"{places.there}/.agents/skills/far-skill" in results
    assert "far notes" in results
    assert "far-inner" in results
    assert "near-" not in json.dumps(bodies)


def test_slash_commands_of_the_project_are_read_from_the_remote_place(places: Places) -> None:
    write_project(places.there, "far")
    write_project(places.here, "near")
    done, bodies = places.play(["Done."], prompt="/far-command two words")
    assert done.code == 0, done
    assert "far-command for two" in json.dumps(bodies[0]["messages"])
    _, bodies = places.play(["Done."], prompt="/near-command two words")
    assert "Text of near-command" not in json.dumps(bodies[0]["messages"])


def test_skills_at_the_place_are_searched_up_to_the_repository_root(places: Places) -> None:
    write(places.there, {".agents/skills/top/SKILL.md": SKILL.format("top"), "part/a.py": "x = 1\n"})
    write(places.there.parent, {".agents/skills/outside/SKILL.md": SKILL.format("outside")})
    (places.there / ".git").mkdir()
    inner = Places(places.there / "part", places.here, places.home)
    done, bodies = inner.play([call("use_skill", name="top"), "Done."])
    assert done.code == 0, done
    assert "Body of top" in json.dumps(bodies[-1]["messages"])
    assert "outside" not in system(bodies[0])


def test_a_skill_symlink_out_of_the_project_at_the_remote_place_is_ignored(places: Places) -> None:
    outside = places.there.parent / "outside"
    write(outside, {"linked/SKILL.md": SKILL.format("linked")})
    (places.there / ".agents").mkdir()
    (places.there / ".agents" / "skills").symlink_to(outside)
    write(places.there, {".claude/skills/own/SKILL.md": SKILL.format("own")})
    (places.there / ".claude" / "skills" / "linked").symlink_to(outside / "linked")
    done, bodies = places.play(["Done."])
    assert done.code == 0, done
    assert "own: Knows about" in system(bodies[0]) and "linked" not in system(bodies[0])


def test_skills_listed_in_the_ignore_file_of_the_remote_place_are_not_offered(places: Places) -> None:
    write_project(places.there, "far")
    write(places.there, {".agent-ls-ignore": ".agents/\n"})
    done, bodies = places.play(["Done."])
    assert done.code == 0, done
    assert "far-agent: Looks" in system(bodies[0]) and "far-skill" not in system(bodies[0])


def test_no_file_of_an_untrusted_project_at_the_place_is_used(places: Places) -> None:
    write_project(places.there, "far")
    write(places.there, {".agent-ls/tools.yaml": TOOL.format("far_tool", "echo", "")})
    _, bodies = places.play(
        [call("use_skill", name="far-skill"), "Done."], AGENT_LS_TRUSTED_FOLDERS="", prompt="/far-command x"
    )
    requests = json.dumps(bodies)
    for word in ("Knows about", "Body of far-skill", "Looks for far", "Text of far-command", "far_tool"):
        assert word not in requests, word


@pytest.mark.req("X6")
def test_only_the_text_of_a_user_skill_is_available_at_a_remote_place(places: Places) -> None:
    """The skill's folder is on this machine. A folder with the same path at the place is a different one."""
    write(places.home / ".agents/skills", {"own/SKILL.md": SKILL.format("own"), "own/script.sh": "exit\n"})
    script = [
        call("use_skill", name="own"),
        call("read_file", file_path=str(places.home / ".agents/skills/own/script.sh")),
        "Done.",
    ]
    done, bodies = places.play(script, HOME=str(places.home))
    results = json.dumps(bodies[-1]["messages"])
    assert "Body of own" in results and "cannot be used" in results
    assert "in its folder" not in results
    assert done.code == 3, done  # reading outside the folder of the place needs approval


TOOL = """tools:
  - name: {0}
    description: Prints where it runs.
    category: read
    cmd: {1}
{2}
"""


def test_a_project_tool_runs_at_the_remote_place(places: Places) -> None:
    write(places.there, {".agent-ls/tools.yaml": TOOL.format("far_where", "pwd", "")})
    write(places.there, {".agent-ls/tools/more.yml": TOOL.format("far_more", "echo", "    args: [more]")})
    write(places.here, {".agent-ls/tools.yaml": TOOL.format("near_where", "pwd", "")})
    done, bodies = places.play([call("far_where"), call("far_more"), "Done."], "--mode", "full")
    assert done.code == 0, done
    first, second = done.of_kind("tool_call_end")
    assert str(places.there) in str(first) and "more" in str(second)
    assert "near_where" not in [tool["name"] for tool in bodies[0]["tools"]]


@pytest.mark.req("X5")
def test_a_project_tool_at_a_remote_place_cannot_use_environment_variables_of_this_machine(
    places: Places,
) -> None:
    leak = TOOL.format("far_leak", "env", "    env: {LEAK: '${LOCAL_ONLY}'}")
    write(places.there, {".agent-ls/tools.yaml": leak})
    done, bodies = places.play(["Done."], LOCAL_ONLY="value-of-this-machine")
    assert "far_leak" not in [tool["name"] for tool in bodies[0]["tools"]]
    assert "environment variable" in str(done.of_kind("warning"))


def test_tool_packs_are_selected_by_the_files_and_programs_at_the_place(places: Places) -> None:
    write(places.there, {"Cargo.toml": "[package]\n"})
    write(places.here, {"go.mod": "module x\n"})
    bin_there = places.there.parent / "bin"
    write(bin_there, {"cargo": "#!/bin/sh\necho cargo there\n"})
    (bin_there / "cargo").chmod(0o755)
    chosen = {"toolPacks": {"detect": True}}
    far = Places(places.there, places.here, places.home)
    place = f"command:{far.there}:env PATH={bin_there}:/usr/bin:/bin {sys.executable}"
    settings = far.home.parent / "settings.json"
    settings.write_text(json.dumps({"agentLs": chosen}))
    with AnthropicServer(["Done."]) as server:
        environ = environment(far.home, **provider_variables(server), AGENT_LS_SETTINGS=str(settings))
        done = run("exec", "--on", place, "--trust", "--json", "do it", cwd=far.here, environ=environ)
        names = [tool["name"] for tool in server.requests[0].body["tools"]]
    assert done.code == 0, done
    assert any(name.startswith("cargo") for name in names), names
    assert not any(name.startswith("go_") for name in names), names


def test_hooks_and_mcp_servers_are_not_started_for_a_remote_place_and_one_warning_lists_them(
    places: Places,
) -> None:
    marks = places.there.parent / "marks"
    marks.mkdir()

    def hooks(name: str) -> str:
        command = {"type": "command", "command": f"touch {marks}/{name}"}
        return json.dumps({"hooks": {"SessionStart": [{"hooks": [command]}]}})

    def servers(name: str) -> str:
        return json.dumps({"mcpServers": {name: {"command": "touch", "args": [str(marks / name)]}}})

    state = places.home / "state"
    write(state, {"hooks.json": hooks("user-hook"), "mcp.json": servers("user-server")})
    for folder in (places.there, places.here):
        write(
            folder,
            {
                ".agent-ls/hooks.json": hooks("project-hook"),
                ".mcp.json": servers("project-server"),
                ".vscode/mcp.json": servers("other-server"),
            },
        )
    done, _ = places.play([call("read_file", file_path=".mcp.json"), "Done."], "--mode", "full")
    assert done.code == 0, done
    assert list(marks.iterdir()) == []
    notices = [event for event in done.of_kind("warning") if event["code"] == "place"]
    assert len(notices) == 1, notices
    for words in ("Your hooks", "the project's hooks", "your MCP servers", "the project's MCP servers"):
        assert words in notices[0]["message"], notices


@pytest.mark.parametrize("has_file", [False, True], ids=["no file", "a file without servers"])
def test_a_remote_place_without_hooks_and_mcp_servers_gives_no_warning(
    has_file: bool, places: Places
) -> None:
    if has_file:  # `agent-ls mcp remove` leaves it
        write(places.home / "state", {"mcp.json": '{"mcpServers": {}}'})
    done, _ = places.play(["Done."])
    assert not [event for event in done.of_kind("warning") if event["code"] == "place"], done
