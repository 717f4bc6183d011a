"""agent-ls mcp: list, add, remove, import, log in to and test servers of the Model Context Protocol (MCP)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_ls.cli.output import add_json_option, print_error, print_json, to_single_row
from agent_ls.cli.parser import Parser
from agent_ls.cli.waiting import waiting_line
from agent_ls.mcp.approvals import ApprovalStore, ApprovedServer
from agent_ls.mcp.names import command_for
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.settings.state_folder import state_folder

if TYPE_CHECKING:
    from agent_ls.mcp.config import ServerConfig
    from agent_ls.mcp.sources import FoundServers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser(
        "list", help="list all servers, where they are configured, and whether they are approved"
    )
    add_json_option(listing)
    add = verbs.add_parser("add", help="add a server to your own mcp.json")
    _add_entry_options(add)
    add.add_argument("name")
    command = "instead of --url: the program of the server and its arguments; options of `add` come before the program"
    add.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help=command)
    for verb, words in (
        ("remove", "remove a server from your own mcp.json, and forget its login and its approval"),
        ("login", "log in to a server in your browser, or enter the values that it asks for"),
        ("test", "connect to a server and list its tools; asks you first if the server is not approved"),
    ):
        verbs.add_parser(verb, help=words).add_argument("name")
    take = verbs.add_parser("import", help="add the servers of another agent's file to your own mcp.json")
    take.add_argument("file", type=Path)
    take.add_argument(
        "names", nargs="*", default=[], metavar="NAME", help="add only these servers (default: all)"
    )


def _add_entry_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", default="", help="connect to the server at this URL")
    parser.add_argument("--header", "-H", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--env", "-e", action="append", default=[], metavar="NAME=VALUE")
    # Other agents ask for what the words say themselves.
    parser.add_argument("--transport", "-t", default="", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    verbs = {
        "list": _list,
        "add": _add,
        "remove": _remove,
        "login": _login,
        "test": _test,
        "import": _import,
    }
    try:
        return verbs[options.verb](options)
    except AppError as error:
        return print_error("mcp", error)


def _find_servers() -> tuple[FoundServers, bool]:
    """Return the servers of this folder, and whether the folder is trusted. Without trust, the project's
    servers are left out.
    """
    from agent_ls.features.mcp.project_files import digest_of_code
    from agent_ls.mcp.sources import SuppliedServers, find_servers
    from agent_ls.services.permissions.trust import read_trust
    from agent_ls.services.settings.layers import user_settings

    folder = Path().resolve()
    settings = user_settings().mcp
    is_trusted = read_trust(str(folder)) == "trusted"
    entries = {
        name: entry.model_dump(by_alias=True, exclude_unset=True) for name, entry in settings.servers.items()
    }
    project = folder if is_trusted and settings.project_files else None
    found = find_servers(
        state_folder(), project, SuppliedServers(entries, {}), lambda config: digest_of_code(config, folder)
    )
    return found, is_trusted


def _list(options: argparse.Namespace) -> int:
    from agent_ls.mcp.sources import PROJECT_FILES

    found, is_trusted = _find_servers()
    if options.json:
        print_json(
            {"name": it.name, "state": _format_state(it), "configuredIn": _place(it), "target": _target(it)}
            for it in found.servers
        )
        for problem in found.problems:
            print(to_single_row(f"✗ {problem}"), file=sys.stderr)
        return 1 if found.problems else 0
    for config in found.servers:
        print(to_single_row(f"{config.name}  ({_format_state(config)})  {_place(config)}"))
        print(to_single_row(f"    {_target(config)}"))
    for problem in found.problems:
        print(to_single_row(f"✗ {problem}"), file=sys.stderr)
    if not found.servers and not found.problems:
        print(
            "no MCP servers are configured: `agent-ls mcp add NAME -- COMMAND` adds one; see `agent-ls docs mcp`"
        )
    if not is_trusted and any(Path(name).exists() for name in PROJECT_FILES):
        print(
            "the project in this folder configures MCP servers; they are ignored until you trust the folder"
        )
    return 1 if found.problems else 0


def _format_state(config: ServerConfig) -> str:
    folder = str(Path().resolve()) if config.source == "project" else ""
    known = ApprovalStore(state_folder()).find_known(config.digest, folder)
    if not config.is_enabled or (known and known.is_off):
        return "off"
    if not config.needs_approval or (known and known.decision == "allowed"):
        return "on"
    return "denied" if known and known.decision == "denied" else "not approved yet"


def _place(config: ServerConfig) -> str:
    return config.file or "settings"


def _target(config: ServerConfig) -> str:
    from agent_ls.features.mcp.of_session import effect_of

    effect = effect_of(config)
    return effect.command or effect.url


def _pairs(words: list[str], option: str) -> dict[str, str]:
    """Parse pairs `NAME=VALUE`; headers may also be written as HTTP writes them, `NAME: VALUE`."""
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if option == "--header" and ":" in name:
            name, equals, value = (it.strip() for it in word.partition(":"))
        if not (name and equals):
            raise BadChoiceError(f"{option} {word!r} is not NAME=VALUE", f"write it as {option} NAME=VALUE")
        pairs[name] = value
    return pairs


def _words_of_command(options: argparse.Namespace) -> list[str]:
    """Return the words of the command behind the name of a server. An address there is the server's, and options
    before the command are those of `add`.
    """
    more = Parser(prog="agent-ls mcp add", add_help=False)
    _add_entry_options(more)
    more.add_argument("words", nargs=argparse.REMAINDER)
    words: list[str] = options.words
    while words and words[0] != "--":
        if "://" in words[0]:
            options.url, words = words[0], words[1:]
        elif words[0].startswith("-"):
            more.parse_args(words, options)
            words = options.words
        else:
            break
    return words[1:] if words[:1] == ["--"] else words


def _add(options: argparse.Namespace) -> int:
    from agent_ls.features.mcp.user_file import put_server, user_file

    entry: dict[str, Any] = {}
    words = _words_of_command(options)
    if options.transport == "sse":
        raise BadChoiceError(
            "agent-ls does not know the transport HTTP with SSE", "give the streamable HTTP url of the server"
        )
    if words:
        entry |= {"command": words[0], "args": words[1:]}
    if options.url:
        entry["url"] = options.url
    if options.header:
        entry["headers"] = _pairs(options.header, "--header")
    if options.env:
        entry["env"] = _pairs(options.env, "--env")
    put_server(options.name, entry)
    print(f"{options.name} is in {user_file()}; {command_for('test', options.name)} tries it")
    return 0


def _remove(options: argparse.Namespace) -> int:
    from agent_ls.features.mcp.login import input_name, server_secrets
    from agent_ls.features.mcp.user_file import own_servers, remove_server
    from agent_ls.mcp.config import ConfigError, HttpTarget, parse_server

    secrets = server_secrets(state_folder())
    entry = own_servers().get(options.name)
    was_there = remove_server(options.name)
    was_approved = ApprovalStore(state_folder()).delete_decisions(options.name)
    try:
        config = parse_server(options.name, entry, "user")
        if isinstance(config.target, HttpTarget):
            secrets.remove(f"mcp {config.target.url}")
        for name in config.inputs:
            secrets.remove(input_name(options.name, name))
    except ConfigError:
        pass
    if not was_there and not was_approved:
        print(f"no server is named {options.name}; `agent-ls mcp list` lists them", file=sys.stderr)
        return 1
    print(
        f"{options.name} is removed"
        if was_there
        else f"the approval of {options.name} is removed: you are asked before it starts again"
    )
    return 0


def _import(options: argparse.Namespace) -> int:
    from agent_ls.features.mcp.user_file import own_servers, put_server, read_servers
    from agent_ls.mcp.sources import describe_left_out

    entries: Mapping[str, Any] = read_servers(options.file)
    unknown = [name for name in options.names if name not in entries]
    if unknown:
        raise BadChoiceError(
            f"{options.file} has no server {unknown[0]}",
            f"the servers in this file: {', '.join(entries) or 'none'}",
        )
    failed = False
    for name in options.names or entries:
        if name in own_servers():
            print(f"the server {name} was not added: you already have a server of that name", file=sys.stderr)
            failed = True
            continue
        try:
            config = put_server(name, entries[name])
            print(f"{name} is added")
            for words in describe_left_out(config):
                print(to_single_row(f"  {words}"))
        except BadChoiceError as error:
            print(f"✗ {error}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def _find_config(name: str) -> ServerConfig:
    found, is_trusted = _find_servers()
    for config in found.servers:
        if config.name == name:
            return config
    if found.problems:  # the entry of this server may be one of them
        more = f" (and {len(found.problems) - 1} more)" if found.problems[1:] else ""
        raise BadChoiceError(f"no usable server is named {name}", f"{found.problems[0]}{more}")
    hint = "`agent-ls mcp list` lists them"
    raise BadChoiceError(
        f"no server is named {name}",
        hint if is_trusted else f"{hint}; servers of this project are ignored until you trust the folder",
    )


def _test(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.features.mcp.trial import environ_without_keys, try_server
    from agent_ls.mcp.cache import DescriptionCache
    from agent_ls.services.models.key_store import load_credentials

    config = _find_config(options.name)
    if not _is_approved(config):
        return 1
    environ = environ_without_keys(list(load_credentials().known_secrets()))
    with waiting_line(f"Starting {config.name}"):
        facts = anyio.run(try_server, config, state_folder(), Path().resolve(), environ)
    DescriptionCache(state_folder()).write(
        config.digest, facts
    )  # the next session need not wait for the server
    print(to_single_row(f"{facts.title} {facts.version}, protocol {facts.protocol}"))
    for tool in facts.tools:
        print(to_single_row(f"  {tool.name}  {' '.join(tool.description.split())[:100]}"))
    for problem in facts.invalid:
        print(to_single_row(f"✗ {problem}"), file=sys.stderr)
    print(f"{len(facts.tools)} tools, {len(facts.prompts)} prompts, {len(facts.resources)} resources")
    return 0


def _is_approved(config: ServerConfig) -> bool:
    """Return whether the user has approved a server. Asks the user if necessary, and stores an approval."""
    from agent_ls.features.mcp.of_session import FETCHED, REASON, effect_of
    from agent_ls.mcp.config import describe_server
    from agent_ls.services.clock import SystemClock

    if _format_state(config) == "on" or not config.needs_approval:
        return True
    effect = effect_of(config)
    print(to_single_row(f"{effect.command or effect.url}"))
    for variable in effect.variables:
        print(to_single_row(f"  with {variable}"))
    print(f"  configured in {_place(config)}")
    print(REASON + (FETCHED if effect.is_fetched else ""))
    if not sys.stdin.isatty():
        print(
            "agent-ls: the server is not approved, and without a terminal nobody can be asked: run this command in "
            "a terminal",
            file=sys.stderr,
        )
        return False
    if input("Approve it? [y/N] ").strip().lower() not in ("y", "yes"):
        return False
    folder = str(Path().resolve()) if config.source == "project" else ""
    now = SystemClock().now()
    decided = ApprovedServer(
        config.digest, config.name, "allowed", folder, now, shown=describe_server(config)
    )
    ApprovalStore(state_folder()).decide(decided)
    return True


def _login(options: argparse.Namespace) -> int:
    from getpass import getpass

    import anyio

    from agent_ls.features.mcp.login import input_name, server_secrets
    from agent_ls.features.mcp.trial import environ_without_keys, log_in
    from agent_ls.mcp.config import HttpTarget
    from agent_ls.services.models.key_store import load_credentials

    config = _find_config(options.name)
    if not _is_approved(config):
        return 1
    for name in config.inputs:
        value = getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
        if value:
            server_secrets(state_folder()).put(input_name(config.name, name), value)
    if not isinstance(config.target, HttpTarget):
        if not config.inputs:
            print(f"{config.name} is a program: it has no login", file=sys.stderr)
            return 1
        return 0

    from agent_ls.cli.browser import open_browser

    environ = environ_without_keys(list(load_credentials().known_secrets()))
    with ExitStack() as waits:

        async def show(address: str) -> None:
            print(f"Log in here:\n{address}", flush=True)
            await anyio.to_thread.run_sync(open_browser, address)
            waits.enter_context(waiting_line("Waiting for your login in the browser"))

        facts = anyio.run(log_in, config, state_folder(), Path().resolve(), environ, show)
    print(f"{config.name} is ready: {len(facts.tools)} tools")
    return 0
