"""`agent-ls doctor`: it says what is missing and what to do, shows no key, and asks nobody when it is told so."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agent_ls.app.doctor import Finding, examine
from tests.support import commands
from tests.support.loopback import AnthropicServer, ErrorReply

SECRET = "sk-ant-not-to-be-seen"


async def found(*, asks_providers: bool = False) -> dict[str, Finding]:
    return {finding.subject: finding for finding in await examine(asks_providers=asks_providers)}


@pytest.mark.req("H16")
async def test_on_a_machine_with_nothing_set_it_says_what_to_do() -> None:
    findings = await found()

    assert findings["keys"].grade == "note" and "agent-ls keys set" in findings["keys"].hint
    assert findings["ripgrep"].grade == "good" and findings["state"].grade == "good"
    assert all(finding.hint for finding in findings.values() if finding.grade == "bad")


@pytest.mark.parametrize("mode", [0o755, 0o750])
async def test_a_state_folder_that_others_may_read_is_a_problem(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    state.chmod(mode)
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(state))

    finding = (await found())["state"]

    assert finding.grade == "bad" and finding.hint == f"chmod 700 {state}"


async def test_a_state_folder_that_cannot_be_made_and_a_missing_certificate_are_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "file" / "state"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://ada:{SECRET}@proxy.example")

    findings = await found()

    assert findings["state"].grade == "bad" and "AGENT_LS_STATE_DIR" in findings["state"].hint
    assert findings["proxy"].text == "set by HTTPS_PROXY"
    bad = [one for one in await examine(asks_providers=False) if one.subject == "certificates"]
    assert bad[0].grade == "bad" and "none.pem" in bad[0].text


@pytest.mark.req("X5")
async def test_a_wrong_key_is_told_by_the_provider_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with AnthropicServer([ErrorReply(401)]) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.base_url)
        findings = await found(asks_providers=True)

    assert findings["keys"].text == "there is one for anthropic"
    assert findings["anthropic"].grade == "bad" and provider.base_url in findings["anthropic"].text
    assert SECRET not in str(findings)


async def test_the_command_prints_a_line_for_each_and_ends_with_0_when_nothing_is_bad(tmp_path: Path) -> None:
    environ = commands.environment(tmp_path / "home")
    done = await anyio.run_process(commands.command("doctor", "--offline"), env=environ, check=False)

    assert done.returncode == 0, done.stdout.decode()
    assert "✓ agent-ls" in done.stdout.decode() and "· keys" in done.stdout.decode()
