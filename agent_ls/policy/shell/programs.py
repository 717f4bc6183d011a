"""Pure: analyse one command: its program, the commands that it runs, its paths, and whether it is read-only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import path as ospath
from typing import Literal, TypeAlias

from agent_ls.patterns import regex
from agent_ls.policy.shell import dangers, listing, python, read_only, runners
from agent_ls.policy.shell.arguments import absolute
from agent_ls.policy.shell.findings import LineFindings
from agent_ls.policy.shell.names import ASSIGNING, SHELL_WORDS, changes_commands, is_harmless, is_own
from agent_ls.policy.shell.printers import COMPILERS
from agent_ls.policy.shell.state import After, State
from agent_ls.policy.shell.word_checks import ANY_WORDS, FROM_INPUT, doubts_of, with_numbers
from agent_ls.policy.shell.words import Word
from agent_ls.policy.shell.wrappers import (
    INTERPRETERS,
    SHELLS,
    WRAPPERS,
    interpreter_of,
    is_harmless_wrapper,
    is_null_separated,
    placeholder_of,
    program_in_arguments,
    runs_file_of_folder,
    unwrapped,
)

Stdin: TypeAlias = Literal["terminal", "pipe", "here", "file", "nothing"]
"""What a command reads; `nothing` is `/dev/null`."""

MAX_WRAPPERS = 5
MAX_TRIED = 12
"""Maximum number of commands per line that are analysed because a runner such as `uv run` may start them.
"""
MAX_ACTIONS = 10
"""Maximum number of `-exec` and similar actions of one `find` that are analysed."""
_PROGRAM_FOLDERS = frozenset(
    ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
)
_NAMES = dangers.NAMES | SHELLS | WRAPPERS.keys() | INTERPRETERS.keys() | ASSIGNING | runners.NAMES
_KNOWN_PROGRAMS = _NAMES - ASSIGNING
_OF_BASH = regex(
    r"(?<!\$)\(\(|\[\[|<<<|[<>]\(|\{[^{}\s]*(?:,|\.\.)|\|&|&>|>&[^\d-]|\$['\"\[]|~[+-]|==|\b(?:pushd|popd)\b|\bselect\b|\bfunction\b"
)
"""Syntax that other shells interpret in another way. For example, they run the program b for `[[ a || b ]]`."""
_LITERAL = regex(r"""'[^']*'|"(?:[^"\\`$]|\$(?![({]))*\"""")
_ALL_CLEAR = regex(rf"""(?:{_LITERAL.pattern}|[^'"\\`#<]|<(?!<))*""")
"""Matches code of which all shells read the same parts as quoted text."""
_HELPS = (("--version",), ("--help",))
_GNU = frozenset(
    "rm rmdir unlink shred truncate dd chown chgrp chmod find sed xargs env timeout time nice nohup stdbuf tar".split()
)
"""GNU programs that package managers of macOS install under a name with the prefix g, such as `grm`."""
_POSIX_SHELLS = frozenset(("sh", "bash", "dash"))
_ASSIGNMENT = regex(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.DOTALL)

_HAS_URL = regex(r"\s.*://|://.*\s", re.DOTALL)
"""Matches a text such as the message of a commit, with an address in it."""
_CHANGES_FOLDER = regex("-[CD]|--chd?i?r?")
_UNCLEAR_FOLDER = "It changes to a folder that agent-ls cannot determine."
_QUOTED_ARRAY = regex(r'"\$\{\w+\[@\](?::\d+){0,2}\}"')
_ECHO = Word("text", "echo", "echo")
_FOUND = Word("glob", "{}", "{}")
"""The word for the file names that find inserts for `{}`: one or more names that cannot be options."""


class Programs:
    """Analyses the commands of one line. `read` parses and analyses text that is passed to a shell."""

    def __init__(self, found: LineFindings, read: Callable[..., After]) -> None:
        self._found = found
        self._read = read
        self._first: Word | None = None
        self._piped: list[tuple[str, ...]] = []
        self._tried = 0

    def begin_pipeline(self) -> Sequence[tuple[str, ...]]:
        """Begin a pipeline. Return the commands of the one before."""
        piped, self._piped = self._piped, []
        return piped

    def end_pipeline(self, outer: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
        """End a pipeline inside `outer`, and return its commands."""
        piped, self._piped = self._piped, [*outer]
        return piped

    @property
    def piped(self) -> Sequence[tuple[str, ...]]:
        """The commands of this pipeline so far."""
        return self._piped

    def run(self, words: Sequence[Word], state: State, stdin: Stdin, depth: int = 0) -> After:
        """Analyse one command. Return the possible working directories of the shell after the command."""
        head = words[0]
        if words[-1].listing and head.text in read_only.NAMES - {"find"}:
            return self._with_names(words, state, stdin)
        if head.kind != "text" or not head.text.strip():
            self._found.doubt(f"Asked because of `{head.source}`: it decides which program runs.")
            return After(state, state)
        if "$" in head.source:
            self._found.doubt(f"Asked because of `{head.source}`: it decides which program runs.")
        if head.text in SHELL_WORDS or _ASSIGNMENT.match(head.text):
            # The grammar has misread the command, such as `! if a; then b; fi` or `time A=1 b`.
            self._found.doubt(f"Asked because of `{head.source}`: agent-ls cannot tell which program runs.")
            if words[1:] and depth <= MAX_WRAPPERS:
                self.run(words[1:], state, stdin, depth + 1)  # for its dangers
            return After(state, state)
        name, is_usual = self._name(head.text, state)
        words = with_numbers((Word("text", name, head.source), *words[1:]))
        if stdin == "nothing" and name in COMPILERS:
            words = tuple(replace(word, text="/dev/null") if word.text == "-" else word for word in words)
        argv = tuple(word.text for word in words)
        if why := dangers.refusal(
            argv, lambda text: self._found.places(text, state.folders), self._found.home
        ):
            self._found.refusals.append(why)
        if why := "" if read_only.prints_facts(argv) or _fills_variables(words) else dangers.danger(argv):
            self._found.danger(why)
        if depth > MAX_WRAPPERS:
            self._found.doubt("It is nested too deeply to be checked.")
        elif name in SHELLS and argv[1:] not in _HELPS:
            self._shell(words, state, stdin)
        elif name == "eval":
            if all(word.kind == "text" for word in words):
                return self._read(" ".join(argv[1:]), state)
        elif name in ("cd", "chdir", "pushd", "popd") and depth == 0:
            return self._cd(words, state)
        elif name in ("cd", "chdir", "pushd", "popd"):
            self._found.doubt(_UNCLEAR_FOLDER)
        elif depth == 0 and _fills_variables(words):
            self._found.add_command(argv, is_read_only=True)
            self._piped.append(argv)
        elif name in WRAPPERS and not _only_names_programs(argv) and argv[1:] not in _HELPS:
            self._wrapped(words, state, stdin, depth)
        else:
            plain = _known(ospath.basename(name))
            if plain != name and (plain in _KNOWN_PROGRAMS or interpreter_of(plain)):
                self._as_plain(Word("text", plain, head.source), words, state, stdin, depth)
            self._plain(words, state, stdin, depth, is_usual=is_usual)
        return After(state, state)

    def _with_names(self, words: Sequence[Word], state: State, stdin: Stdin) -> After:
        """Analyse a command whose last word is the names that another command lists, as after xargs."""
        self._found.uses_xargs = True
        is_whole = words[-1].is_single and listing.lists_null_separated(words[-1].listing[0])
        self._found.needs_plain_names |= not is_whole
        self._found.is_plain = False
        piped, self._piped = self._piped, [*words[-1].listing]
        after = self.run((*words[:-1], FROM_INPUT), state, stdin)
        self._piped = [*piped, ("",)]
        return after

    def _plain(
        self, words: Sequence[Word], state: State, stdin: Stdin, depth: int, *, is_usual: bool
    ) -> None:
        """Analyse a command that is neither a shell nor a wrapper.

        `is_usual`: the first word certainly runs the program that the tables list under this name.
        """
        argv = tuple(word.text for word in words)
        name = argv[0]
        self._note_words(words, state)
        if name == "find":
            self._find(words, state, depth)
        elif name in runners.NAMES:
            self._carried(words, state, stdin, depth)
        folders = tuple(self._git_folders(argv, state)) if name == "git" else state.folders
        self._found.git_folders += folders if name == "git" else ()
        patterns = tuple(at for at, word in enumerate(words) if word.kind == "glob" or word is FROM_INPUT)
        is_read_only = is_usual and read_only.is_read_only(argv, patterns)
        if (program := interpreter_of(name)) and not is_read_only:
            if why := program_in_arguments((program, *argv[1:]), stdin):
                self._found.doubt(why)
        if not is_read_only and (why := dangers.carried_danger(argv)):
            self._found.danger(why)
        if FROM_INPUT in words:
            is_read_only = is_read_only and self._may_read_listed(argv)
            argv, words = argv[:-1], words[:-1]
            self._found.fed.append(argv)
        self._found.add_command(argv, is_read_only=is_read_only)
        self._found.runs.append((argv, folders))
        self._found.configs += (
            (it, config) for it in state.folders for config in read_only.config_names(argv)
        )
        if stdin == "pipe" and not is_read_only:
            # The words of the command do not name the data that the command reads, so no rule may cover the line.
            self._found.is_plain = False
        self._bind_to_folder(argv[0], state)
        # a later command of the pipeline selects lines only if it reads those of the command before it
        is_start_or_filter = not self._piped or (stdin == "pipe" and depth == 0)
        self._piped.append(argv if is_start_or_filter else ("", *argv))
        if not (is_read_only and read_only.is_text_only(argv)):
            known = len(self._found.paths)
            # of git: the folder that `-C` names too
            self._add_paths(words, argv, tuple(dict.fromkeys((*folders, *state.folders))))
            if is_read_only and listing.reads_no_content(argv):
                self._found.named += self._found.paths[known:]

    def _as_plain(self, plain: Word, words: Sequence[Word], state: State, stdin: Stdin, depth: int) -> None:
        """Analyse the dangers of a program in another folder as if it were the known program of this name.

        Rules name the path of the program, so nothing is added to `acts`.
        """
        acts, piped = len(self._found.acts), [*self._piped]
        self.run((plain, *words[1:]), state, stdin, depth + 1)
        del self._found.acts[acts:]
        self._piped = piped

    def _note_words(self, words: Sequence[Word], state: State) -> None:
        """Record the doubts about the words of a command, and what the shell does to expand them."""
        name = words[0].text
        for doubt in doubts_of(words):
            self._found.doubt(doubt)
        if name in ASSIGNING:
            self._found.change()
        if name not in read_only.TEXT_ONLY:
            return
        for word in words[1:]:
            if word.kind == "glob":
                self._found.add_word(word, state.folders)  # the shell lists the folder to expand the pattern
            elif word.kind == "unknown" and not (name in ANY_WORDS and _is_list_of_words(word)):
                self._found.changes |= not word.is_single  # the word may be expanded to several file names

    def _add_paths(self, words: Sequence[Word], argv: Sequence[str], places: Sequence[str]) -> None:
        """Add the paths that the words of a command may name, relative to each of `places`."""
        scripts = read_only.scripts_of(argv)
        for name in read_only.files_in_code(argv):
            self._found.add_literal(name, places)
        for listed in python.listed_by_code(argv[1:]) if argv[0] in ("python", "python3") else ():
            self._found.add_listed(listed, places)
        for at, word in enumerate(words[1:], 1):
            is_text = (at in scripts and word.kind == "text") or read_only.is_separator(argv, at)
            if is_text or (argv[:2] == ("git", "blame") and argv[at - 1] == "-L"):
                continue
            self._found.add_word(word, places)
            for ending in read_only.ENDINGS.get(argv[0], ()):
                self._found.add_word(replace(word, text=word.text + ending), places)
            if "--" in argv[:at]:
                self._found.add_literal(word.text, places)
            # git's syntax for a file of a revision, such as `HEAD:path`
            if argv[0] == "git" and ":" in word.text and not _HAS_URL.search(word.text):
                self._found.add_path(word.text.rpartition(":")[2], places)

    def _name(self, word: str, state: State) -> tuple[str, bool]:
        """Return the program's name in the tables, and whether `word` certainly runs this program."""
        folder, name = ospath.split(word)
        known = _known(name)
        if folder:
            if folder in _PROGRAM_FOLDERS:
                return known, known == name
            self._found.add_path(word, state.folders)
            return (known, False) if dangers.is_known(known) else (word, False)
        if not name.isascii():
            self._found.doubt(f"{name!r} is not a usual name of a command.")
        return known, known == name

    def _cd(self, words: Sequence[Word], state: State) -> After:
        argv = tuple(word.text for word in words)
        if argv == ("popd",) or (argv == ("cd", "-") and state.has_left):
            self._found.add_command(("cd",), is_read_only=True)
            self._piped.append(argv)
            return After(state.entered(state.earlier), state) if state.earlier else After(state, state)
        operands = [word for word in words[1:] if word.text not in ("-L", "--")]
        target = operands[0] if operands else Word("text", self._found.home)
        is_unclear = argv[0] == "popd" or argv == ("pushd",)
        if is_unclear or len(operands) > 1 or target.kind != "text" or target.text.startswith(("-", "+")):
            self._found.doubt(_UNCLEAR_FOLDER)
            return After(state, state)
        folders = tuple(absolute(target.text, folder, self._found.home) for folder in state.folders)
        self._found.paths += folders
        self._found.add_command(("cd", target.text), is_read_only=True)
        # After `cd`, relative names listed by another command of the pipeline refer to other files.
        self._piped.append(("cd", target.text))
        if self._found.folders_exist:
            self._found.entered += folders
            return After(state.entered(folders), state.entered(folders))
        return After(state.entered(folders), state)

    def _shell(self, words: Sequence[Word], state: State, stdin: Stdin) -> None:
        """Analyse a call of a shell: the text after `-c`, a script, or commands from its input."""
        argv = tuple(word.text for word in words)
        at = next((i for i, a in enumerate(argv[1:], 1) if re.fullmatch(r"-[a-z]*c", a)), 0)
        has_script = "-s" not in argv and any(not a.startswith("-") for a in argv[1:])
        if any(a.startswith("/dev/") for a in argv[1:]):
            self._found.danger(f"{argv[0]} runs programs that its input names.")
        if stdin != "terminal" and not has_script:
            self._found.danger(f"{argv[0]} runs programs that its input names.")
        elif at and at + 1 < len(argv):
            if at != 1 or argv[1] != "-c" or argv[0] not in _POSIX_SHELLS:
                self._found.changes = True
            self._found.is_plain = False
            for word in (*words[1:at], *words[at + 2 :]):
                self._found.add_word(word, state.folders)  # such as the file of `--rcfile`
            if any(re.match("[-+]O", word) for word in argv[1:at]):
                self._found.doubt("It changes how the shell reads the command.")
            if argv[0] != "bash" and (found := syntax_of_bash(argv[at + 1])):
                self._found.doubt(f"{argv[0]} may read `{found}` in another way than bash.")
            if words[at + 1].kind == "text":
                first, self._first = self._first, None
                if self._read(argv[at + 1], state, first).either != state and first:
                    self._found.doubt(_UNCLEAR_FOLDER)
            else:
                self._found.doubt(f"Asked because of `{words[at + 1].source}`: it is run as code.")
        elif not has_script:
            self._found.doubt(f"The command does not show what {argv[0]} runs.")
        else:
            if any(word.kind == "unknown" for word in words):
                self._found.doubt(f"agent-ls cannot determine which script {argv[0]} runs.")
            # with `-n`, a shell only checks the syntax
            is_check = argv[1] == "-n" and len(argv) == 3 and argv[0] in _POSIX_SHELLS and "[" not in argv[2]
            # no option has a dot, so a name that `*.sh` matches is none
            is_file = is_check and (
                argv[2][:1] not in "-+*?" or re.fullmatch(r"\*\.(?:ba)?sh", argv[2]) is not None
            )
            self._found.add_command(argv, is_read_only=is_file)
            self._bind_to_folder(argv[0], state)
            for word in words[1:]:
                self._found.add_word(word, state.folders)

    def _wrapped(self, words: Sequence[Word], state: State, stdin: Stdin, depth: int) -> None:
        """Analyse a wrapper such as `env` or `xargs`, and the command that it runs."""
        argv = tuple(word.text for word in words)
        found = unwrapped(argv)
        if found is None or any(word.kind != "text" for word in words[1 : len(words) - len(found.inner)]):
            self._found.doubt(f"agent-ls cannot tell what `{' '.join(argv[:2])}` runs.")
            return
        self._found.is_plain &= not found.variables and (argv[0] != "env" or not found.options)
        for name, value in found.variables:
            if changes_commands(name):
                self._found.doubt(f"It sets {name}, which changes what other commands do.")
            elif not is_harmless(name, value):
                self._found.change()
        for argument in found.options:
            self._found.add_path(argument, state.folders)
        if any(_CHANGES_FOLDER.match(option) for option in found.options):
            self._found.doubt(_UNCLEAR_FOLDER)
        if not is_harmless_wrapper(argv[0], found.options):
            self._found.change()
        inner = words[len(words) - len(found.inner) :] if found.inner else ()
        if argv[0] == "xargs" and not found.inner:
            inner = (_ECHO,)
        if not inner:
            if argv[0] not in ("time", "command", "exec"):
                self._found.add_command(argv, is_read_only=False)
            return
        if argv[0] == "xargs":
            self._found.uses_xargs = True
            is_listed = stdin == "pipe" and bool(self._piped) and listing.lists_names_only(self._piped[0])
            if not is_listed and inner[0].text not in ANY_WORDS:
                self._found.doubt(f"{inner[0].source} works on files that its input names.")
            if not is_null_separated(found.options) and inner[0].text not in ANY_WORDS:
                # names with blanks or quotes are split into other words
                self._found.needs_plain_names = True
                self._found.is_plain = False
            if any(word.text in SHELLS for word in inner):
                self._found.doubt("It runs its input as code.")
            inner, stdin = self._with_input(inner, placeholder_of(found.options)), "pipe"
        self.run(inner, state, stdin, depth + 1)

    def _with_input(self, inner: Sequence[Word], placeholder: str) -> tuple[Word, ...]:
        """Return the words of the command that xargs runs, with FROM_INPUT as the last for those that it reads."""
        if not placeholder:
            return (*inner, FROM_INPUT)
        found = [at for at, word in enumerate(inner) if placeholder in word.text]
        if found and inner[0].text in ANY_WORDS and (inner[0].text != "printf" or 1 not in found):
            return (*(word for at, word in enumerate(inner) if at not in found), FROM_INPUT)
        if found == [len(inner) - 1] and len(inner) > 1 and inner[-1].text == placeholder:
            return (*inner[:-1], FROM_INPUT)
        if found:
            self._found.doubt(
                f"agent-ls cannot tell what {inner[0].source} does with the words that xargs reads."
            )
        return tuple(inner)

    def _carried(self, words: Sequence[Word], state: State, stdin: Stdin, depth: int) -> None:
        """Analyse the command that a project runner such as `uv run` runs, as if the line contained only this
        command.

        The inner command is added to `commands` but not to `acts`, because rules name the words of the
        runner.
        """
        argv = tuple(word.text for word in words)
        acts = len(self._found.acts)
        for at in runners.starts_of_commands(argv):
            if " " not in argv[at].strip() and self._may_try():
                program = replace(words[at], text=runners.program_at(argv, at))
                self.run((program, *words[at + 1 :]), state, stdin, depth + 1)
        for at, line in runners.lines_of(argv):
            if words[at].kind != "text":
                self._found.doubt(f"Asked because of `{words[at].source}`: it is run as code.")
            if self._may_try():
                self._read(line, state)
        del self._found.acts[acts:]

    def _may_try(self) -> bool:
        """Return whether another command inside a runner may be analysed.

        Above the limit MAX_TRIED, return False and record that the line needs approval.
        """
        self._tried += 1
        if self._tried > MAX_TRIED:
            self._found.doubt("agent-ls cannot tell which of its words are commands that it runs.")
        return self._tried <= MAX_TRIED

    def _bind_to_folder(self, name: str, state: State) -> None:
        """Prevent rules for a command that runs a file, if the shell may be outside the working directory.

        In another folder, the same words run another file.
        """
        if state.folders != (self._found.working_dir,) and runs_file_of_folder(name):
            self._found.is_plain = False

    def _may_read_listed(self, argv: Sequence[str]) -> bool:
        """Return whether the command needs no approval to read the files that an earlier command lists.

        This is so if no listed name can be an option, and none can be a link to a file outside the workspace. Where
        only the disk shows that, `needs_plain_names` and `reads_listed` are set.
        """
        if argv[0] in ANY_WORDS:
            return True
        if not self._piped or not all(map(listing.keeps_lines, self._piped[1:])):
            return False
        is_operand = argv[0] == "git" and argv[-2:-1] == ("--",)
        if listing.lists_names_of_history(self._piped[0]) and not (
            is_operand or read_only.has_no_harmful_option(argv[0])
        ):
            return False  # a file with the name of an option may be gone from the disk
        if self._found.needs_plain_names:
            if listing.may_separate_by_null(self._piped[0]):
                return False
        elif len(self._piped) == 1 and listing.lists_null_separated_of_git(self._piped[0]):
            self._found.needs_plain_names = True
        elif len(self._piped) > 1 or not listing.lists_null_separated(self._piped[0]):
            return False
        if not (listing.prints_names_only(argv) or listing.lists_files_only(self._piped[0])):
            self._found.reads_listed = True
        return (
            argv[0] != "git" or is_operand or not self._found.reads_listed
        )  # a name may have the form of a revision

    def _find(self, words: Sequence[Word], state: State, depth: int) -> None:
        """Analyse the commands that find runs by `-exec` and similar actions."""
        argv = tuple(word.text for word in words)
        actions = read_only.split_actions(argv[1:])[1]
        if len(actions) > MAX_ACTIONS:
            self._found.doubt("find would run very many commands.")
        for inner in actions[:MAX_ACTIONS]:
            if not inner:
                self._found.doubt("The action of find is not understood.")
                continue
            is_quiet = listing.prints_names_only(inner) or listing.lists_matches(inner)
            if not (is_quiet or listing.lists_files_only(argv)):
                self._found.reads_listed = True
            if "-execdir" in argv or "-okdir" in argv:  # its words name files of the folders that find visits
                self._found.changes |= any(word != "{}" and word[:1] not in "-+" for word in inner[1:])
                if any(".." in word for word in inner[1:]):
                    self._found.doubt(_UNCLEAR_FOLDER)
            if _is_script_for_name(inner) and not {"-execdir", "-okdir"} & set(argv):
                self._run_for_names(argv, inner, words, state)
                continue
            if inner[0] in SHELLS or any("{}" in word and word != "{}" for word in inner):
                self._found.doubt("File names would become code or options of a command.")
            by_text = {word.text: word for word in sorted(words, key=lambda word: word.kind != "text")}
            by_text["{}"] = _FOUND
            self.run(tuple(by_text[text] for text in inner), state, "file", depth + 1)

    def _run_for_names(
        self, argv: Sequence[str], inner: Sequence[str], words: Sequence[Word], state: State
    ) -> None:
        """Analyse `find … -exec sh -c '…' _ {}` as if a loop read the names that find prints into `$1`."""
        # if several words have this text, one that is not literal counts
        script = max((word for word in words if word.text == inner[2]), key=lambda word: word.kind != "text")
        listing_words = (*argv[: listing.first_action(argv)], "-print0")
        self._first = Word("unknown", "$1", is_single=False, listing=(listing_words,))
        self._shell((*(Word("text", it, it) for it in inner[:2]), script), state, "terminal")
        self._first = None

    def _git_folders(self, argv: Sequence[str], state: State) -> list[str]:
        own = argv[: read_only.start_of_git_command(argv)]  # after the subcommand, `-C` has another meaning
        given = [own[at + 1] for at, word in enumerate(own[:-1]) if word == "-C"]
        places = [place for text in given or ["."] for place in self._found.places(text, state.folders)]
        # after a link, `..` leads to a folder other than the text suggests
        climbing = [text for text in given if ".." in text.split("/")]
        return places + [ospath.join(folder, text) for text in climbing for folder in state.folders]


def syntax_of_bash(code: str) -> str:
    """Return the first part of the code that other shells may read in another way, "" for none."""
    found = _OF_BASH.search(_LITERAL.sub("''", code) if _ALL_CLEAR.fullmatch(code) else code)
    return found[0] if found else ""


def is_known(name: str) -> bool:
    """Return whether the policy knows what a program or a command of the shell with this name does."""
    return name in _NAMES or name in read_only.NAMES or name in ("cd", "chdir", "pushd", "popd", "read")


def _known(name: str) -> str:
    """Return the name under which the tables of programs list this program.

    That is the given name, its lower-case form, or the name without the prefix g of GNU programs (`gsed`).
    """
    folded = name.casefold()
    if folded[:1] == "g" and folded[1:] in _GNU:
        return folded[1:]
    return folded if folded in _NAMES else name


def _only_names_programs(argv: Sequence[str]) -> bool:
    """Return whether the command only prints which programs its words are: `command -v git`."""
    return argv[0] == "command" and argv[1:2] in (("-v",), ("-V",))


def _is_script_for_name(inner: Sequence[str]) -> bool:
    """Return whether find runs a script of a shell for each name, which is its only argument: `sh -c '…' _ {}`."""
    is_script = len(inner) == 5 and inner[0] in _POSIX_SHELLS and inner[1] == "-c" and inner[4] == "{}"
    return is_script and "{}" not in inner[2] and re.fullmatch(r"\w+", inner[3]) is not None


def _is_list_of_words(word: Word) -> bool:
    """Return whether the shell expands the word to any number of words, none of which it takes for a pattern."""
    return word is FROM_INPUT or _QUOTED_ARRAY.fullmatch(word.source) is not None


def _without_delimiter(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of `read` without `-d ''`, with which a null character ends a line."""
    at = next((at for at, word in enumerate(words) if word.text == "-d"), -1)
    has_null = at >= 0 and [word.source for word in words[at + 1 : at + 2]] in (["''"], ['""'])
    return (*words[:at], *words[at + 2 :]) if has_null else words


def _fills_variables(words: Sequence[Word]) -> bool:
    """Return whether the command only reads its input into variables that no program reads."""
    if words[0].text in ("mapfile", "readarray"):
        return [word.text for word in words[1:-1]] == ["-t"] and _is_own(words[-1])
    # the shell itself sets `$_` after each command
    names = (
        word for word in _without_delimiter(words[1:]) if word.text not in ("-r", "-a", "-ra", "-ar", "_")
    )
    return words[0].text == "read" and all(map(_is_own, names))


def _is_own(word: Word) -> bool:
    return is_own(word.text) and "$" not in word.source
