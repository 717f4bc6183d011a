"""`--ask` on a real terminal, and output that nobody reads."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import command, environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, Gate, Text, ToolCall
from tests.support.pseudo_terminal import PseudoTerminal

PROMPT = "[n]o, or type the reason for denying: "
EDIT = [ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})]
READ = [ToolCall("read_file", {"file_path": "a.py"})]
AGAIN = [ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 2", "new_string": "x = 3"})]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[AnthropicServer]:
    with AnthropicServer(request.param) as made:
        yield made


def script(*answers: Answer) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("server", [answers], indirect=True, ids=["script"])


def terminal(project: Path, server: AnthropicServer, *arguments: str, **options: object) -> PseudoTerminal:
    environ = environment(project.parent / "home", **provider_variables(server))
    argv = command("exec", "--ask", *arguments, "set x")
    return PseudoTerminal(argv, cwd=project, environ=environ, **options)  # type: ignore[arg-type]  # options of PseudoTerminal


@pytest.mark.req("H7", "H13", "H17")
@script(READ, EDIT, AGAIN, "Done.")
def test_answer_yes_allows_one_edit_and_the_diff_is_displayed_before_the_approval_prompt(
    server: AnthropicServer, project: Path
) -> None:
    with terminal(project, server) as shown:
        asked = shown.until(PROMPT)
        assert asked.index("+x = 2") < asked.index("Allow the agent to make this change?") < asked.index("\a")
        assert "s: Allow edits" in asked
        shown.type("y\n")
        assert "allowed once" in shown.until(PROMPT), "the next edit is asked about again"
        shown.type("Y\n")
        assert shown.exit_code() == 0
    assert (project / "a.py").read_text() == "x = 3\n"


@pytest.mark.req("H17")
@pytest.mark.parametrize(("bell", "asked", "ended"), [("off", 0, 0), ("asked", 1, 0), ("done", 1, 1)])
@script(READ, EDIT, "Done.")
def test_bell_option_selects_the_bell_at_approval_prompts_and_at_the_end_of_a_turn(
    server: AnthropicServer, project: Path, bell: str, asked: int, ended: int
) -> None:
    with terminal(project, server, "--bell", bell) as shown:
        assert shown.until(PROMPT).count("\a") == asked
        shown.type("y\n")
        assert shown.exit_code() == 0
        assert shown.printed.count("\a") == ended


@pytest.mark.req("H17")
@script("Done.")
def test_a_pipe_gets_no_bell(server: AnthropicServer, project: Path) -> None:
    environ = environment(project.parent / "home", **provider_variables(server))

    done = run("exec", "--bell", "done", "go", cwd=project, environ=environ)

    assert done.code == 0 and "\a" not in done.out + done.err


@pytest.mark.req("H7")
@script(READ, EDIT, AGAIN, "Done.")
def test_approval_for_the_session_allows_all_following_edits(server: AnthropicServer, project: Path) -> None:
    with terminal(project, server) as shown:
        shown.until(PROMPT)
        shown.type("s\n")
        shown.until("allowed for this session by you")
        assert shown.exit_code() == 0
        assert PROMPT not in shown.printed
    assert (project / "a.py").read_text() == "x = 3\n"


REFUSALS = [
    ("n\n", "The user said no."),
    ("\n", "The user said no."),
    ("use 7\n", "use 7"),
    ("\x04", "said no"),
]


@pytest.mark.req("H7")
@pytest.mark.parametrize(("keys", "reason"), REFUSALS, ids=["n", "enter", "words", "end of input"])
@script(READ, EDIT, "Then not.")
def test_any_answer_but_yes_or_session_denies_the_edit_and_is_sent_to_the_model_as_the_reason(
    server: AnthropicServer, project: Path, keys: str, reason: str
) -> None:
    with terminal(project, server) as shown:
        shown.until(PROMPT)
        shown.type(keys)
        assert shown.exit_code() == 3
        assert "not allowed" in shown.printed
    assert reason in str(server.requests[-1].body)
    assert (project / "a.py").read_text() == "x = 1\n"


GATE = Gate()


@pytest.mark.req("H7")
@script(READ, [Text("Wait."), GATE, *EDIT], "Then not.")
def test_keys_typed_before_the_approval_prompt_do_not_answer_the_prompt(
    server: AnthropicServer, project: Path
) -> None:
    with terminal(project, server) as shown:
        shown.until("Wait.")
        shown.type("y\ny\n")
        shown.until("y\ny\n")  # the terminal has echoed the keys
        GATE.open()
        shown.until(PROMPT)
        shown.type("n\n")
        assert shown.exit_code() == 3
    assert (project / "a.py").read_text() == "x = 1\n"


@pytest.mark.req("H2", "L16", "H7")
@script(READ, EDIT)
def test_ctrl_c_at_the_approval_prompt_ends_exec_at_once(server: AnthropicServer, project: Path) -> None:
    with terminal(project, server) as shown:
        shown.until(PROMPT)
        shown.type("\x03")
        assert shown.exit_code() == 130
        assert "stopped" in shown.printed
    assert (project / "a.py").read_text() == "x = 1\n"


@pytest.mark.req("H7")
@pytest.mark.parametrize("style", ["text", "json"])
@script(READ, EDIT, "Done.")
def test_the_approval_prompt_is_on_the_terminal_even_if_standard_output_is_redirected(
    server: AnthropicServer, project: Path, style: str
) -> None:
    arguments = ["--json"] if style == "json" else []
    with (project.parent / "out").open("wb") as out, terminal(project, server, *arguments, out=out) as shown:
        asked = shown.until(PROMPT)
        assert "+x = 2" in asked and "make this change?" in asked
        shown.type("y\n")
        assert shown.exit_code() == 0
    written = (project.parent / "out").read_text()
    assert "Done." in written and PROMPT not in written and "\x1b" not in written


@pytest.mark.req("R5", "H13")
@pytest.mark.parametrize("style", [[], ["--json"]], ids=["text", "json"])
def test_a_closed_output_pipe_ends_exec_without_a_traceback(project: Path, style: list[str]) -> None:
    with AnthropicServer([[Text("word " * 50_000)], "more"]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        process = subprocess.Popen(
            command("exec", *style, "talk"), cwd=project, env=environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout and process.stderr
        process.stdout.read(10)
        process.stdout.close()
        with process.stderr as err:
            said = err.read().decode()
        assert process.wait(60) == 1
    assert "Traceback" not in said and "Broken pipe" not in said and "Exception" not in said


@pytest.mark.req("R5")
def test_text_that_the_terminal_s_encoding_lacks_is_replaced_and_not_fatal(project: Path) -> None:
    (project / "a.py").write_bytes(b"x = 1  # caf\xe9\n")
    with AnthropicServer([READ, EDIT, "Fin \U0001f60b."]) as server:
        variables = provider_variables(server) | {"PYTHONIOENCODING": "ascii"}
        environ = environment(project.parent / "home", **variables)
        done = run("exec", "--mode", "edits", "go", cwd=project, environ=environ)
    assert done.code == 0, done
    assert "Fin" in done.out and "Traceback" not in done.err
    assert (project / "a.py").read_bytes() == b"x = 2  # caf\xe9\n"
