"""The folder for temporary files: commands get it as TMPDIR, and the policy knows the paths that it gives.

`$TMPDIR/x`, and a variable that a line sets only by `mktemp`, are known to be in this folder. Without this, a line
such as `f=$(mktemp); make > $f` would need approval in every mode.
"""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace

from agent_ls.environments.effects import CommandEffect, Effect
from agent_ls.environments.local.environ import EnvRules
from agent_ls.patterns import regex
from agent_ls.services.permissions.paths import temporary_folder
from agent_ls.services.settings.model import PathSettings

VARIABLES = ("TEMP", "TMP") if os.name == "nt" else ("TMPDIR",)
_PLAIN_PATH = regex(r"/[\w./-]+")
_MADE = regex(r"(?<![\w$])([A-Za-z_]\w*)=(?:\"\$\(mktemp(?: -d)?\)\"|\$\(mktemp(?: -d)?\))(?=[\s;&|)]|\Z)")
_MADE_NAME = "made-by-mktemp"


def with_temporary(environ: Mapping[str, str], paths: PathSettings) -> Mapping[str, str]:
    """Return a view of `environ` with the variables that name the folder for temporary files."""
    folder = next(temporary_folder(paths), "")
    return ChainMap(dict.fromkeys(VARIABLES, folder), environ) if folder else environ  # type: ignore[arg-type]  # read only


def keep_temporary(rules: EnvRules) -> EnvRules:
    """Return rules that pass the variables of the folder for temporary files on to commands."""
    return replace(rules, kept=(*rules.kept, *VARIABLES))


def name_temporary(effect: Effect, folder: str) -> Effect:
    """Return a command effect with `$TMPDIR` and variables set by `mktemp` replaced by paths, for the policy only.

    Other effects are returned as they are, and also lines that use these variables in any other way.
    """
    if not isinstance(effect, CommandEffect) or not _PLAIN_PATH.fullmatch(folder):
        return effect
    if any(name == "TMPDIR" for name, _ in effect.env_vars) or effect.input_of:
        return effect
    command = _replace_variable(effect.command, "TMPDIR", folder)
    for name in dict.fromkeys(_MADE.findall(command)):
        command = _replace_made(command, name, folder)
    return replace(effect, command=command) if command != effect.command else effect


def _replace_made(command: str, name: str, folder: str) -> str:
    """Replace a variable that is set once, by `mktemp`, and then only used."""
    parts = _MADE.split(command)
    if parts.count(name) != 1 or len(re.findall(rf"(?<![\w-]){name}(?!\w)", command)) < 2:
        return command
    at = next(found for found in _MADE.finditer(command) if found[1] == name)
    before, after = command[: at.start()], command[at.end() :]
    if re.search(rf"(?<!\w){name}(?!\w)", before):
        return command
    used = _replace_variable(after, name, f"{folder}/{_MADE_NAME}")
    return command if used == after else f"{before}mktemp{used}"


def _replace_variable(text: str, name: str, value: str) -> str:
    """Replace `$name` and `${name}`, unless the text has the name in another place, or could quote the `$`."""
    use = re.compile(rf"(?<![\\$])\$(?:{name}(?!\w)|\{{{name}\}})")
    rest = use.sub("", text)
    if rest == text or re.search(rf"(?<![\w-]){name}(?!\w)", rest) or _is_quoted(text, use):
        return text
    return use.sub(value, text)


def _is_quoted(text: str, use: re.Pattern[str]) -> bool:
    """Return whether a use may stand in single quotes or in a here-document, where `$` has no meaning."""
    if "<<" in text:
        return True
    return any(text.count("'", 0, found.start()) % 2 for found in use.finditer(text))
