"""Check each requirement of agent-ls: report whether it is met, or else how to meet it.

Nothing is changed and no key is printed. Only configured providers are contacted, and only on request.
"""

from __future__ import annotations

import os
import platform
import shutil
import ssl
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import anyio
import anyio.to_thread

from agent_ls._version import __version__
from agent_ls.doctor.findings import DoctorFinding as DoctorFinding
from agent_ls.doctor.servers import server_findings
from agent_ls.doctor.user_files import user_file_findings
from agent_ls.environments.local.processes.ending import run_program
from agent_ls.environments.local.ripgrep import candidates, find_working
from agent_ls.environments.local.trees.session_trees import default_shell
from agent_ls.llm.credentials import KEYLESS, VARIABLES, Credentials, find_misnamed_keys, key_variable
from agent_ls.patterns import regex
from agent_ls.program_lookup import find_program
from agent_ls.services.clock import SystemClock
from agent_ls.services.logs import log_path
from agent_ls.services.models.certificates import check_authorities
from agent_ls.services.models.key_store import load_credentials
from agent_ls.services.models.probe import LOCAL, reach_all
from agent_ls.services.models.service import model_words, server_title
from agent_ls.services.permissions.paths import places_of
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.session_sandbox import SessionSandbox
from agent_ls.services.permissions.trust import TRUST_VARIABLE, read_trust, trusted_by_variable
from agent_ls.services.settings.model import SandboxSettings, Settings, ToolPackSettings
from agent_ls.services.settings.state_folder import not_stored, state_folder

SHOWN_MODELS = 5
PROGRAM_S = 10.0
RIPGREP_FROM = (13, 0, 0)
GIT_FROM = (2, 20, 0)
EDITORS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("nvim", "Neovim", (0, 11, 0)),
    ("code", "VS Code", (1, 100, 0)),
    ("emacs", "Emacs", (28, 1)),
    ("hx", "Helix", (24, 7)),
    ("subl", "Sublime Text", (4, 0)),
    ("kate", "Kate", (22, 12, 0)),
)
"""Program, display name and minimum version of each editor. An editor that is not installed is not reported."""

_TRUST_HINT = "`agent-ls trust list` lists your decisions; `add`, `restrict` and `forget` change them"
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_WINDOWS = (
    (
        "commands",
        "cmd.exe runs commands through pipes: you cannot type into a running command, and only its output is displayed",
    ),
    (
        "processes",
        "stopping a command kills it at once with all processes that it started, because Windows has no SIGTERM",
    ),
    (
        "untested",
        "agent-ls is tested in Wine, not on Windows itself, and not with editors on Windows",
    ),
)
_VERSION = regex(r"(\d+(?:\.\d+)+|\b\d{4}\b)")


async def examine(*, asks_providers: bool, settings: Settings | None = None) -> list[DoctorFinding]:
    """Return all findings in display order. A missing program or file never raises an exception.

    `asks_providers`: also contact the providers. `settings` are the editor's settings; None if they are unknown.
    """
    credentials = load_credentials()
    settings = settings or Settings()
    found = [_check_program(), *_check_system()]
    found += await anyio.to_thread.run_sync(lambda: [_check_state(), *_check_kept_keys(), *_check_log()])
    found += await anyio.to_thread.run_sync(_check_trust)
    found += [await _check_sandbox(settings), await _check_read_only(settings)]
    found += [await _check_ripgrep(), await _check_git()]
    found += await anyio.to_thread.run_sync(lambda: [*_check_tool_packs(settings)])
    found += await anyio.to_thread.run_sync(lambda: [*_check_certificates(settings)])
    found += [_check_keys(credentials), *_check_misnamed_keys(credentials)]
    found += await anyio.to_thread.run_sync(server_findings, settings)
    found += await anyio.to_thread.run_sync(lambda: [*user_file_findings(settings)])
    if asks_providers:
        found += await _check_providers(credentials, settings)
    return found + await _check_editors()


def _check_program() -> DoctorFinding:
    python = ".".join(map(str, sys.version_info[:3]))
    return DoctorFinding("agent-ls", "good", f"{__version__}, Python {python}, {platform.platform()}")


def _check_system() -> Iterator[DoctorFinding]:
    if os.name == "nt":
        yield from list_windows_limits()
        return
    yield DoctorFinding("commands", "good", f"run by {default_shell()}, through pipes")


def list_windows_limits() -> Iterator[DoctorFinding]:
    """Report the features that are missing on Windows, except the sandbox, which has its own finding."""
    for subject, text in _WINDOWS:
        yield DoctorFinding(
            subject, "note", f"Windows: {text}", "see `agent-ls docs security-details systems`"
        )


async def _check_sandbox(settings: Settings) -> DoctorFinding:
    """Report the limits that a sandbox would enforce for a session in this folder."""
    text = "bubblewrap and seatbelt do not exist on Windows"
    if os.name == "posix":
        places = await anyio.to_thread.run_sync(lambda: places_of(".", settings=settings.paths))
        sandbox = SessionSandbox(
            SandboxSettings(enabled=True),
            lambda: places,
            str(state_folder()),
            lambda event: None,
            ReadOnlySandbox(state_folder()),
        )
        text = await sandbox.start_sandbox()
        stands, why = sandbox.is_started, sandbox.why
        await anyio.to_thread.run_sync(sandbox.take_down)
        if stands:
            text = f"available for the setting agentLs.sandbox: {text}"
            hint = "see `agent-ls docs permissions sandbox`" if why else ""
            return DoctorFinding("sandbox", "note" if why else "good", text, hint)
    return DoctorFinding(
        "sandbox", "note", f"not available for commands: {text}", "see `agent-ls docs permissions sandbox`"
    )


async def _check_read_only(settings: Settings) -> DoctorFinding:
    """Report whether read-only commands can be confined, so that they cannot write files or use the network."""
    read_only = ReadOnlySandbox(state_folder())
    if sandbox := await read_only.find():
        text = f"read-only commands run confined ({sandbox.kind}): they cannot write files or use the network"
        return DoctorFinding("read-only", "good", text)
    asked = settings.unconfined_commands == "ask"
    then = (
        "most of these commands need your approval"
        if asked
        else "your settings let them run without approval"
    )
    text = f"read-only commands cannot be confined ({read_only.why}): {then}"
    return DoctorFinding("read-only", "note", text, "see `agent-ls docs security-details silent commands`")


def _check_state() -> DoctorFinding:
    folder = state_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(4096))  # a full disk still creates files
            mode = folder.stat().st_mode & 0o777
    except OSError as error:
        problem = not_stored("sessions", error, folder)
        return DoctorFinding("state", "bad", f"{problem}: {folder}", problem.hint)
    free = shutil.disk_usage(folder).free // (1024 * 1024)
    if os.name == "posix" and mode & 0o077:
        return DoctorFinding(
            "state", "bad", f"other users may read {folder} (mode {mode:o})", f"chmod 700 {folder}"
        )
    if free < 100:
        return DoctorFinding(
            "state", "note", f"the disk of {folder} has only {free} MB free", "free some space"
        )
    return DoctorFinding("state", "good", f"sessions are stored in {folder}")


def _check_kept_keys() -> Iterator[DoctorFinding]:
    """Report stored keys that other users can read, for example after the folder's mode was changed."""
    file = state_folder() / "keys.json"
    try:
        mode = file.stat().st_mode & 0o777
    except OSError:
        return
    if os.name == "posix" and mode & 0o077:
        hint = f"chmod 600 {file}, and replace the keys if other people use this machine"
        yield DoctorFinding("keys", "bad", f"other users may read {file} (mode {mode:o})", hint)


def _check_trust() -> list[DoctorFinding]:
    here = str(Path().resolve())
    trust = read_trust(here)
    words = {
        "trusted": "this folder is trusted",
        "restricted": "this folder is not trusted: nothing is changed or run in it",
        "unknown": "you have not decided whether to trust this folder",
    }
    found = [DoctorFinding("trust", "good" if trust == "trusted" else "note", words[trust], _TRUST_HINT)]
    if everywhere := [place for place in trusted_by_variable() if place == os.path.abspath(os.sep)]:
        text = f"the environment variable {TRUST_VARIABLE} trusts all folders ({everywhere[0]})"
        found.append(
            DoctorFinding(
                "trust", "note", text, "use this variable only in a container that runs nothing else"
            )
        )
    return found


def _check_log() -> Iterator[DoctorFinding]:
    file = log_path()
    nearest = next(place for place in (file, *file.parents) if place.exists())
    if nearest != file and not nearest.is_dir():
        yield DoctorFinding("log", "bad", f"{file} cannot be written", f"{nearest} is not a folder")
        return
    if not os.access(nearest, os.W_OK):
        hint = f"make {nearest} writable; until then the log goes to stderr only"
        yield DoctorFinding("log", "bad", f"{file} cannot be written", hint)
        return
    places = (
        "warnings are also on the server's stderr, which the editor keeps: in Neovim the file "
        "vim.lsp.log.get_filename(), in VS Code the output channel agent-ls, in Emacs the buffer *EGLOT … stderr*"
    )
    yield DoctorFinding("log", "good", f"{file}; {places}")


async def _check_ripgrep() -> DoctorFinding:
    program = await anyio.to_thread.run_sync(lambda: find_working(candidates()))
    if not program:
        hint = "pip install ripgrep==14.1.0, or put rg on PATH"
        return DoctorFinding("ripgrep", "note", "ripgrep was not found; searching is slower without it", hint)
    version = await _version_of(program)
    text = f"{_format_version(version)}, {program}"
    if version >= RIPGREP_FROM:
        return DoctorFinding("ripgrep", "good", text)
    return DoctorFinding(
        "ripgrep",
        "note",
        f"{text} is older than {_format_version(RIPGREP_FROM)}",
        "pip install ripgrep==14.1.0",
    )


def _check_tool_packs(settings: Settings) -> Iterator[DoctorFinding]:
    """Report missing programs and permissions of the tool packs in the settings; nothing if no pack is chosen."""
    chosen = settings.tool_packs
    if chosen == ToolPackSettings():
        return
    from agent_ls.features.packs.load import PackChoice, load_packs, permissions_of  # few users choose packs

    has_network = not settings.sandbox.enabled or settings.sandbox.network
    report = load_packs(
        PackChoice(chosen.preset, tuple(chosen.packs), chosen.detect),
        os.getcwd(),
        path=os.environ.get("PATH"),
        permissions=permissions_of(os.getcwd(), is_restricted=False, has_network=has_network),
    ).report
    text = f"{report.usable} of {report.total} tools can be used ({report.coverage_percent}%)"
    yield DoctorFinding("tool packs", "good" if report.is_complete else "note", text)
    for one in report.missing:
        yield DoctorFinding(
            "tool packs",
            "note",
            f"{one.name} is not on PATH; tools that need it: {', '.join(one.tools)}",
            one.hint,
        )
    for problem in report.problems:
        yield DoctorFinding("tool packs", "note", problem)


def _check_certificates(settings: Settings) -> Iterator[DoctorFinding]:
    if (folder := os.environ.get("SSL_CERT_DIR")) and not Path(folder).is_dir():
        text = f"SSL_CERT_DIR names {folder}, which does not exist"
        yield DoctorFinding("certificates", "bad", text, "unset SSL_CERT_DIR")
    files = {"SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE", "")}
    files |= {f"providers.{name}.caFile": entry.ca_file for name, entry in settings.providers.items()}
    for name, file in files.items():
        if file:
            yield _check_authorities(name, Path(file))
    proxies = [name for name in _PROXIES if os.environ.get(name) or os.environ.get(name.lower())]
    if proxies:
        # The values may contain a password.
        yield DoctorFinding("proxy", "note", f"set by {', '.join(proxies)}")
    count = ssl.create_default_context().cert_store_stats()["x509_ca"]
    if not count and not ssl.get_default_verify_paths().capath:
        hint = "install the system's certificates, or set SSL_CERT_FILE, or caFile of a provider"
        yield DoctorFinding(
            "certificates", "note", "the system has no certificate authorities of its own", hint
        )
    else:
        yield DoctorFinding("certificates", "good", f"{count} certificate authorities of the system")


def _check_authorities(name: str, file: Path) -> DoctorFinding:
    found = check_authorities(file, datetime.fromisoformat(SystemClock().now()).timestamp())
    if not found.problem:
        return DoctorFinding("certificates", "good", f"{name}: {found.text}")
    hint = f"set {name} to a PEM file of valid certificates, or unset it"
    text = f"{name}: {found.text}: {found.problem}"
    return DoctorFinding("certificates", "bad" if found.is_useless else "note", text, hint)


def _check_keys(credentials: Credentials) -> DoctorFinding:
    names = [name for name in credentials.providers if credentials.secret(name)]
    if names:
        return DoctorFinding("keys", "good", f"keys are set for {', '.join(names)}")
    hint = f"`agent-ls keys set anthropic`, or set {key_variable('anthropic')}; local models need none"
    return DoctorFinding("keys", "note", "no API key is set", hint)


def _check_misnamed_keys(credentials: Credentials) -> Iterator[DoctorFinding]:
    """Report a misnamed environment variable that probably contains the key of a provider without a key.

    The report names the variable, never its value.
    """
    missing = {key_variable(name) for name in VARIABLES if not credentials.secret(name)}
    for name, variable in find_misnamed_keys(sorted(os.environ)):
        if variable in missing and os.environ[name].strip():
            yield DoctorFinding(
                "keys",
                "note",
                f"{name} is set, but agent-ls does not read this variable",
                f"set {variable} instead",
            )


async def _check_providers(credentials: Credentials, settings: Settings) -> list[DoctorFinding]:
    """Check the configured providers and the usual ports of local model servers."""
    endpoints = {name: entry.endpoint() for name, entry in settings.providers.items()}
    found = []
    for one in await reach_all(credentials, endpoints):
        if not one.problem:
            text = f"{server_title(one)} at {one.address} answers, {len(one.models)} models"
            described = [
                f"{it.id} ({words})" for it in one.models[:SHOWN_MODELS] if (words := model_words(it))
            ]
            is_local = one.provider in KEYLESS and described
            found.append(
                DoctorFinding(one.provider, "good", f"{text}: {'; '.join(described)}" if is_local else text)
            )
        elif credentials.secret(one.provider) or (one.address and one.provider not in LOCAL):
            hint = one.hint or "check that it is running and that its address is correct"
            found.append(DoctorFinding(one.provider, "bad", f"{one.address}: {one.problem}", hint))
    if not any(item.grade == "good" for item in found):
        hint = "set a key, or start a local server such as Ollama; `agent-ls demo` needs neither"
        if found:
            hint = f"solve the problem listed above under {found[0].subject}; `agent-ls demo` needs no model"
        found.append(DoctorFinding("models", "bad", "no model can be used now", hint))
    return found


async def _check_editors() -> list[DoctorFinding]:
    found = []
    for program, name, lowest in EDITORS:
        if not find_program(program):
            continue
        version = await _version_of(program)
        if not version:
            hint = f"check the version with `{program} --version`; {_format_version(lowest)} is known to work"
            found.append(DoctorFinding(name, "note", _format_version(version), hint))
        elif version < lowest:
            hint = f"use {_format_version(lowest)} or newer"
            found.append(
                DoctorFinding(
                    name,
                    "note",
                    f"version {_format_version(version)} is older than the versions that are known to work",
                    hint,
                )
            )
        else:
            found.append(
                DoctorFinding(
                    name,
                    "good",
                    f"version {_format_version(version)}; agent-ls works with "
                    f"{_format_version(lowest)} and newer",
                )
            )
    return found


async def _check_git() -> DoctorFinding:
    if not find_program("git"):
        missing = "not found: without git, sessions have no information about branches"
        return DoctorFinding("git", "note", missing, "install git")
    version = await _version_of("git")
    if version >= GIT_FROM:
        return DoctorFinding("git", "good", _format_version(version))
    words = f"{_format_version(version)}: this version is too old or unknown"
    return DoctorFinding("git", "note", words, f"use git {_format_version(GIT_FROM)} or newer")


async def _version_of(program: str) -> tuple[int, ...]:
    """Return the version as numbers; () if the program does not print it."""
    try:
        with anyio.fail_after(PROGRAM_S):
            answer = await run_program([find_program(program) or program, "--version"])
    except (OSError, TimeoutError):
        return ()
    found = _VERSION.search(answer.stdout.decode("utf-8", "replace"))
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _format_version(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "version unknown"
