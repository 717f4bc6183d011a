"""Hooks that are limited to some commands or files, in the forms that public reports show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.features.hooks.conditions import Subject
from tests.features.hooks.test_hook_forms import HOOK, hooks_in
from tests.features.hooks.test_session import confirm, played, script, write_hooks
from tests.library.sessions import call, personal_options
from tests.support.fake_provider import FakeProvider, text
from tests.support.reports import reported

pytestmark = pytest.mark.req("T15")

BASH, EDIT = ("shell", "Bash"), ("edit_file", "Edit", "MultiEdit")
COMMIT = {"matcher": "Bash", "hooks": [{**HOOK, "if": "Bash(git commit *)"}]}


def limited(matcher: str, event: str = "PreToolUse") -> dict[str, Any]:
    return {"event": event, "matcher": matcher, "hooks": [HOOK]}


COMMANDS: list[Any] = [
    pytest.param(
        COMMIT,
        ["git commit -m x", "cd a && git commit -m x", "sudo git commit -m x"],
        ["npx prettier --write a.ts", "git status", "echo $(date)"],
        marks=[
            pytest.mark.report("anthropics/claude-code#41376"),
            pytest.mark.report("anthropics/claude-code#46056"),
            pytest.mark.report("anthropics/claude-code#63066"),
        ],
    ),
    reported(
        "genealogix/glx#869",
        limited("Bash(git commit*)"),
        ["git commit", "git commit --amend", "bash -c 'git commit -m x'"],
        ["git add .", "ls"],
    ),
    reported(
        "anthropics/claude-plugins-official#5096",
        {"matcher": "Bash", "hooks": [{**HOOK, "if": "Bash(git commit:*)"}]},
        ["git -C /x commit -m y", "git -c user.name=x commit -S", "git commit"],
        ["git log", "echo commit"],
    ),
    reported(
        "anthropics/claude-code#49703",
        {"matcher": "Bash", "hooks": [{**HOOK, "if": "Bash(*git commit*)"}]},
        ["cd x; git commit -m y"],
        ["git push"],
    ),
    reported(
        "potpie-ai/potpie#1076",
        limited("curl|wget|nc ", "beforeShellExecution"),
        ["curl -s http://x", "true && wget x"],
        ["echo hi"],
    ),
    (limited("^rm\\s+-rf", "before_shell_execution"), ["rm -rf x"], ["rm x"]),
    (limited("Bash", "beforeShellExecution"), ["ls"], []),
    (limited("Bash(npm run test)"), ["npm run test"], ["npm run build"]),
    (limited("Bash(rm:*), Bash(mv *)"), ["rm x", "mv a b"], ["cp a b"]),
    (limited("Bash(git *)"), ["$TOOL commit", "("], ["ls"]),
    (limited("Bash"), ["ls"], []),
]


@pytest.mark.parametrize(("entry", "inside", "outside"), COMMANDS)
def test_a_hook_runs_for_the_commands_that_its_author_names(
    tmp_path: Path, entry: dict[str, Any], inside: list[str], outside: list[str]
) -> None:
    event = entry.pop("event", "PreToolUse")
    (hook,) = hooks_in(tmp_path, {"hooks": {event: [dict(entry)]}}).hooks
    entry["event"] = event
    for commands, expected in ((inside, True), (outside, False)):
        got = {it: hook.matches(BASH, Subject("/p", it)) for it in commands}
        assert got == dict.fromkeys(commands, expected)
    assert hook.matches(BASH) and not hook.matches(("read_file", "Read"))


FILES: list[Any] = [
    reported("anthropics/claude-code#5314", "Edit:.*\\.cs", ["/p/src/A.cs"], ["/p/src/a.css.md"]),
    ("Edit(*.ts)", ["/p/a/b.ts"], ["/p/a/b.py"]),
    ("Edit(src/**)", ["/p/src/a/b.py"], ["/p/lib/a.py"]),
    ("Edit(./src/*.py)|Write", ["/p/src/b.py"], ["/p/lib/b.py"]),
    ("Edit(**/migrations/**)", ["/p/app/migrations/1.sql"], ["/p/app/1.sql"]),
    ("Edit(/p/secret/*)", ["/p/secret/a"], ["/p/a"]),
    reported(
        "supabase/supabase#44350",
        "Edit(/apps/studio/**)|Write(/apps/studio/**)",
        ["/p/apps/studio/a/b.ts"],
        ["/p/apps/other/b.ts", "/apps/x.ts"],
    ),
    ("Edit(/*.md)", ["/p/a.md"], ["/p/a.py"]),
    ("Edit(//p/src/**)", ["/p/src/a"], ["/p/p/src/a"]),
    ("Edit(//etc/**)", ["/etc/hosts"], ["/p/etc/hosts"]),
]


@pytest.mark.parametrize(("matcher", "inside", "outside"), FILES)
def test_a_hook_runs_for_the_files_that_its_author_names(
    tmp_path: Path, matcher: str, inside: list[str], outside: list[str]
) -> None:
    (hook,) = hooks_in(tmp_path, {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [HOOK]}]}}).hooks
    for path in inside:
        assert hook.matches(EDIT, Subject("/p", paths=("/p/other", path)))
    assert not hook.matches(EDIT, Subject("/p", paths=tuple(outside)))
    assert hook.matches(EDIT, Subject("/p"))  # not known: the hook runs


def test_a_group_of_names_is_no_limit(tmp_path: Path) -> None:
    matcher = "Notebook(Edit|Read)"
    (hook,) = hooks_in(tmp_path, {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [HOOK]}]}}).hooks
    assert hook.matches(["NotebookEdit"]) and not hook.matches(["Notebook"])


def test_a_limit_that_is_no_pattern_is_told(tmp_path: Path) -> None:
    found = hooks_in(tmp_path, {"hooks": {"beforeShellExecution": [{"matcher": "rm (", "command": "x"}]}})
    assert not found.hooks and len(found.problems) == 1


async def test_a_guard_with_a_limit_stops_only_the_calls_in_it(tmp_path: Path) -> None:
    no = script(tmp_path / "hooks", "print('not on main', file=sys.stderr)\nsys.exit(2)")
    write_hooks(tmp_path / "state/hooks.json", beforeShellExecution=("git commit", no))
    commands = ("echo hi", "true && git commit -m x")
    model = FakeProvider([call("shell", command=it) for it in commands] + [[text("Done.")]])
    ends, _ = await played(tmp_path, model)
    assert [end.is_error for end in ends] == [False, True] and "not on main" in ends[1].output


@pytest.mark.report("akasecurity/ai-tc#411")
async def test_a_guard_of_copilot_finds_the_tool_and_its_arguments(tmp_path: Path) -> None:
    body = "given = json.loads(event['toolArgs'])\n"
    body += "print(event['toolName'], given['command'], event['toolUseId'], file=sys.stderr)\nsys.exit(2)"
    write_hooks(tmp_path / "state/hooks.json", preToolUse=script(tmp_path / "hooks", body))
    model = FakeProvider([call("shell", command="touch made"), [text("Done.")]])
    ends, _ = await played(tmp_path, model)
    assert ends[0].is_error and "Bash touch made call_0" in ends[0].output


@pytest.mark.report("diazoxide/charter#5")
async def test_nobody_waits_for_an_asynchronous_hook(tmp_path: Path) -> None:
    """The hook ends only after the call that it would hold up has made a file."""
    body = "import time\nwhile not os.path.exists('made'): time.sleep(0.05)\nopen('seen', 'w').close()\nsys.exit(2)"
    command = script(tmp_path / "hooks", body)
    hook = {"type": "command", "command": command, "async": True, "timeout": 60}
    (tmp_path / "state").mkdir()
    (tmp_path / "state/hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    wait = "touch made; until [ -e seen ]; do sleep 0.1; done"
    model = FakeProvider([call("shell", command=wait, timeout_ms=60_000), [text("Done.")]])
    ends, _ = await played(tmp_path, model)
    assert not ends[0].is_error and (tmp_path / "project/seen").exists()


@pytest.mark.report("conceptadev/mix#813")
@pytest.mark.report("thedotmack/claude-mem#3969")
@pytest.mark.report("anthropics/claude-plugins-official#1110")
@pytest.mark.report("zai-org/feedback#357")
@pytest.mark.report("anthropics/claude-code#28305")
async def test_hooks_of_a_start_run_for_the_sources_that_they_name(tmp_path: Path) -> None:
    groups = [
        {"matcher": matcher, "hooks": [{"type": "command", "command": f"echo SAID-{name}"}]}
        for name, matcher in (("NEW", "startup|clear"), ("RESUMED", "resume"), ("COMPACTED", "compact"))
    ]
    (tmp_path / "state").mkdir()
    (tmp_path / "state/hooks.json").write_text(json.dumps({"hooks": {"SessionStart": groups}}))
    model = FakeProvider([[text(f"Answer {number}.")] for number in range(14)])
    chosen = {"mode": "full", "approve": lambda request: False, "trusted": True}

    def said(request: int) -> list[str]:
        messages = str(model.requests[request].messages)
        return [name for name in ("NEW", "RESUMED", "COMPACTED") if f"SAID-{name}" in messages]

    async with agent_ls.open_session(**personal_options(tmp_path, model, **chosen)) as session:
        for number in range(8):
            await session.ask(f"Question {number}?")
        assert said(7) == ["NEW"]
        await session.compact()
        await session.ask("Go on.")
        assert said(-1) == ["COMPACTED"]
    async with agent_ls.open_session(
        **personal_options(tmp_path, model, **chosen), resume=session.id
    ) as again:
        await again.ask("And now?")
    assert said(-1) == ["RESUMED", "COMPACTED"]


@pytest.mark.report("anthropics/claude-code#83877")
@pytest.mark.report("google-antigravity/antigravity-cli#395")
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_a_hook_gets_the_absolute_path_of_a_file(tmp_path: Path, event: str) -> None:
    body = "print(event['tool_input']['file_path'], event['file_path'], file=sys.stderr)\nsys.exit(2)"
    write_hooks(tmp_path / "state/hooks.json", **{event: ("Write|Edit", script(tmp_path / "hooks", body))})
    path = str(tmp_path / "project/sub/a.txt")
    patch = "*** Begin Patch\n*** Add File: sub/a.txt\n+x\n*** End Patch"
    for provider, edit in (
        ("anthropic", call("write_file", file_path="./sub/a.txt", content="x")),
        ("openai", call("apply_patch", patch=patch)),
    ):
        model = FakeProvider([edit, [text("Done.")]])
        ends, _ = await played(tmp_path, model, provider=provider, adapters={provider: model})
        assert f"{path} {path}" in ends[0].output
        (tmp_path / "project/sub/a.txt").unlink(missing_ok=True)


@pytest.mark.report("anthropics/claude-code#91226")
async def test_a_hook_runs_in_the_folder_of_the_session_after_a_cd(tmp_path: Path) -> None:
    (tmp_path / "project/sub").mkdir(parents=True)
    (tmp_path / "project/gate.sh").write_text("echo seen >&2; exit 2\n")
    write_hooks(tmp_path / "state/hooks.json", PostToolUse=("Bash", "sh gate.sh"))
    confirm(tmp_path / "state", tmp_path / "project")
    model = FakeProvider([call("shell", command="cd sub"), call("shell", command="pwd"), [text("Done.")]])
    ends, _ = await played(tmp_path, model)
    assert ["seen" in end.output for end in ends] == [True, True]
