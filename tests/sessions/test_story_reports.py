"""Stories from many kinds of reports: edits, commands, git, search and notebooks, each in its smallest form."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE
from tests.features.test_git_setting_reports import changes_of, state_of
from tests.library.sessions import call, options
from tests.notebook.test_notebook_reports import cell, notebook
from tests.sessions.test_shell_reports import read_by_model, shell
from tests.sessions.test_uncommitted_work import commit
from tests.support.fake_provider import FakeProvider, text
from tests.support.git import git
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls


@pytest.fixture
def calls(tmp_path: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(tmp_path))
    return ToolCalls(real)


@pytest.mark.report("anthropics/claude-code#52881")
async def test_edits_one_after_the_other_keep_the_rest_of_a_large_file(
    calls: ToolCalls, tmp_path: Path
) -> None:
    lines = [f"  const value{number} = {{ é: '{number}' }};\r\n" for number in range(2000)]
    (tmp_path / "f.js").write_bytes("".join(lines).encode())
    await calls.call(READ_FILE, file_path="f.js", limit=2000)
    for at in (1500, 700, 3):
        block = "".join(lines[at : at + 60]).replace("\r\n", "\n")
        await calls.call(EDIT_FILE, file_path="f.js", old_string=block, new_string=f"// {at}\n" * 15)
        lines[at : at + 60] = [f"// {at}\r\n"] * 15
    assert (tmp_path / "f.js").read_bytes() == "".join(lines).encode()


COMMANDS: list[Any] = [
    reported(
        "Lexus2016/hermes-agent-evolution#888",
        "exit 3",
        ("Exit code: 3",),
        (),
    ),
    pytest.param("kill -SEGV $$", ("signal 11",), ("Exit code: 0",), id="signal"),
    pytest.param("sh -c 'kill -KILL $$'", ("signal 9",), (), id="child killed"),
    reported(
        "tinyhumansai/openhuman#4128",
        "echo to out; echo to err >&2; exit 7",
        ("to out", "to err", "Exit code: 7"),
        (),
    ),
    reported(
        "microsoft/vscode#291871",
        "bash -c 'kill -INT $$'; git init -q . && echo made",
        ("made", "Exit code: 0"),
        ("130",),
    ),
    reported(
        "microsoft/vscode#316901",
        "echo one\nfalse\necho two\n\nfor n in 3 4\ndo\necho n$n\ndone",
        ("one\ntwo\nn3\nn4\nExit code: 0",),
        (),
    ),
    pytest.param(
        "printf '\\033[?1049h\\033[2Jhidden\\033[?1049l\\nshown\\n'",
        ("shown",),
        ("\x1b", "1049"),
        id="other screen",
    ),
]


@pytest.mark.parametrize(("command", "has", "lacks"), COMMANDS)
async def test_the_model_reads_how_a_command_ended(
    tmp_path: Path, command: str, has: tuple[str, ...], lacks: tuple[str, ...]
) -> None:
    (read,) = await read_by_model(tmp_path, shell(command))
    read = read.replace("\r\n", "\n")
    assert all(words in read for words in has) and not any(words in read for words in lacks), read


@pytest.mark.report("RooCodeInc/Roo-Code#2963")
async def test_a_command_that_was_not_finished_is_no_success(tmp_path: Path) -> None:
    (read,) = await read_by_model(tmp_path, shell("echo begun; sleep 600", timeout_ms=300))
    assert "begun" in read and "Exit code: 0" not in read and "300" in read


RENAMED: list[Any] = [
    reported(
        "gaia-react/gaia#1032",
        "na ïve.txt",
        "neu é.txt",
    ),
    reported(
        "wkentaro/git-hunk#154",
        "a\tb.txt",
        'c"d.txt',
    ),
    reported(
        "HamedMP/matrix-os#764",
        "old/file.txt",
        "foo b/bar.txt",
    ),
    reported("dyad-sh/dyad#3785", "a -> b.txt", "c.txt"),
    reported(
        "Tracer-Cloud/opensre#4054",
        "orig.txt",
        "naïve renamed.txt",
    ),
]


@pytest.mark.parametrize(("old", "new"), RENAMED)
async def test_names_that_git_quotes_hide_no_change(tmp_path: Path, old: str, new: str) -> None:
    for name in (old, "other.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("".join(f"line {number}\n" for number in range(30)))
    commit(tmp_path, "-b", "main")
    (tmp_path / new).parent.mkdir(exist_ok=True)
    git(tmp_path, "mv", old, new)
    (tmp_path / new).write_text((tmp_path / new).read_text() + "changed\n")
    git(tmp_path, "add", "-A")
    changes, state = await changes_of(tmp_path), await state_of(tmp_path)
    assert changes and "\n+changed" in changes.diff and state.changed == 1
    commit(tmp_path)
    untracked = tmp_path / f"{old}.new".replace("/", "_")
    untracked.write_text("x\n")
    changes, state = await changes_of(tmp_path), await state_of(tmp_path)
    assert changes and changes.new_files == (untracked.name,) and (state.untracked, state.changed) == (1, 0)


@pytest.mark.report("openJiuwen-ai/agent-core#959")
async def test_a_message_while_an_approval_waits_silences_nothing(tmp_path: Path) -> None:
    model = FakeProvider([call("shell", command="touch made"), text("Made."), text("Heard."), text("More.")])
    given = options(tmp_path, model, answers_later=True, trusted=True)
    async with agent_ls.open_session(**given) as session:
        events = session.events()
        session.send("go")
        async for event in events:
            if isinstance(event, agent_ls.ApprovalRequested):
                session.send("a plain message")
                session.send("another", when_busy="queue")
                session.approve(event.request_id, True)
            if event.kind == "processing_end" and not session.queue:
                break
        while session.is_busy:
            await anext(events)
        assert await session.ask("more") in ("More.", "Heard.", "done")
    assert (tmp_path / "project/made").exists()
    said = [message.text for message in model.requests[-1].messages]
    assert {"a plain message", "another", "more"} <= {*said}


@pytest.mark.report("odysseus-dev/odysseus#5010")
@pytest.mark.parametrize("pattern", ["../{}", "{}", "sub/../../{}", "../{}*"])
async def test_a_pattern_tells_nothing_of_files_outside(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "project/sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    names = [str(tmp_path / it) if pattern == "{}" else it for it in ("secret", "absent")]
    texts = []
    for number, name in enumerate(names):
        model = FakeProvider([call("glob", pattern=pattern.format(name)), text("Done.")])
        given = options(tmp_path, model, trusted=True) | {"state_dir": tmp_path / f"state{number}"}
        async with agent_ls.open_session(**given) as session:
            await session.ask("go")
            (record,) = await session.calls()
        assert record.error
        texts.append(record.error.message.replace(name, "NAME"))
    assert texts[0] == texts[1]


@pytest.mark.report("anthropics/claude-code#23916")
@pytest.mark.parametrize("ripgrep", [None, ""], ids=["ripgrep", "without"])
async def test_the_newest_file_comes_first(tmp_path: Path, ripgrep: str | None) -> None:
    real: Any = LocalEnvironment(str(tmp_path), ripgrep=ripgrep)
    for age, name in enumerate(("m.md", "a.md", "z.md", "sub/b.md", "c.md")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (2_000_000 - age, 2_000_000 - age))
    output = (await ToolCalls(real).call(GLOB, pattern="**/*.md")).text
    assert [line for line in output.split("\n") if line.endswith(".md")] == [
        "m.md",
        "a.md",
        "z.md",
        "sub/b.md",
        "c.md",
    ]


@pytest.mark.report("QwenLM/qwen-code#3900")
@pytest.mark.parametrize("broken", [None, "a text", {"cell_type": "code"}, {"source": "x"}, 7])
async def test_a_compact_notebook_stays_so_and_a_broken_one_is_refused(
    calls: ToolCalls, tmp_path: Path, broken: Any
) -> None:
    content = json.dumps(
        notebook(cell(["a\n", "b"], id="x1"), *([broken] if broken else [])), separators=(",", ":")
    )
    (tmp_path / "n.ipynb").write_text(content)
    try:
        await calls.call(READ_FILE, file_path="n.ipynb")
        await calls.call(EDIT_NOTEBOOK, file_path="n.ipynb", action="replace", cell="1", source="c")
    except ToolError:
        assert broken and (tmp_path / "n.ipynb").read_text() == content
    else:
        assert (tmp_path / "n.ipynb").read_text() == content.replace('["a\\n","b"]', '["c"]')


@pytest.mark.report("jataware/beaker-notebook#229")
@pytest.mark.report("cdavid817/vanehub-ai#140")
async def test_a_notebook_is_read_with_its_failures_and_without_its_pictures(
    calls: ToolCalls, tmp_path: Path
) -> None:
    picture = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": base64.b64encode(os.urandom(90_000)).decode()},
    }
    failure = {
        "output_type": "error",
        "ename": "KeyError",
        "evalue": "'x'",
        "traceback": ["\x1b[0;31mKeyError\x1b[0m: 'x'"],
    }
    bare = {"output_type": "error"}
    (tmp_path / "n.ipynb").write_text(
        json.dumps(notebook(cell(["plot()"], id="x1", outputs=[picture, failure, bare])))
    )
    output = (await calls.call(READ_FILE, file_path="n.ipynb")).text
    assert (
        "plot()" in output
        and "KeyError" in output
        and "image/png" in output
        and "\x1b" not in output
        and len(output) < 2_000
    )


@pytest.mark.report("anthropics/claude-code#25623")
@pytest.mark.report("tontinton/maki#88")
async def test_a_file_with_the_same_content_needs_no_new_read(calls: ToolCalls, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\nb\n")
    await calls.call(READ_FILE, file_path="f")
    path.unlink()
    path.write_text("a\nb\n")
    os.utime(path, (2e9, 2e9))
    await calls.call(EDIT_FILE, file_path="f", old_string="b", new_string="B")
    os.utime(path, (2.1e9, 2.1e9))
    await calls.call(WRITE_FILE, file_path="f", content="all\n")
    await calls.call(EDIT_FILE, file_path="f", old_string="all", new_string="ALL")
    assert path.read_text() == "ALL\n"


@pytest.mark.report("QwenLM/qwen-code#3839")
@pytest.mark.report("Miosa-osa/OSA#171")
async def test_what_others_change_meanwhile_is_kept(calls: ToolCalls, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("def f( ):\n    return  1\n\ndef g():\n    return 2\n")
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string="    return 2", new_string="    return  3")
    path.write_text("def f():\n    return 1\n\n\ndef g():\n    return 3\n")
    with pytest.raises(ToolError):
        await calls.call(WRITE_FILE, file_path="f", content="all\n")
    await calls.call(EDIT_FILE, file_path="f", old_string="def g():", new_string="def h():")
    assert path.read_text() == "def f():\n    return 1\n\n\ndef h():\n    return 3\n"


@pytest.mark.report("apmantza/pi-lens#1903")
async def test_an_edit_after_a_formatter_was_run_needs_no_new_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/f.py").write_text("x=1\ny = 2\n")
    await read_by_model(
        tmp_path,
        call("read_file", file_path="f.py"),
        shell("sed -i 's/x=1/x = 1/' f.py"),
        call("edit_file", file_path="f.py", old_string="y = 2", new_string="y = 3"),
        call("edit_file", file_path="f.py", old_string="x = 1", new_string="x = 5"),
        mode="full",
        trusted=True,
    )
    assert (tmp_path / "project/f.py").read_text() == "x = 5\ny = 3\n"


@pytest.mark.report("BurntSushi/ripgrep#3076")
@pytest.mark.parametrize("ripgrep", [None, ""], ids=["ripgrep", "without"])
async def test_matches_over_several_lines_are_limited_by_lines(tmp_path: Path, ripgrep: str | None) -> None:
    (tmp_path / "f").write_text("line 2\nline 3 x\nline 2\nline 3\n")
    real: Any = LocalEnvironment(str(tmp_path), ripgrep=ripgrep)
    given = {"pattern": "line 2\\nline 3", "path": "f", "multiline": True}
    output = (await ToolCalls(real).call(GREP, **given, max_results=2)).text
    assert "f:1:line 2\nf:2:line 3 x" in output and "f:3" not in output
