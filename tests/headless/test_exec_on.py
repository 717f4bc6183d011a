"""`agent-ls exec --on`: the tools act at the remote end of a pipe, under the policy of this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, Text, ToolCall

pytestmark = pytest.mark.req("X3")


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    return folder


def play(there: Path, script: Sequence[Answer], *options: str, on: str = "", **variables: str) -> Finished:
    """Run one prompt in a folder that is unrelated to the one in which the tools act."""
    here = there.parent / "here"
    here.mkdir(exist_ok=True)
    place = on or f"command:{there}:{sys.executable}"
    with AnthropicServer(list(script)) as server:
        environ = environment(there.parent / "home", **provider_variables(server), **variables)
        trust = ["--trust"] if "AGENT_LS_TRUSTED_FOLDERS" not in variables else []
        return run("exec", "--on", place, *trust, *options, "do it", cwd=here, environ=environ)


def call(tool: str, **arguments: object) -> Answer:
    return [Text("So."), ToolCall(tool, arguments)]


EDIT = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")


def test_edits_and_commands_run_at_the_remote_place_and_the_session_log_names_the_place(there: Path) -> None:
    script = [call("read_file", file_path="a.py"), EDIT, call("shell", command="pwd; cat a.py"), "Done."]
    done = play(there, script, "--mode", "full", "--json")
    assert done.code == 0, done
    assert (there / "a.py").read_text() == "x = 2\n"
    assert f"{there}\\nx = 2" in done.out
    (log,) = (there.parent / "home" / "state").glob("workspaces/*/sessions/*/log.jsonl")
    folder = json.loads(log.read_text().splitlines()[0])["workspaceFolder"]
    assert folder == f"command:{there}:{sys.executable}"


def test_without_approval_nothing_is_changed_or_run_at_the_remote_place(there: Path) -> None:
    script = [call("read_file", file_path="a.py"), EDIT, call("shell", command="touch made"), "Done."]
    done = play(there, script)
    assert done.code == 3, done
    assert (there / "a.py").read_text() == "x = 1\n"
    assert not (there / "made").exists()


def test_an_untrusted_folder_at_the_remote_place_is_read_only(there: Path) -> None:
    script = [call("read_file", file_path="a.py"), EDIT, "Done."]
    done = play(there, script, "--mode", "edits", AGENT_LS_TRUSTED_FOLDERS="")
    assert done.code == 3, done
    assert (there / "a.py").read_text() == "x = 1\n"
    environ = environment(there.parent / "home", AGENT_LS_TRUSTED_FOLDERS="")
    key = f"command:{there}:{sys.executable}"
    assert run("trust", "add", key, cwd=there, environ=environ).code == 0
    assert play(there, script, "--mode", "edits", AGENT_LS_TRUSTED_FOLDERS="").code == 0
    assert (there / "a.py").read_text() == "x = 2\n"


@pytest.mark.req("X6")
def test_a_symlink_out_of_the_folder_at_the_remote_place_is_refused(there: Path) -> None:
    """The link exists only on the disk of the place, so the policy must check paths there."""
    outside = there.parent / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("secret = 1\n")
    (there / "link").symlink_to(outside)
    (there / "b.py").symlink_to(outside / "b.py")
    script = [call("read_file", file_path="link/b.py"), call("read_file", file_path="b.py"), "Done."]
    done = play(there, script, "--mode", "edits", "--json")
    assert done.code == 3, done
    assert "secret" not in done.out


def test_credentials_in_the_home_folder_of_the_remote_place_are_never_read(there: Path) -> None:
    home = there.parent / "far-home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("far key\n")
    words = f"env HOME={home} {sys.executable}"
    script = [call("read_file", file_path=str(home / ".ssh" / "id_ed25519")), "Done."]
    done = play(there, script, "--mode", "full", "--json", on=f"command:{home}:{words}")
    assert done.code == 3, done
    assert "far key" not in done.out


def test_a_file_listed_in_the_ignore_file_of_the_remote_place_is_not_read(there: Path) -> None:
    (there / ".agent-ls-ignore").write_text("hidden.txt\n")
    (there / "hidden.txt").write_text("not for models\n")
    script = [call("read_file", file_path="hidden.txt"), call("grep", pattern="models"), "Done."]
    done = play(there, script, "--mode", "full", "--json")
    assert "not for models" not in done.out


@pytest.mark.req("X5")
def test_api_keys_are_not_passed_to_commands_at_the_remote_place(there: Path) -> None:
    script = [call("shell", command="env"), "Done."]
    done = play(there, script, "--mode", "full", "--json", OTHER_API_KEY="key-of-another", ORDINARY="seen")
    assert done.code == 0, done
    assert "ORDINARY=seen" in done.out
    assert "key-of-another" not in done.out and "test-key" not in done.out


def test_exec_uses_the_place_setting_of_the_user_unless_the_option_on_here_is_set(there: Path) -> None:
    settings = there.parent / "settings.json"
    place = {"kind": "command", "command": [sys.executable], "path": str(there)}
    settings.write_text(json.dumps({"agentLs": {"place": place}}))
    script = [call("shell", command="pwd"), "Done."]
    with AnthropicServer(script * 2) as server:
        environ = environment(
            there.parent / "home", **provider_variables(server), AGENT_LS_SETTINGS=str(settings)
        )
        here = there.parent / "here"
        here.mkdir()
        far = run("exec", "--trust", "--mode", "full", "--json", "do it", cwd=here, environ=environ)
        near = run(
            "exec",
            "--trust",
            "--on",
            "here",
            "--mode",
            "full",
            "--json",
            "do it",
            cwd=here,
            environ=environ,
        )
    assert str(there) in str(far.of_kind("tool_call_end")), far
    assert str(here) in str(near.of_kind("tool_call_end")), near


def test_a_resumed_session_continues_at_the_remote_place_of_the_session(there: Path) -> None:
    first = play(there, ["Hello."], "--json")
    session = first.events[0]["sessionId"]
    with AnthropicServer([call("shell", command="pwd"), "Done."]) as server:
        environ = environment(there.parent / "home", **provider_variables(server))
        again = run(
            "exec",
            "--resume",
            session,
            "--trust",
            "--mode",
            "full",
            "--json",
            "go on",
            cwd=there.parent,
            environ=environ,
        )
    assert again.code == 0, again
    assert str(there) in str(again.of_kind("tool_call_end"))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("ssh", "does not name a place"),
        ("ftp:host:/x", "does not name a place"),
        ("ssh:-oProxyCommand=touch${IFS}made:/x", "is not a valid ssh name"),
        ("ssh::/x", "is not a valid ssh name"),
        ("docker:--privileged:/x", "is not a valid docker name"),
        ("kubectl:a/b/c/d:/x", "is not a valid kubectl name"),
        ("ssh:host:relative", "must be absolute or begin with ~"),
        ("command:", "needs a command"),
        ("command:/x:unclosed '", "closing quotation"),
        ("devcontainer:relative", "add the folder that contains the dev container"),
    ],
)
def test_an_invalid_place_name_is_refused_with_the_correct_form(there: Path, place: str, words: str) -> None:
    done = play(there, ["never asked"], on=place)
    assert done.code == 2 and words in done.err, done
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-program-at-all", "is not installed on this machine"),
        (
            "sh -c 'echo welcome; exit 7'",
            "ended with exit code 7 before agent-ls could start on that machine: welcome",
        ),
        ("sh -c 'echo Permission denied \\(publickey\\). >&2; exit 255'", "your key was refused"),
        ("sh -c 'exec no-such-python3'", "was not found on that machine"),
    ],
)
def test_a_remote_place_that_fails_to_start_is_reported_with_the_cause_and_no_traceback(
    there: Path, command: str, words: str
) -> None:
    done = play(there, ["never asked"], on=f"command:{there}:{command}")
    assert done.code == 1 and words in done.err, done
    assert "Traceback" not in done.err and len(done.err.splitlines()) == 2, done.err


def test_a_missing_folder_at_a_remote_place_is_reported_with_the_name_of_the_place(there: Path) -> None:
    done = play(there, ["never asked"], on=f"command:{there}/missing:{sys.executable}")
    assert done.code == 2 and "missing" in done.err and sys.executable in done.err, done
