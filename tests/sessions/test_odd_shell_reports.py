"""Commands and shells that broke other agents: what the model reads of each, with real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sessions.test_shell_reports import read_by_model, shell
from tests.support.reports import reported

pytestmark = pytest.mark.req("T5", "H5")

COMMANDS: list[Any] = [
    reported("gptme/gptme#3802", "cat <<END-TAG\nbody\nEND-TAG\necho after", "after", 0, id="tag with a dash"),
    reported("holzschu/a-shell#1054", "cat > o.txt <<'M'\nhello\nM\ncat o.txt", "hello", 0, id="to a file"),
    reported("netease-lcap/wave-agent#1374", "echo \"$(cat <<'EOF'\n## x `code` $y 'q'\nEOF\n)\"", "## x `code` $y 'q'",
        0, id="here-document in quotes"),
    reported("agentscope-ai/agentscope-java#3198",
        "cd . && python3 - <<'EOF'\nfor k in {'a': 1}:\n    if k in ('a',):\n        print(\"found\", k)\nEOF",
        "found a", 0, id="here-document at the end"),
    reported("anthropics/claude-code#32563", "cat > p.ps1 << 'EOF'\n$lines += 'hello world'\nEOF\ncat p.ps1",
        "$lines += 'hello world'", 0, id="quotes in a here-document"),
    reported("anomalyco/opencode#47350", "setsid sleep 300 & echo started", "started", 0, id="another process session"),
    reported("netclaw-dev/netclaw#1887", "(while :; do echo tick; sleep 0.2; done) & echo daemon", "daemon", 0,
        id="a program in the background that prints"),
    reported("everruns/yolop#638", "export A=1; set -e; false; echo never", "no output", 1, id="fails in the middle"),
    reported("IstiN/dmtools-agents#327", "mkdir s && cd s && true", "no output", 0, id="cd in one command"),
    reported("anthropics/claude-code#37659", "mkdir server && cd server && pwd", "/server", 0, id="cd and more"),
    reported("NousResearch/hermes-agent#10584", "python3 -m http.server 0 &>/dev/null &", "no output", 0, id="server"),
    reported("anthropics/claude-code#94055", "printf 'a\\0b\\n'", "a", 0, id="nul"),
    reported("PrimeIntellect-ai/nano-rlm#156", "head -c 3000 /dev/urandom; echo; echo end", "end", 0, id="binary"),
    reported("anthropics/claude-code#42324", "echo to-error 1>&2; echo both 2>&1", "to-error", 0, id="redirection"),
    pytest.param("exec 1>log; echo hidden; echo shown 1>&2", "shown", 0, id="exec"),
    pytest.param("exec true; echo never", "no output", 0, id="exec program"),
    pytest.param("trap 'echo bye' EXIT; echo hi", "bye", 0, id="trap"),
    pytest.param("kill -TERM $$; sleep 5", "", None, id="kills itself"),
    reported("openclaw/openclaw#148027", "echo half; kill -TERM $$; sleep 5", "ended by signal 15", None, id="signal"),
    reported("jfrog/boost#69", "(cat > x.txt <<'EOF'\nhello\nEOF\nwc -c x.txt)", "6 x.txt", 0,
        id="a here-document in brackets"),
    reported("mitsuhiko/agent-stuff#11",
        "git init -q .; EDITOR=vi git -c user.name=a -c user.email=a@b commit --allow-empty",
        "cannot open an editor", 1, id="editor"),
    reported("NousResearch/hermes-agent#8340", "cd . && setsid sleep 300 > log 2>&1 < /dev/null & disown",
        "no output", 0, id="disown"),
    pytest.param("kill 0; sleep 5", "", None, id="kills its group"),
    pytest.param("set -euo pipefail; false | true; echo never", "", 1, id="pipefail"),
    reported("rabchev/web-terminal#1", "(read -r x </dev/tty) 2>&1; echo after", "after", 0, id="tty"),
    pytest.param("cd /nowhere-at-all; echo still", "still", 0, id="cd fails"),
    pytest.param("mkdir x && cd x && rmdir ../x && pwd; echo after", "after", 0, id="folder vanishes"),
    pytest.param("printf '%s' \"no newline\"", "no newline", 0, id="no newline"),
    reported("takluyver/bash_kernel#132", "echo hi \\", "hi", 0, id="backslash at the end"),
    reported("NVIDIA-NeMo/labs-OO-Agents#149", 'echo "abc', "unexpected EOF", 2, id="a quote that is not closed"),
    pytest.param("echo $(ls", "", 2, id="a bracket that is not closed"),
    pytest.param("cat <<EOF\nx", "x", 0, id="a here-document without its end"),
    pytest.param("echo 'unclosed", "", 2, id="unclosed"),
    pytest.param("printf 'a\\r\\nb\\r\\n'", "b", 0, id="crlf"),
    pytest.param("cat > s.sh <<'E'\n#!/bin/bash\r\necho x\r\nE\nbash s.sh; echo after", "after", 0, id="crlf script"),
    pytest.param("echo $TERM $PAGER $GIT_PAGER; git --no-pager --version", "git version", 0, id="pager"),
    pytest.param("python3 -c 'input()'; echo after", "after", 0, id="input"),
    reported("deftai/directive#2568", "BIN='echo one'; $BIN two", "one two", 0, id="split"),
    reported("zed-industries/zed#58600", 'f() { local x=1; echo "$x"; }; f; declare -A m=([k]=v); echo ${m[k]}', "v",
        0, id="bash"),
    reported("zed-industries/zed#57631", "[[ abc == a* ]] && echo match {1..3}", "match 1 2 3", 0,
        id="tests of bash"),
    reported("superset-sh/superset#6060", "cat <<'D'\nit's \"q\" \\\\d+ $(x)\nD", 'it\'s "q" \\\\d+ $(x)', 0,
        id="heredoc"),
    reported("arcboxlabs/linkcode#486", "if command -v sh >/dev/null 2>&1; then echo yes; else echo no; fi", "yes", 0,
        id="if"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "has", "code"), COMMANDS)
async def test_a_command_is_answered_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, has: str, code: int | None
) -> None:
    """The user's shell prints at its start, and is one that knows no bash."""
    home = tmp_path / "home"
    home.mkdir()
    for name in (".bashrc", ".bash_profile", ".profile"):
        (home / name).write_text("echo NOISE; exit 3\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    first, second = await read_by_model(tmp_path, shell(command), shell("pwd"))
    assert has in first and "NOISE" not in first
    assert code is None or f"Exit code: {code}\n" in first
    assert str(tmp_path / "project") in second


@pytest.mark.report("dust-tt/dust#23105")
@pytest.mark.report("mutagen-io/mutagen#393")
async def test_files_that_a_shell_reads_at_its_start_add_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = tmp_path / "noisy.sh"
    noisy.write_text("echo NOISE\n")
    monkeypatch.setenv("BASH_ENV", str(noisy))
    monkeypatch.setenv("ENV", str(noisy))
    (output,) = await read_by_model(tmp_path, shell("echo shown"))
    assert "shown" in output and "NOISE" not in output
