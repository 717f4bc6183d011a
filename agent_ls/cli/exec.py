"""agent-ls exec: run one prompt without an editor."""

from __future__ import annotations

import argparse
import locale
import os
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import print_error
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.system import postponed_collection
from agent_ls.text import is_encodable

if TYPE_CHECKING:
    from agent_ls.policy.situation import Mode
    from agent_ls.services.settings.model import Settings

NO_REVIEW = (
    "without an editor, changes are made at once; open the session in an editor to review them afterwards"
)

ENCODING_HINT = "convert it first, for example with `iconv -f ISO-8859-1 -t UTF-8 FILE | agent-ls exec -`"
HERE = "here"
PLACE_HINT = "`agent-ls docs remote` has an example for each kind of place"
BELLS = ("off", "asked", "done")
LIMITS = {
    "--max-tokens": ("limits.tokensPerInput", "stop after this many tokens, sent and received"),
    "--max-cost": ("limits.costUsdPerInput", "stop after this many US dollars, where prices are known"),
    "--max-seconds": ("limits.secondsPerInput", "stop after this many seconds"),
    "--max-rounds": ("maxToolRoundsPerInput", "stop after this many rounds of tools"),
}
"""Options for the settings that scripts need most, each with the name of the setting and the help text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `exec`, in the order in which the help lists them."""
    parser.set_defaults(
        on="", resume=""
    )  # set before, because argparse checks a default of the option as a given value
    _add_model_options(parser)
    _add_output_options(parser)
    _add_report_option(parser)
    _add_permission_options(parser)
    _add_settings_options(parser)
    _add_place_options(parser)
    _add_session_options(parser)
    # `agent-ls batch` sets these defaults: the request limit that all its processes share, and whether a run ends
    # when its connection is lost, so that the task is repeated.
    parser.set_defaults(middleware=None, ends_at_loss=False)


def _given(value: str) -> str:
    """Return the value of an option. An empty one, as of a variable that is not set, does not mean the default."""
    if not value.strip():
        raise argparse.ArgumentTypeError("the value is empty")
    return value


def _path(value: str) -> Path:
    return Path(_given(value))


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", help='what to do; "-" reads it from standard input')
    parser.add_argument(
        "--provider",
        default="",
        help="anthropic, openai, gemini, ollama, ... or walkthrough (scripted, no key)",
    )
    parser.add_argument("--model", default="", help="the name of the model, as its provider spells it")
    parser.add_argument(
        "--effort", default="", help="reasoning effort: low, medium, high, or another value of the provider"
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print events as JSON on standard output, one per line"
    )
    parser.add_argument(
        "--findings",
        choices=("json", "sarif"),
        help="print what a review has found (`/review`) as one document; the transcript goes to standard error",
    )


def _add_report_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report",
        type=_path,
        metavar="FILE",
        help="write what was changed and checked in a new file, as Markdown for the description of a pull request",
    )


def _add_permission_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        default="",
        metavar="MODE",
        help="what needs no approval. plan: nothing is changed or run; ask: only reading (default); edits: also "
        "edits in the folder; full: also commands, except those that always need approval (`agent-ls docs modes`)",
    )
    parser.add_argument(
        "--ask",
        action="store_true",
        help="ask you on the terminal about actions that need approval; without it they are refused",
    )
    parser.add_argument("--approve", default="", help=argparse.SUPPRESS)  # the name before --mode
    parser.add_argument(
        "--bell",
        choices=BELLS,
        default="asked",
        help="when to ring the bell; asked: when input is needed (default), done: also at the end, off: never",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="trust the folder for this run; `agent-ls trust add` trusts it permanently. Nothing is changed or "
        "run in a folder that is not trusted",
    )
    parser.add_argument(
        "--sandbox",
        choices=("off", "on", "network"),
        help="on: commands can only write below the folder and have no network access; network: like on, with network "
        "access. Needs bubblewrap or Landlock on Linux; without either, every command needs approval",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHAT",
        help="also allow this in this run: a tool by its name, commands by their first words ('npm test'), paths "
        "(write:GLOB, read:GLOB), or pages of a site (https://HOST); may be given several times",
    )


def _add_settings_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--settings",
        type=_path,
        metavar="FILE",
        help="a JSON file of settings that override those of your settings file",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one setting, such as limits.tokensPerSession=100000 or webFetch=true; `agent-ls config --schema` lists "
        "them; may be given several times",
    )
    parser.add_argument(
        "--tools",
        default="",
        metavar="PRESET[,PACK...]",
        help="offer more tools: a preset (minimal, standard, full, ...), packs such as git or rust, and `detected` for "
        "packs that fit the folder; `agent-ls tools --packs` lists them",
    )
    for option, (_, meaning) in LIMITS.items():
        parser.add_argument(option, metavar="N", help=meaning)


def _add_place_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cd", type=_path, default=Path(), metavar="FOLDER", help="work in this folder")
    parser.add_argument(
        "--on",
        type=_given,
        default=argparse.SUPPRESS,
        metavar="PLACE",
        help="work on another machine or in a container: ssh:HOST:/path, docker:NAME:/path, podman:NAME:/path, "
        "kubectl:NAMESPACE/POD:/path, devcontainer:/folder, 'command:/path:PROGRAM …'; the word `here` selects this "
        "machine, even if your settings name another place",
    )
    parser.add_argument(
        "--add-dir",
        type=_path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="work in this additional folder too, if you trust it; may be given several times",
    )
    parser.add_argument(
        "--worktree",
        nargs="?",
        choices=("current", "head"),
        const="current",
        help="work in a separate git worktree, and bring the changes to the folder at the end. current (default): "
        "begin with the uncommitted changes of the folder, head: without them",
    )


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--require-evidence",
        action="store_true",
        help="end with 1 if files were changed and no check (tests, linter, build) passed after the last change",
    )
    parser.add_argument(
        "--resume", type=_given, default=argparse.SUPPRESS, metavar="ID", help="continue a stored session"
    )
    parser.add_argument(
        "--record",
        type=_path,
        metavar="FILE",
        help="record all input of the session in a new file, for `agent-ls replay`",
    )


def _prompt(given: str) -> str:
    """Return the prompt: the text that was given, or standard input for `-`.

    Raises:
        BadChoiceError: it is neither UTF-8 nor in the encoding of the locale. A guess might ask for something else.
    """
    if given != "-" and is_encodable(given):
        return given
    data = sys.stdin.buffer.read() if given == "-" else os.fsencode(given)
    try:
        text = data.decode("utf-16" if data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig")
    except UnicodeDecodeError as error:
        try:
            text = data.decode(locale.getencoding())
        except UnicodeDecodeError:
            byte = f"byte 0x{data[error.start]:02x} at offset {error.start}"
            raise BadChoiceError(f"the prompt is not UTF-8: {byte}", ENCODING_HINT) from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if given == "-" else text


def _find_problem(options: argparse.Namespace, prompt: str) -> str:
    """Return why a run with these options cannot begin, "" if it can."""
    if not prompt.strip():
        return "the prompt is empty: say what to do"
    if options.on and (options.cd != Path() or options.add_dir):
        return "--on cannot be combined with --cd or --add-dir: the value of --on ends with the folder"
    for option, folder in (("--cd", options.cd), *(("--add-dir", it) for it in options.add_dir)):
        if not folder.is_dir():
            why = "this is not a folder" if folder.exists() else "the folder does not exist"
            return f"{option}: {why}: {folder}\n  give the path of a folder"
    if options.record and options.resume:
        return "--record needs a new session: the recording of a resumed session would lack its earlier part"
    if (options.ask or options.approve == "ask") and (options.prompt == "-" or not sys.stdin.isatty()):
        return "--ask needs a terminal on standard input"
    if options.worktree and options.resume:
        return "--worktree needs a new session: a resumed session stays in its folder"
    if options.worktree and options.on not in ("", HERE):
        return "--worktree cannot be combined with --on: worktrees are created on this machine only"
    if options.report and (options.report.exists() or not options.report.absolute().parent.is_dir()):
        why = "already exists" if options.report.exists() else "is in a folder that does not exist"
        return f"--report: {options.report} {why}: name a new file"
    if options.findings and options.json:
        return "--findings and --json both print to standard output: choose one"
    return ""


@postponed_collection()
def run(options: argparse.Namespace) -> int:
    from agent_ls.headless import exec as face
    from agent_ls.headless.outcome import LOST, USAGE

    try:
        prompt = _prompt(options.prompt)
        if problem := _find_problem(options, prompt):
            print(f"agent-ls exec: {problem}", file=sys.stderr)
            return USAGE
        settings, own_settings = _settings(options)
        mode, asks = _mode(options, own_settings)
        return face.main(
            face.ExecOptions(
                prompt=prompt,
                folder=options.cd.resolve(),
                provider=options.provider,
                model=options.model,
                effort=options.effort,
                mode=mode,
                asks=asks,
                as_json=options.json,
                findings=options.findings,
                resume=options.resume,
                trust=options.trust,
                settings=settings,
                own_settings=own_settings,
                on=_place(options.on, options.cd, settings),
                allow=options.allow,
                beside=[folder.resolve() for folder in options.add_dir],
                record=options.record.absolute() if options.record else None,
                bell=options.bell,
                middleware=options.middleware,
                ends_at_loss=options.ends_at_loss,
                worktree=options.worktree,
                requires_evidence=options.require_evidence,
                report=options.report.absolute() if options.report else None,
            )
        )
    except AppError as error:
        code = print_error("exec", error)
        return LOST if options.ends_at_loss and error.kind == "place" else code


def _mode(options: argparse.Namespace, own: Settings) -> tuple[Mode, bool]:
    """Return the mode of the run, and whether the user is asked on the terminal.

    `own` are the settings that were given for this run; the mode in the user's settings file is for editors. The old
    option `--approve` is still read.

    Raises:
        BadChoiceError: there is no such mode.
    """
    from agent_ls.policy.modes import STILL_ASKED, UnknownModeError, parse_mode

    given = options.mode or ("ask" if options.approve == "ask" else options.approve)
    try:
        mode, hint = parse_mode(given or (own.mode if "mode" in own.model_fields_set else "ask"))
    except UnknownModeError as error:
        raise BadChoiceError(f"--{'mode' if options.mode else 'approve'}: {error}", STILL_ASKED) from None
    asks = options.ask or options.approve == "ask"
    if options.approve and not options.mode:
        hint = (
            f"--approve {options.approve} is now --mode {mode}{' --ask' if options.approve == 'ask' else ''}"
        )
    if hint:
        print(f"agent-ls exec: {hint}", file=sys.stderr)
    return mode, asks


def _place(on: str, folder: Path, settings: Settings) -> str:
    """Return the name of the machine or container and folder to work in, "" for this machine. `--on` and `--cd`
    take precedence over the settings.

    Raises:
        BadChoiceError: `on`, or the setting `place`, is not the name of a machine or container.
    """
    from agent_ls.environments.remote.place import PlaceNameError, parse_place

    if on == HERE or (not on and (folder != Path() or not settings.place)):
        return ""
    try:
        if on:
            parse_place(on)
            return on
        place = settings.place.place() if settings.place else None
    except PlaceNameError as error:
        raise BadChoiceError(f"{'--on' if on else 'the setting place'}: {error}", PLACE_HINT) from error
    return place.key(place.path) if place else ""


def _settings(options: argparse.Namespace) -> tuple[Settings, Settings]:
    """Merge the user's settings file, the `--settings` file, `--set` and other options, in this order: later
    values override earlier ones.

    Returns the merged settings, and the settings merged without the user's settings file.

    Raises:
        BadChoiceError: a file cannot be read, or a setting is unknown or invalid.
    """
    from agent_ls.services.settings.layers import chosen_settings, read_settings, read_user_settings
    from agent_ls.services.settings.tool_packs import pack_settings

    if any(word.partition("=")[0].strip() == "review" for word in options.set):
        raise BadChoiceError("--set review: exec does not accept this setting", NO_REVIEW)
    users = ("your settings file", read_user_settings())
    files = [(str(options.settings), read_settings(options.settings))] if options.settings else []
    words = list(options.set)
    for option, (setting, _) in LIMITS.items():
        if value := getattr(options, option.removeprefix("--").replace("-", "_")):
            words.append(f"{setting}={value}")
    words += pack_settings(options.tools, "--tools")
    if options.sandbox:
        is_on, has_network = options.sandbox != "off", options.sandbox == "network"
        words += [f"sandbox.enabled={is_on}".lower(), f"sandbox.network={has_network}".lower()]
    return chosen_settings([users, *files], words), chosen_settings(files, words)
