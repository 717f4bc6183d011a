"""The configuration of an MCP server, the digest that identifies the configuration in approvals, and
the variables in the configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from agent_ls.addresses import split_address
from agent_ls.environments.local.environ import is_declared_secret, is_secret_name, secret_words
from agent_ls.mcp.entry import ServerEntry
from agent_ls.mcp.foreign_entry import our_entry, runs_line, type_key, unknown_keys
from agent_ls.mcp.foreign_keys import ELSEWHERE, TYPES
from agent_ls.mcp.names import command_for
from agent_ls.mcp.visible import visible
from agent_ls.near_names import did_you_mean
from agent_ls.patterns import regex

Source: TypeAlias = Literal["user", "client", "settings", "project"]
"""`user`: the user's own file. `client`: given by the ACP client for one session. `settings`: the editor's settings.
`client` and `settings` may contain values from the workspace, which is not trusted. `project`: a file of the
project.
"""

NEEDS_APPROVAL: frozenset[Source] = frozenset(("client", "settings", "project"))

VARIABLE = regex(r"(?<!\$)\$\{(?:env:|localEnv:)?([A-Za-z_][A-Za-z0-9_]*(?:\(x86\))?)(?::-([^}]*))?\}")
INPUT = regex(r"(?<!\$)\$\{input:([\w.-]+)\}")
FOLDER = "${workspaceFolder}"
_OF_EDITOR = regex(
    r"\$\{((?:config|command):[^}]*|(?:file|relativeFile|lineNumber|selectedText|execPath|defaultBuildTask)\w*)\}"
)
"""Variables of VS Code whose values only VS Code knows."""
_COMMAND = regex(r"(?<!\$)\$\([^()]+\)")
"""A command to be replaced by its output, as Crush and shells do."""
_IN_WORKSPACE = regex(r"\$\{workspaceFolder:[^}]*\}")
FETCHERS = frozenset(("npx", "npm", "pnpm", "bunx", "yarn", "uvx", "uv", "pipx", "docker", "podman", "deno"))
"""Programs that download code and run it."""
RUNNERS = frozenset(
    ("cmd", "sh", "bash", "zsh", "env", "powershell", "pwsh", "wsl", "sudo", "nice", "node", "corepack", "direnv",
     "fnm", "nvm", "mise", "asdf", "volta")
)  # fmt: skip
"""Programs that run the program that their arguments name."""


OBSOLETE = "uses the obsolete transport HTTP with SSE: use the streamable HTTP url of the server"


class ConfigError(Exception):
    """The configuration of a server is invalid; `str()` is the reason for the user."""


@dataclass(frozen=True, slots=True)
class ServerSandboxLimits:
    """The sandbox of a server. `writable` are writable folders in addition to the session's folder."""

    network: bool = False
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StdioTarget:
    """A server over stdin and stdout. `cwd` "" is the session's folder; `sandbox` None: no sandbox."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    sandbox: ServerSandboxLimits | None = None


@dataclass(frozen=True, slots=True)
class HttpTarget:
    url: str
    headers: tuple[tuple[str, str], ...] = ()


Target: TypeAlias = StdioTarget | HttpTarget


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The configuration of logins. `client_id` is one registered beforehand, or the https address of a document;
    "" registers a new client. `scopes` are the permissions to ask for, "" for those that the server names. `redirect`
    is the address of this machine that is registered; without a port, any free one is used. `server` is the address of
    the login server, "" for the one that the server names.
    """

    client_id: str = ""
    client_secret: str = ""
    scopes: str = ""
    redirect: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The configuration of one server. `file` is the file that contains it, "" for settings and ACP.
    Variables in `target` are not yet replaced by their values. `left_out` are keys of the entry without a meaning.
    `code` is a digest of the files of the project that the server runs, "" for none.
    """

    name: str
    target: Target
    source: Source
    file: str = ""
    is_enabled: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    timeout_ms: int = 0
    start_timeout_ms: int = 0
    trusts_annotations: bool = False
    oauth: OAuthClient = OAuthClient()
    left_out: tuple[str, ...] = ()
    code: str = ""

    @property
    def digest(self) -> str:
        """Return a hash of everything displayed in an approval. If the command, a file of the project that it runs,
        a variable or the URL changes, the user is asked again.

        Values of secrets are left out of the hash, so that a renewed secret needs no new approval. Only
        configurations from ACP clients contain such values; files contain the names of variables instead.
        """
        target = self.target
        parts: list[Any] = [self.name, type(target).__name__, self.trusts_annotations]
        if isinstance(target, StdioTarget):
            env = [(name, "" if self.is_literal and is_secret_name(name) else it) for name, it in target.env]
            parts += [target.command, target.args, env, target.cwd]
            parts += [target.sandbox.network, target.sandbox.writable] if target.sandbox else []
            parts += [self.code] if self.code else []
        else:
            headers = [(name, "" if self.is_literal else value) for name, value in target.headers]
            parts += [target.url, headers]
            *login, server = astuple(self.oauth)
            parts += [(*login, *filter(None, [server]))] if self.oauth != OAuthClient() else []
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def needs_approval(self) -> bool:
        return self.source in NEEDS_APPROVAL or bool(self.code)

    @property
    def is_literal(self) -> bool:
        """Return whether `${…}` in the texts of the configuration is literal text, not a variable to replace."""
        return self.source == "client"

    @property
    def texts(self) -> Sequence[str]:
        """Return all texts that may contain variables."""
        if self.is_literal:
            return ()
        target = self.target
        if isinstance(target, HttpTarget):
            return (target.url, *(value for _, value in target.headers), self.oauth.client_secret)
        return (target.command, *target.args, *(value for _, value in target.env), target.cwd)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the ids of the values that the user must enter (`${input:ID}`)."""
        return tuple(dict.fromkeys(found[1] for text in self.texts for found in INPUT.finditer(text)))

    @property
    def is_fetched(self) -> bool:
        """Return whether the command downloads the code that it runs."""
        if not isinstance(self.target, StdioTarget):
            return False
        words = [self.target.command]
        if (name := _program(words[0])) in RUNNERS:
            args = self.target.args[:1] if name == "node" else self.target.args
            words += [word for text in args for word in text.split()]
        return any(_program(word) in FETCHERS for word in words)

    def is_offered(self, tool: str) -> bool:
        """Return whether the tool is offered to the model. `tool` is the server's name for it."""
        allowed = not self.allow or any(fnmatchcase(tool, pattern) for pattern in self.allow)
        return allowed and not any(fnmatchcase(tool, pattern) for pattern in self.deny)


def _program(word: str) -> str:
    """Return the name of a program without its folder and the ending that it has on Windows, or as a script."""
    name = re.split(r"[\\/]", word.strip("\"'"))[-1].lower()
    return re.sub(r"(\.cmd|\.exe|\.ps1|-cli\.js)$", "", name)


def parse_server(name: str, raw: Any, source: Source, file: str = "") -> ServerConfig:
    """Parse the configuration of one server.

    Raises:
        ConfigError: the entry has neither a command nor a URL, or both, or an unknown key.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError("is not an object")
    entry, left_out = _entry(raw, is_literal=source == "client")
    if entry.command and entry.url and not entry.type:
        raise ConfigError("has both a command and a url: give only one of them, or the type stdio or http")
    wants_http = entry.type.startswith(("http", "stream"))
    if not (entry.url if wants_http else entry.command or (entry.url and not entry.type)):
        raise ConfigError(_why_no_target(raw, wants_http=wants_http))
    if source != "client":
        _refuse_commands(entry)
    target: Target
    if entry.url and (wants_http or not entry.command):
        if split_address(entry.url).scheme not in ("http", "https") and "${" not in entry.url:
            raise ConfigError("its url must begin with http:// or https://")
        target = HttpTarget(entry.url, tuple(entry.headers.items()))
    else:
        given = entry.sandbox
        sandbox = ServerSandboxLimits(given.network, tuple(given.writable)) if given.enabled else None
        target = StdioTarget(entry.command, tuple(entry.args), tuple(entry.env.items()), entry.cwd, sandbox)
    return ServerConfig(
        name=name,
        target=target,
        source=source,
        file=file,
        is_enabled=entry.enabled,
        allow=tuple(entry.tools.allow),
        deny=tuple(entry.tools.deny),
        timeout_ms=entry.timeout_ms,
        start_timeout_ms=entry.start_timeout_ms,
        # A project's file cannot reduce the approvals that the project's servers need.
        trusts_annotations=entry.trust == "annotations" and source != "project",
        oauth=_oauth_client(entry),
        left_out=left_out,
    )


def _refuse_commands(entry: ServerEntry) -> None:
    """Refuse a value that another agent makes by running a command. Arguments of a shell have commands of their own."""
    values = {f"env.{name}": it for name, it in entry.env.items()}
    values |= {f"headers.{name}": it for name, it in entry.headers.items()} | {
        "url": entry.url,
        "cwd": entry.cwd,
    }
    if _program(entry.command) not in RUNNERS and not runs_line(entry.args):
        values |= {"args": " ".join(entry.args)}
    for place, value in values.items():
        if found := _COMMAND.search(value):
            raise ConfigError(
                f"{place} has a command, which agent-ls does not run: instead of {found[0]}, write ${{NAME}} for a "
                "variable that you set before, or ${input:NAME} for a value that you enter with `agent-ls mcp login`"
            )


def _why_no_target(raw: Mapping[str, Any], *, wants_http: bool) -> str:
    if raw.get("settings") or raw.get("source") == "extension":
        return "is a server of a Zed extension, whose command only Zed knows: write its `command` or `url`"
    return "needs a url" if wants_http else "needs a command or a url"


def _oauth_client(entry: ServerEntry) -> OAuthClient:
    redirect = entry.oauth_redirect
    if redirect and not _is_loopback(redirect):
        raise ConfigError(
            "oauthRedirect must be an address of this machine, as http://localhost:3118/callback"
        )
    server = entry.oauth_server.rstrip("/")
    if server and split_address(server).scheme not in ("http", "https"):
        raise ConfigError("oauthServer must be an address that begins with https://")
    return OAuthClient(entry.oauth_client_id, entry.oauth_client_secret, entry.oauth_scopes, redirect, server)


def _is_loopback(address: str) -> bool:
    found = split_address(address)
    return found.scheme == "http" and found.hostname in _LOOPBACK and found.port != 0


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OUR_SANDBOX = frozenset(("enabled", "network", "writable"))


_KNOWN = frozenset(
    name for key, info in ServerEntry.model_fields.items() for name in (key, info.alias) if name
)


def _entry(raw: Mapping[str, Any], *, is_literal: bool) -> tuple[ServerEntry, tuple[str, ...]]:
    """Return the validated entry, and its keys that are left out because they mean nothing here."""
    known = our_entry(raw, is_literal=is_literal)
    kind = known.get("type")
    if kind == "sse":
        raise ConfigError(OBSOLETE)
    if isinstance(kind, str) and kind and kind not in TYPES.values():
        raise ConfigError(
            ELSEWHERE.get(type_key(kind))
            or f'the type "{kind}" is not known: write stdio or http, or leave it out'
        )
    if raw.get("envFile"):
        raise ConfigError(
            'has a file of environment variables, which agent-ls does not read: list each in env, as "NAME": "${NAME}"'
        )
    if isinstance(given := raw.get("sandbox"), Mapping) and not given.keys() <= _OUR_SANDBOX:
        raise ConfigError(
            "has a key `sandbox` in the format of another agent: use the keys enabled, network and writable in it"
        )
    if raw.get("sandboxEnabled") is True and "sandbox" not in raw:
        known["sandbox"] = {"enabled": True}
    left_out = unknown_keys(known, _KNOWN)
    try:
        entry = ServerEntry.model_validate({key: it for key, it in known.items() if key not in left_out})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden":
            near = did_you_mean(place, _KNOWN)
            raise ConfigError(f"{place}: is not known{near and f' ({near})'}") from None
        raise ConfigError(f"{place}: {problem['msg']}") from None
    return entry, tuple(key for key in left_out if not key.startswith(("_", "$", "x-")))


# --- variables

Lookup: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class VariableValues:
    """Values for the variables in a configuration. `environ` never contains a provider's key.

    `inputs` returns the value that the user entered; its arguments are the server and the id of an input.
    """

    environ: Lookup
    inputs: Callable[[str, str], str | None]
    folder: str


def fill_variables(config: ServerConfig, values: VariableValues) -> ServerConfig:
    """Return the configuration with its variables replaced by their values.

    Raises:
        ConfigError: a variable or an input has no value.
    """
    if config.is_literal:
        return config

    def fill(text: str) -> str:
        return "${".join(map(fill_part, text.replace("$$(", "$(").split("$${")))

    def fill_part(text: str) -> str:
        for name, value in _editor_values(values).items():
            text = text.replace(name, value)
        text = _IN_WORKSPACE.sub(lambda found: values.folder, text)
        text = _OF_EDITOR.sub(lambda found: _unknown_outside(found, values), text)
        text = INPUT.sub(lambda found: _input(found[1], config.name, values), text)
        return VARIABLE.sub(lambda found: _variable(found, values), text)

    def fill_path(text: str) -> str:
        home = values.environ("HOME") or values.environ("USERPROFILE")
        return fill(f"{home}{text[1:]}" if home and text.startswith("~/") else text)

    target = config.target
    if isinstance(target, HttpTarget):
        oauth = replace(config.oauth, client_secret=fill(config.oauth.client_secret))
        return replace(config, target=HttpTarget(fill(target.url), _pairs(target.headers, fill)), oauth=oauth)
    return replace(
        config,
        target=StdioTarget(
            fill_path(target.command),
            tuple(map(fill_path, target.args)),
            _pairs(target.env, fill),
            fill_path(target.cwd),
            target.sandbox,
        ),
    )


def _editor_values(values: VariableValues) -> Mapping[str, str]:
    """Return the values of the variables of VS Code and Claude Code that are no variables of the environment."""
    home = values.environ("HOME") or values.environ("USERPROFILE")
    return {
        FOLDER: values.folder,
        "${workspaceRoot}": values.folder,
        "${fileWorkspaceFolder}": values.folder,
        "${cwd}": values.folder,
        "${workspaceFolderBasename}": os.path.basename(values.folder.rstrip("\\/")),
        "${pathSeparator}": os.sep,
        "${/}": os.sep,
        **({"${userHome}": home} if home else {}),
        **({} if values.environ("CLAUDE_PROJECT_DIR") else {"${CLAUDE_PROJECT_DIR}": values.folder}),
    }


def _pairs(pairs: Sequence[tuple[str, str]], fill: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, fill(value)) for name, value in pairs)


def _unknown_outside(found: re.Match[str], values: VariableValues) -> str:
    if values.environ(found[1]) is not None:
        return found[0]
    raise ConfigError(
        f"only VS Code knows {found[0]}: write its value, or ${{input:NAME}} for one that you enter with `agent-ls "
        "mcp login`"
    )


def _variable(found: re.Match[str], values: VariableValues) -> str:
    value = values.environ(found[1])
    if value is None:
        value = found[2]
    if value is None:
        raise ConfigError(
            f"the environment variable {found[1]} is not set for agent-ls. API keys of model providers count as not "
            "set, because MCP servers never get them"
        )
    return value


def _input(name: str, server: str, values: VariableValues) -> str:
    value = values.inputs(server, name)
    if value is None:
        raise ConfigError(f'the value "{name}" was not entered yet: run {command_for("login", server)}')
    return value


def secret_values(template: ServerConfig, ready: ServerConfig, values: VariableValues) -> Iterator[str]:
    """Yield the secret values in `ready`: values of headers, of inputs, of variables of the user that the configuration
    names, and of variables and options with secret names.
    """
    for text in _texts(template):
        for found in INPUT.finditer(text):
            yield values.inputs(template.name, found[1]) or ""
        for found in VARIABLE.finditer(text):
            value = values.environ(found[1]) or ""
            if is_declared_secret(found[1], value):
                yield value
    match template.target, ready.target:
        case (HttpTarget(), HttpTarget(headers=headers)):
            if ready.oauth.client_secret:
                yield ready.oauth.client_secret
            for _, value in headers:
                yield value
                yield from value.split(" ")[1:]  # the token behind `Bearer`
        case (StdioTarget(env=before), StdioTarget(args=args, env=after)):
            yield from secret_words(args)
            for (name, text), (_, value) in zip(before, after, strict=True):
                if is_secret_name(name) or INPUT.search(text):
                    yield value


def _texts(config: ServerConfig) -> Iterator[str]:
    target = config.target
    if isinstance(target, HttpTarget):
        yield target.url
        yield from (value for _, value in target.headers)
        yield config.oauth.client_secret
    else:
        yield from (target.command, *target.args, target.cwd)
        yield from (value for _, value in target.env)


def shown_variables(config: ServerConfig) -> tuple[str, ...]:
    """Return the variables or headers that a server gets, in the form displayed in an approval. Secret values
    are left out.

    A value from the user's environment is displayed as the name of its variable, also in headers.
    """
    found = []
    if isinstance(config.target, HttpTarget):
        for name, value in config.target.headers:
            filled_in = "" if config.is_literal else " ".join(_places_in(value))
            found.append(f"{name}={filled_in}" if filled_in else name)
        if secret := config.oauth.client_secret:
            found.append(f"oauthClientSecret={' '.join(_places_in(secret))}".rstrip("="))
        return tuple(found)
    for name, value in config.target.env:
        hidden = is_secret_name(name) and (config.is_literal or not any(_places_in(value)))
        found.append(name if hidden else f"{name}={value}")
    return tuple(found)


def describe_server(config: ServerConfig) -> str:
    """Return the lines that are displayed about a server before the user decides whether it may start."""
    target = config.target
    run = shlex.join((target.command, *target.args)) if isinstance(target, StdioTarget) else target.url
    lines = (config.name, run, *shown_variables(config), config.file or "settings")
    return "\n".join(map(visible, lines))


def _places_in(text: str) -> Iterator[str]:
    """Yield the placeholders in a text (`${NAME}`, `${input:ID}`)."""
    for pattern in (VARIABLE, INPUT):
        yield from (found[0] for found in pattern.finditer(text))
