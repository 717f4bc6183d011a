from __future__ import annotations

import pytest

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.effects import CommandEffect, WriteEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.patch_command import PatchCommand, parse_patch_command
from agent_ls.tools.shell import shell_tool
from tests.support.tool_calls import ToolCalls, commands, result

SHELL = shell_tool(default_timeout_ms=10_000, background=True)
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-A = 1\n+A = '$HOME `x` \\n'\n*** End Patch"
PLAIN = PATCH.replace("A = '$HOME `x` \\n'", "A = 2")
SINGLE = PATCH.replace("'", "'\\''")
DOUBLE = PATCH.replace("\\", "\\\\").replace("$", "\\$").replace("`", "\\`")


def files() -> MemoryEnvironment:
    environment = commands(result())
    environment.put("a.py", "A = 1\n")
    environment.put("sub/a.py", "A = 1\n")
    return environment


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("command", "folder"),
    [
        pytest.param(f"apply_patch <<'EOF'\n{PATCH}\nEOF", "", id="heredoc"),
        pytest.param(f"  apply_patch <<EOF\n{PATCH}\nEOF\n\n", "", id="open-word"),
        pytest.param(f'applypatch << "PATCH"\n{PATCH}\nPATCH\n', "", id="other-word"),
        pytest.param(f"apply_patch <<'EOF'\n{PATCH}\n", "", id="no-end-word"),
        pytest.param(f"apply_patch <<-'EOF'\n\t{PATCH}\n\tEOF", "", id="tabs-stripped"),
        pytest.param(f"cat <<'EOF' | apply_patch\n{PATCH}\nEOF", "", id="piped"),
        pytest.param(f"apply_patch '{SINGLE}'", "", id="single-quotes"),
        pytest.param(f'apply_patch "{DOUBLE}"\n', "", id="double-quotes"),
        pytest.param(f"cd sub && apply_patch <<'EOF'\n{PATCH}\nEOF", "sub", id="cd"),
        pytest.param(f"cd 'my sub' && apply_patch <<'EOF'\n{PATCH}\nEOF", "my sub", id="cd-quoted"),
    ],
)
def test_the_patch_in_a_shell_command_with_a_single_patch_is_extracted_unchanged(
    command: str, folder: str
) -> None:
    sent = parse_patch_command(command)
    assert sent is not None
    assert (sent.patch.strip(), sent.folder) == (PATCH, folder)


@pytest.mark.req("T4")
def test_a_patch_command_wrapped_in_bash_lc_is_recognised() -> None:
    script = f"apply_patch <<'EOF'\n{PLAIN}\nEOF".replace("'", "'\\''")
    assert parse_patch_command(f"bash -lc '{script}'") == PatchCommand(PLAIN)


@pytest.mark.req("T4", "T5")
@pytest.mark.parametrize(
    "command",
    [
        "make",
        "grep -rn apply_patch .",
        "apply_patch --help",
        f"cat > notes.md <<'EOF'\napply_patch <<'X'\n{PLAIN}\nX\nEOF",
        f"echo '{PLAIN}'",
        f"git log && cat <<'EOF'\n{PLAIN}\nEOF",
    ],
)
async def test_shell_when_a_command_only_mentions_a_patch_then_it_runs_as_a_command(command: str) -> None:
    prepared = await ToolCalls(files()).prepare(SHELL, command=command)
    assert prepared.effect == CommandEffect(command, "/project")


@pytest.mark.req("T4", "X8")
@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PLAIN}\nEOF\nmake test",
        f"apply_patch <<'EOF' && make test\n{PLAIN}\nEOF",
        f"apply_patch '{PLAIN}' && make test",
        f"cd ~/x && apply_patch <<'EOF'\n{PLAIN}\nEOF",
        f"cd $(mktemp -d) && apply_patch <<'EOF'\n{PLAIN}\nEOF",
    ],
)
async def test_shell_refuses_a_patch_combined_with_other_commands_and_suggests_the_correct_call(
    command: str,
) -> None:
    error = await ToolCalls(files()).fails(SHELL, command=command)
    assert error.kind == "validation"
    assert "the patch alone" in str(error)


@pytest.mark.req("T4", "X8")
async def test_shell_when_a_patch_is_sent_then_it_is_an_edit_and_no_command_runs() -> None:
    seen: list[tuple[str, CommandOptions]] = []
    environment = commands(result(), seen)
    environment.put("a.py", "A = 1\n")
    calls = ToolCalls(environment)
    prepared = await calls.prepare(SHELL, command=f"apply_patch <<EOF\n{PATCH}\nEOF")
    assert isinstance(prepared.effect, WriteEffect)
    assert [planned.path for planned in prepared.effect.files] == ["/project/a.py"]
    assert calls.text("a.py") == "A = 1\n"
    output = await prepared.run()
    assert output.text.endswith("\nM a.py\n")
    assert [state.path for state in output.files] == ["/project/a.py"]
    assert calls.text("a.py") == "A = '$HOME `x` \\n'\n"
    assert not seen


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("before", "working_dir"), [("cd sub && ", ""), ("", "sub"), ("cd ../sub && ", "sub")]
)
async def test_shell_resolves_patch_paths_against_the_working_directory_of_the_command(
    before: str, working_dir: str
) -> None:
    calls = ToolCalls(files())
    command = f"{before}apply_patch <<'EOF'\n{PLAIN}\nEOF"
    await calls.call(SHELL, command=command, working_dir=working_dir)
    assert (calls.text("a.py"), calls.text("sub/a.py")) == ("A = 1\n", "A = 2\n")


@pytest.mark.req("T4", "X9")
async def test_shell_refuses_a_patch_that_does_not_match_with_the_error_of_apply_patch() -> None:
    calls = ToolCalls(files())
    error = await calls.fails(SHELL, command=f"apply_patch <<'EOF'\n{PLAIN.replace('-A = 1', '-A = 9')}\nEOF")
    assert error.kind == "edit_conflict"
    assert "lines in a.py" in str(error)
    missing = await calls.fails(SHELL, command=f"apply_patch '{PLAIN.replace('a.py', 'gone.py')}'")
    assert missing.kind == "file_not_found"


@pytest.mark.req("E5")
def test_shell_when_a_patch_is_sent_then_its_summary_names_the_files() -> None:
    model = SHELL.arguments
    sent = model.model_validate({"command": f"apply_patch <<'EOF'\n{PLAIN}\nEOF"})
    assert SHELL.summarize(sent) == "apply_patch a.py"
    mixed = model.model_validate({"command": f"apply_patch '{PLAIN}' && make"})
    assert SHELL.summarize(mixed).startswith("apply_patch '*** Begin Patch")
