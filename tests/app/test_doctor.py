"""`agent-ls doctor`: it says what is missing and what to do, shows no key, and asks nobody when it is told so."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent_ls.app.doctor import EDITORS as EDITORS_KNOWN, Finding, examine, windows
from agent_ls.app.settings import Settings, parse_settings
from tests.docs.pages import read, section, table
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


@pytest.mark.req("H16", "X5")
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_KEY", "ANTHROPIC_APIKEY", "CLAUDE_API_KEY", "ANTHROPIC_AUTH_TOKEN"]
)
async def test_a_key_in_a_variable_that_nothing_reads_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, SECRET)

    keys = [one for one in await examine(asks_providers=False) if one.subject == "keys"]

    assert keys[-1].text == f"{name} is set, but not read" and "ANTHROPIC_API_KEY" in keys[-1].hint
    assert SECRET not in str(keys)

    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")
    assert (await found())["keys"].text == "there is one for anthropic"


async def test_a_provider_that_cannot_be_reached_is_what_is_to_be_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with AnthropicServer([ErrorReply(401)]) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.base_url)
        findings = await found(asks_providers=True)

    assert "anthropic" in findings["models"].hint and "set a key" not in findings["models"].hint


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
    assert findings["log"].grade == "bad"
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


@pytest.mark.req("H16")
async def test_for_programs_it_prints_objects_and_ends_with_1_when_something_is_bad(tmp_path: Path) -> None:
    environ = {**commands.environment(tmp_path / "home"), "SSL_CERT_FILE": str(tmp_path / "none.pem")}
    done = await anyio.run_process(
        commands.command("doctor", "--offline", "--json"), env=environ, check=False
    )
    findings = json.loads(done.stdout)

    assert done.returncode == 1
    assert all(set(one) == {"subject", "grade", "text", "hint"} for one in findings)
    assert all(one["grade"] in ("good", "note", "bad") for one in findings)
    assert [one["hint"] for one in findings if one["grade"] == "bad"] == [
        "put a PEM file of valid certificates there, or unset SSL_CERT_FILE"
    ]


def authority(days: int, *, is_authority: bool = True) -> bytes:
    """A certificate in PEM that is valid for so many days from now; it began when others may have ended already."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A test's own")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=100))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM)


@pytest.mark.req("U11")
@pytest.mark.parametrize(
    ("held", "grade", "told"),
    [
        ([authority(365)], "good", "valid until"),
        ([authority(365), authority(5)], "note", "the first expires on"),
        ([authority(365), authority(-5)], "note", "1 of them have expired"),
        ([authority(-5)], "bad", "1 of them have expired"),
        ([authority(365, is_authority=False)], "note", "none of them is"),
        ([b"no certificate"], "bad", "PEM"),
        ([], "bad", "PEM"),
    ],
)
@pytest.mark.parametrize("by", ["SSL_CERT_FILE", "providers.anthropic.caFile"])
async def test_a_file_of_authorities_is_looked_at_for_what_it_holds_and_how_long(
    by: str, held: list[bytes], grade: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(b"".join(held))
    settings = Settings()
    if by == "SSL_CERT_FILE":
        monkeypatch.setenv(by, str(file))
    else:
        settings = parse_settings({"providers": {"anthropic": {"caFile": str(file)}}})[0]

    findings = await examine(asks_providers=False, settings=settings)
    (finding,) = (one for one in findings if one.text.startswith(f"{by}: {file}"))

    assert (finding.subject, finding.grade) == ("certificates", grade)
    assert told in finding.text and bool(finding.hint) == (grade != "good")


@pytest.mark.req("H16")
async def test_the_settings_of_an_editor_are_looked_at_and_their_addresses_asked(tmp_path: Path) -> None:
    environ = commands.environment(tmp_path / "home")
    file = tmp_path / "settings.json"
    with AnthropicServer([ErrorReply(401)]) as provider:
        environ["ANTHROPIC_API_KEY"] = SECRET
        section = {"mode": "yolo", "providers": {"anthropic": {"baseUrl": provider.base_url}}}
        file.write_text(json.dumps({"agentLs": section}))
        words = commands.command("doctor", "--json", "--settings", str(file))
        done = await anyio.run_process(words, env=environ, check=False)
    findings = {one["subject"]: one for one in json.loads(done.stdout)}

    assert done.returncode == 1 and SECRET not in done.stdout.decode()
    assert findings["settings"]["grade"] == "bad" and "agentLs.mode" in findings["settings"]["text"]
    assert findings["anthropic"]["text"].startswith(provider.base_url)


@pytest.mark.parametrize("content", ["[]", "{", None])
async def test_a_file_of_settings_that_is_none_is_said_in_one_line(
    content: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "settings.json"
    if content is not None:
        file.write_text(content)
    words = commands.command("doctor", "--offline", "--settings", str(file))
    done = await anyio.run_process(words, env=commands.environment(tmp_path / "home"), check=False)

    assert done.returncode == 2 and done.stderr.decode().startswith(f"agent-ls: {file} is no JSON object")


async def test_keys_that_others_may_read_are_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "keys.json").write_text("{}")
    (state / "keys.json").chmod(0o644)
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(state))

    bad = [one for one in await examine(asks_providers=False) if one.grade == "bad"]

    assert [(one.subject, one.hint.split(",")[0]) for one in bad] == [
        ("keys", f"chmod 600 {state / 'keys.json'}")
    ]


EDITORS = [
    ("nvim", "NVIM v0.11.4", "NVIM v0.10.2"),
    ("code", "1.100.0", "1.99.3"),
    ("emacs", "GNU Emacs 29.4", "GNU Emacs 27.2"),
    ("hx", "helix 25.01 (abc)", "helix 23.10"),
    ("kate", "kate 24.08.1", "kate 21.12.3"),
]


@pytest.mark.req("H11")
@pytest.mark.parametrize(("program", "new", "old"), EDITORS)
async def test_an_editor_on_path_is_told_with_the_lowest_version_that_works(
    program: str, new: str, old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grades = []
    for words in (new, old, "it speaks in riddles"):
        (tmp_path / program).write_text(f"#!/bin/sh\necho '{words}'\n")
        (tmp_path / program).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        (name,) = (name for known, name, _ in EDITORS_KNOWN if known == program)
        finding = (await found())[name]
        grades.append(finding.grade)
        assert bool(finding.hint) == (finding.grade != "good")
    assert grades == ["good", "note", "note"]


@pytest.mark.req("H19")
def test_windows_is_told_what_it_has_less_of_and_what_of_it_is_not_proven() -> None:
    findings = list(windows())

    assert all(one.grade == "note" and "Windows" in one.text and one.hint for one in findings)
    assert {"commands", "processes", "untested"} == {one.subject for one in findings}


@pytest.mark.req("H19")
def test_the_page_of_limits_names_what_is_untested_on_each_system() -> None:
    rows = {row[0]: row[2] for row in table(section(read("docs/security.md"), "## Systems"), "system")}

    assert set(rows) == {"Linux", "macOS", "Windows"}
    assert "our tests do not run there" in rows["macOS"]
    assert "under Wine; Windows itself" in rows["Windows"] and "are not" in rows["Windows"]
