"""`agent-ls doctor` reports missing parts with a hint, prints no key, and contacts providers only on request."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent_ls.doctor.examination import (
    EDITORS as EDITORS_KNOWN,
    DoctorFinding,
    examine,
    list_windows_limits,
)
from agent_ls.doctor.places import examine_place
from agent_ls.doctor.user_files import user_file_findings
from agent_ls.environments.remote.place import Place
from agent_ls.services.settings.model import Settings, parse_settings
from tests.docs.pages import read, section, table
from tests.support import commands
from tests.support.loopback import AnthropicServer, ErrorReply

SECRET = "sk-ant-not-to-be-seen"


async def found(*, asks_providers: bool = False) -> dict[str, DoctorFinding]:
    return {finding.subject: finding for finding in await examine(asks_providers=asks_providers)}


@pytest.mark.req("H16")
async def test_doctor_gives_hints_if_nothing_is_configured() -> None:
    findings = await found()

    assert findings["keys"].grade == "note" and "agent-ls keys set" in findings["keys"].hint
    assert findings["ripgrep"].grade == "good" and findings["state"].grade == "good"
    assert all(finding.hint for finding in findings.values() if finding.grade == "bad")


@pytest.mark.req("H16", "X5")
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_KEY", "ANTHROPIC_APIKEY", "CLAUDE_API_KEY", "ANTHROPIC_AUTH_TOKEN"]
)
async def test_a_key_in_a_variable_that_nothing_reads_is_reported(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, SECRET)

    keys = [one for one in await examine(asks_providers=False) if one.subject == "keys"]

    assert (
        keys[-1].text == f"{name} is set, but agent-ls does not read this variable"
        and "ANTHROPIC_API_KEY" in keys[-1].hint
    )
    assert SECRET not in str(keys)

    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")
    assert (await found())["keys"].text == "keys are set for anthropic"


async def test_an_unreachable_provider_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with AnthropicServer([ErrorReply(401)]) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.base_url)
        findings = await found(asks_providers=True)

    assert "anthropic" in findings["models"].hint and "set a key" not in findings["models"].hint


@pytest.mark.parametrize("mode", [0o755, 0o750])
async def test_a_state_folder_readable_by_others_is_a_problem(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    state.chmod(mode)
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(state))

    finding = (await found())["state"]

    assert finding.grade == "bad" and finding.hint == f"chmod 700 {state}"


async def test_an_unwritable_state_folder_and_a_missing_certificate_are_problems(
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
async def test_a_key_that_the_provider_rejects_is_a_problem_and_is_not_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with AnthropicServer([ErrorReply(401)]) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.base_url)
        findings = await found(asks_providers=True)

    assert findings["keys"].grade == "good"
    assert findings["anthropic"].grade == "bad" and provider.base_url in findings["anthropic"].text
    assert SECRET not in str(findings)


async def test_doctor_prints_one_line_per_finding_and_exits_with_0_without_problems(tmp_path: Path) -> None:
    environ = commands.environment(tmp_path / "home")
    done = await anyio.run_process(commands.command("doctor", "--offline"), env=environ, check=False)

    assert done.returncode == 0, done.stdout.decode()
    assert "✓ agent-ls" in done.stdout.decode() and "· keys" in done.stdout.decode()


@pytest.mark.req("H16")
async def test_json_output_has_one_object_per_finding_and_the_exit_code_is_1_with_a_problem(
    tmp_path: Path,
) -> None:
    environ = {**commands.environment(tmp_path / "home"), "SSL_CERT_FILE": str(tmp_path / "none.pem")}
    done = await anyio.run_process(
        commands.command("doctor", "--offline", "--json"), env=environ, check=False
    )
    findings = json.loads(done.stdout)

    assert done.returncode == 1
    assert all(set(one) == {"subject", "grade", "text", "hint"} for one in findings)
    assert all(one["grade"] in ("good", "note", "bad") for one in findings)
    assert [one["hint"] for one in findings if one["grade"] == "bad"] == [
        "set SSL_CERT_FILE to a PEM file of valid certificates, or unset it"
    ]


def authority(days: int, *, is_authority: bool = True) -> bytes:
    """Return a PEM certificate that is valid since 100 days ago and until `days` from now (negative: expired)."""
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
    ("held", "grade", "phrase"),
    [
        ([authority(365)], "good", "valid until"),
        ([authority(365), authority(5)], "note", "the first certificate expires on"),
        ([authority(365), authority(-5)], "note", "1 of the certificates have expired"),
        ([authority(-5)], "bad", "1 of the certificates have expired"),
        ([authority(365, is_authority=False)], "note", "none of the certificates belongs"),
        ([b"no certificate"], "bad", "PEM"),
        ([], "bad", "PEM"),
    ],
)
@pytest.mark.parametrize("by", ["SSL_CERT_FILE", "providers.anthropic.caFile"])
async def test_a_certificate_file_is_checked_for_authorities_and_expiry(
    by: str, held: list[bytes], grade: str, phrase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    assert phrase in finding.text and bool(finding.hint) == (grade != "good")


@pytest.mark.req("H16")
async def test_the_editors_settings_are_checked_and_their_providers_contacted(tmp_path: Path) -> None:
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
async def test_an_invalid_settings_file_is_named_with_what_to_do(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    if content is not None:
        file.write_text(content)
    words = commands.command("doctor", "--offline", "--settings", str(file))
    done = await anyio.run_process(words, env=commands.environment(tmp_path / "home"), check=False)

    assert done.returncode == 2 and done.stderr.decode().startswith(
        f"agent-ls doctor: the settings file {file} "
    )


@pytest.mark.req("H19")
async def test_doctor_checks_the_user_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"maxTurn": 1}')
    environ = commands.environment(tmp_path / "home", AGENT_LS_SETTINGS=str(file))
    done = await anyio.run_process(commands.command("doctor", "--offline"), env=environ, check=False)

    assert (
        done.returncode == 1 and f"{file}: agentLs.maxTurn: there is no such setting" in done.stdout.decode()
    )


async def test_keys_readable_by_others_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.req("T12", "T15", "T16")
async def test_files_of_skills_agents_and_hooks_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    for name, content in (
        ("skills/quiet/SKILL.md", "---\nname: quiet\n---\nx"),
        ("agents/quiet.md", "no rows"),
        ("hooks.json", json.dumps({"hooks": {
            "PreToolUse": [{"matcher": "run_terminal", "hooks": [{"type": "command", "command": "true"}]}],
            "beforeTheStorm": [{"hooks": [{"type": "command", "command": "true"}]}],
        }})),
    ):  # fmt: skip
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text(content, "utf-8")
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(state))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = [it.text for it in user_file_findings(Settings())]
    assert len(found) == 4
    for words in (
        "skills/quiet/SKILL.md: ",
        "agents/quiet.md: ",
        "'run_terminal' matches no tool",
        "beforeTheStorm",
    ):
        assert any(words in text for text in found), (words, found)


@pytest.mark.req("H11")
async def test_an_outdated_editor_on_path_is_a_note_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    names = {program: name for program, name, _ in EDITORS_KNOWN}
    for version, grade in enumerate(("good", "note", "note")):
        for program, *versions in EDITORS:
            (tmp_path / program).write_text(
                f"#!/bin/sh\necho '{[*versions, 'it speaks in riddles'][version]}'\n"
            )
            (tmp_path / program).chmod(0o755)
        findings = await found()
        for program, *_ in EDITORS:
            finding = findings[names[program]]
            assert (finding.grade, bool(finding.hint)) == (grade, grade != "good"), program


@pytest.mark.req("H19")
def test_on_windows_missing_and_untested_features_are_reported() -> None:
    findings = list(list_windows_limits())

    assert all(one.grade == "note" and "Windows" in one.text and one.hint for one in findings)
    assert {"commands", "processes", "untested"} == {one.subject for one in findings}


@pytest.mark.req("H19")
def test_the_security_page_lists_untested_features_per_operating_system() -> None:
    rows = {
        row[0]: row[2] for row in table(section(read("docs/security-details.md"), "## Systems"), "system")
    }

    assert set(rows) == {"Linux", "macOS", "Windows"}
    assert "run on macOS" in rows["macOS"]
    assert "under Wine; real Windows" in rows["Windows"] and "are not" in rows["Windows"]


@pytest.mark.req("X3")
async def test_a_place_is_checked_with_its_folder_python_and_programs(tmp_path: Path) -> None:
    place = Place("command", command=(sys.executable,), path=str(tmp_path))
    found = await examine_place(place)
    assert [it.grade for it in found[:2]] == ["good", "good"]
    assert str(tmp_path) in found[1].text and "Python 3." in found[0].text
    assert any("git" in it.text for it in found)
    (missing,) = [it for it in await examine_place(replace(place, path="/no/such")) if it.grade == "bad"]
    assert "/no/such" in missing.text and missing.hint
    (lost,) = await examine_place(replace(place, command=("no-such-program",)))
    assert lost.grade == "bad" and "no-such-program" in lost.text and lost.hint


def run_on_a_full_disk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run agent-ls with a limit that has the effect of a full disk: a file can be created, but gets no byte."""
    return subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *commands.command(*words)],
        cwd=folder,
        env=commands.environment(folder / "home"),
        capture_output=True,
        text=True,
        timeout=commands.DEADLINE_S,
        check=False,
    )


@pytest.mark.req("H13")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit for the size of files")
def test_a_state_folder_whose_disk_takes_no_byte_is_a_problem_and_gets_no_leftovers(tmp_path: Path) -> None:
    done = run_on_a_full_disk(tmp_path, "doctor", "--offline", "--json")
    (state,) = [row for row in json.loads(done.stdout) if row["subject"] == "state"]
    assert done.returncode == 1 and state["grade"] == "bad", done
    assert not [path for path in (tmp_path / "home" / "state").rglob("*") if path.is_file()]


@pytest.mark.req("H13")
@pytest.mark.report("autohandai/code-cli#464")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit for the size of files")
def test_a_command_without_any_folder_for_temporary_files_says_so_without_a_traceback(tmp_path: Path) -> None:
    done = run_on_a_full_disk(tmp_path, "demo", "--headless")
    reason, step = done.stderr.splitlines()
    assert done.returncode == 1 and reason.startswith("agent-ls: ") and "TMPDIR" in step, done
