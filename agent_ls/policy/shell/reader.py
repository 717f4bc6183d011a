"""Pure: read the syntax tree of a command line. A line is read-only only if all its nodes are of known kinds.

A node of another kind is recorded as a doubt, which means that the line needs approval. Its inner statements
are still searched for dangers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from tree_sitter import Node

from agent_ls.patterns import regex
from agent_ls.policy.shell import listing
from agent_ls.policy.shell.findings import LineFindings, shortened
from agent_ls.policy.shell.grammar import (
    are_separate,
    is_certain,
    is_pattern,
    is_simple,
    nodes_of_kind,
    only_enters,
    parse,
    reads_a_line,
    source_of,
    variable_of,
    without_prints,
)
from agent_ls.policy.shell.names import (
    changes_commands,
    is_harmless,
    is_own,
    is_own_function,
    is_secret,
    names_in,
)
from agent_ls.policy.shell.numbers import COUNT, counts, decremented, is_expression, numeric_names
from agent_ls.policy.shell.programs import Programs, Stdin, is_known
from agent_ls.policy.shell.redirections import last_of, redirected
from agent_ls.policy.shell.state import After, State
from agent_ls.policy.shell.words import NUMBER, Word, numbers_of, numeric, prints_commits, word_of, words_of

MAX_SHELLS = 4
"""Maximum nesting of `bash -c`."""
MAX_DEPTH = 40
MAX_STATEMENTS = 500
"""Maximum number of statements. A statement in a loop counts once for each value of the loop variable."""

_SEPARATORS = frozenset(
    "; ;; & && || | |& { } ( ) $( ` <( do done ! if then elif else fi for in while until case esac \n".split(
        " "
    )
) | {""}
_REDIRECTS = ("file_redirect", "herestring_redirect")
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_STATEMENTS = frozenset(
    "program compound_statement subshell do_group list pipeline negated_command redirected_statement command "
    "if_statement for_statement while_statement c_style_for_statement case_statement function_definition "
    "declaration_command unset_command variable_assignment variable_assignments test_command file_redirect "
    "herestring_redirect heredoc_redirect command_substitution process_substitution ERROR".split()
)
_CONDITION_PARTS = frozenset("comment word extglob_pattern string raw_string simple_expansion".split())
_UNCLEAR_FOLDER = "It changes to a folder that agent-ls cannot determine."
_ESCAPING = regex(r"[\\'\"]")
_NAME = regex(r"[A-Za-z_]\w*")
_READS_LINE = regex(r"(?:IFS= +)?read +(?:-r +)?(?P<null>-d +(?:''|\"\") +)?(?P<name>[a-zA-Z_]\w*)")
_TESTS = regex(r"-[a-hknprsuwxzGLNOS]|-ef|-nt|-ot|==?|=~|!=|!|\(|\)|&&|\|\||-[ao]")
_PLAIN_REGEX = regex(r"(?:[\w.^*+?(|)\[\]{},:/@%=-]|\\[^\n]|\$(?=[)|]|\Z))+")
"""A regular expression without an expansion. `[[ … =~ … ]]` evaluates nothing else."""
_CLEAR_TEST = regex("!?(?:w|ow|wow)")
"""Matches forms of a test whose meaning does not depend on the values of its words.

`w` is a word, `o` an operator, `!` a negation.
"""
_NUMBER_TESTS = regex(r"-(?:eq|ne|lt|le|gt|ge)")


class Reader:
    """Analyses one command line, including text that the line passes to `bash -c` or `eval`."""

    def __init__(self, found: LineFindings) -> None:
        self._found = found
        self._programs = Programs(found, self.read)
        self._shells = 0
        self._depth = 0
        self._statements = 0
        self._values: dict[str, Word] = {}
        self._set: Counter[str] = Counter()
        self._defines_functions = False
        self._functions: dict[str, Node] = {}
        self._entered: set[int] = set()

    def read(self, text: str, state: State, first: Word | None = None) -> After:
        """Parse and analyse shell code. Return the possible working directories of the shell after the code.

        `first`: the value of `$1`.
        """
        root, problem = parse(text)
        if problem:
            self._found.doubt(problem)
        if self._shells >= MAX_SHELLS:
            self._found.doubt("It is nested too deeply to be checked.")
        elif root is not None:
            self._found.changes |= any(
                is_secret(source_of(it)) for it in nodes_of_kind(root, "variable_name")
            )
            # An inner shell does not have the variables of the outer shell.
            outer = self._values, self._set, self._entered, self._functions
            self._entered, self._functions = set(), {}
            self._set = Counter(names_in(_unquoted(without_prints(root))))
            self._set.update(decremented(root))
            self._set.subtract(map(variable_of, nodes_of_kind(root, "for_statement")))
            numeric = numeric_names(root, lambda text: names_in(_unquoted(text)))
            self._values = {name: Word("unknown", f"${name}", number=NUMBER) for name in numeric}
            if first:
                self._values["1"] = first
            self._values["HOME"] = Word("text", self._found.home)
            if len(state.folders) == 1 and not self._set["PWD"]:
                self._values["PWD"] = Word("text", state.folders[0])
            self._shells += 1
            after = self._sequence(root, state, "terminal")
            self._shells -= 1
            self._values, self._set, self._entered, self._functions = outer
            return after
        return After(state, state)

    # -- statements

    def _statement(self, node: Node, state: State, stdin: Stdin) -> After:
        self._statements += 1
        if self._depth >= MAX_DEPTH or self._statements > MAX_STATEMENTS:
            self._found.doubt("It is nested too deeply, or has too many parts to be checked.")
            return After(state, state)
        self._depth += 1
        after = self._read(node, state, stdin)
        self._depth -= 1
        return after

    def _read(self, node: Node, state: State, stdin: Stdin) -> After:
        match node.type:
            case "command":
                return self._command(node, state, stdin)
            case "list":
                return self._list(node, state, stdin)
            case "pipeline":
                self._pipeline(node, state, stdin)
            case "redirected_statement":
                return self._redirected(node, state, stdin)
            case "negated_command":
                after = self._sequence(node, state, stdin)
                return After(after.failure, after.success)
            case "compound_statement" if node.children[0].type == "{":
                return self._sequence(node, state, stdin)
            case "compound_statement" if is_expression(
                COUNT.sub("1", source_of(node)[2:-2]), numeric(self._values)
            ):
                self._nested(node, state)
                self._found.add_command((":",), is_read_only=True)
            case "c_style_for_statement" if counts(node, numeric(self._values)):
                return self._conditional(node.child_by_field_name("body") or node, state, stdin)
            case "subshell" | "command_substitution" | "process_substitution":
                self._found.is_plain &= node.type == "subshell"
                values = self._values
                self._sequence(node, state, stdin)
                self._values = values
            case "if_statement" | "while_statement" | "do_group":
                return self._conditional(node, state, stdin)
            case "for_statement" if node.children[0].type == "for":
                return self._for(node, state, stdin)
            case "variable_assignment" | "variable_assignments":
                return self._assignment(node, state)
            case "test_command":
                self._test(node, state)
            case "file_redirect":  # `$(< file)`
                self._nested(node, state)
                redirected(node, self._values, state, self._found)
            case "declaration_command" | "unset_command":
                return self._declaration(node, state)
            case "function_definition":
                return self._function(node, state, stdin)
            case "case_statement":
                return self._conditional(node, state, stdin)
            case _:
                self._unknown(node, state)
        return After(state, state)

    def _unknown(self, node: Node, state: State) -> None:
        """Record a doubt about an unknown node, and search its inner statements for dangers."""
        line = source_of(node).split("\n")[0]
        self._found.doubt(f"Asked because of `{shortened(line)}`: agent-ls does not know what this does.")
        self._inner(node, state)

    def _inner(self, node: Node, state: State) -> None:
        """Read the statements inside a node of any kind."""
        pending = list(reversed(node.named_children))
        while pending:
            child = pending.pop()
            if child.type in _STATEMENTS:
                self._statement(child, state, "pipe" if child.type == "command" else "terminal")
            else:
                pending.extend(reversed(child.named_children))

    def _sequence(self, node: Node, state: State, stdin: Stdin) -> After:
        after = After(state, state)
        before = state
        last: Node | None = None
        for child in node.children:
            if last is not None and last.is_named and child.is_named and not are_separate(last, child):
                self._unknown(node, state)
                return After(state, state)
            last = child
            if not child.is_named:
                if child.type == "&":  # a `cd` in a background command does not move this shell
                    after = After(before, before)
                elif child.type not in _SEPARATORS:
                    self._unknown(node, state)
                continue
            if child.type == "comment":
                continue
            before = after.either
            after = self._statement(child, before, stdin)
        return after

    def _list(self, node: Node, state: State, stdin: Stdin) -> After:
        named = [child for child in node.named_children if child.type != "comment"]
        operator = next((child.type for child in node.children if child.type in ("&&", "||")), "")
        if len(named) != 2 or not operator:
            self._unknown(node, state)
            return After(state, state)
        first = self._statement(named[0], state, stdin)
        if operator == "&&":
            if self._found.folders_exist and only_enters(named[0]):
                self._entered.add(node.id)
            second = self._statement(named[1], first.success, stdin)
            return After(second.success, first.failure.or_else(second.failure))
        second = self._statement(named[1], first.failure, stdin)
        return After(first.success.or_else(second.success), second.failure)

    def _pipeline(self, node: Node, state: State, stdin: Stdin) -> None:
        self._programs.begin_pipeline()
        after, values = After(state, state), self._values
        for place, child in enumerate(c for c in node.named_children if c.type != "comment"):
            self._bind_line(child, state)
            after = self._statement(child, state, stdin if place == 0 else "pipe")
        if after.either != state:
            self._found.doubt(_UNCLEAR_FOLDER)  # only some shells run the last command in a shell of its own
        self._values = values
        self._programs.begin_pipeline()

    def _bind_line(self, loop: Node, state: State) -> None:
        """Give the variable of `while read -r NAME` the names of files that the commands before it list."""
        condition = loop.child_by_field_name("condition") if loop.type == "while_statement" else None
        reads = _READS_LINE.fullmatch(source_of(condition)) if condition else None
        name = reads["name"] if reads else ""
        if reads and name not in self._values and is_own(name) and self._set[name] == 1:
            line = Word("unknown", f"${name}", is_single=False, is_filled=True)
            word = self._listed(line, self._programs.piped, state, with_nulls=reads["null"] is not None)
            if word != line:
                self._values = {**self._values, name: word}

    def _listed(
        self, word: Word, piped: Sequence[Sequence[str]], state: State, *, with_nulls: bool = False
    ) -> Word:
        """Return the word for a name, or for several, that these commands print."""
        pattern, folder = ("", "") if with_nulls or word.problem else listing.lines_of_ls(piped)
        if piped and prints_commits(piped[0]) and all(map(listing.keeps_lines, piped[1:])):
            return replace(word, is_commit=True)
        if not pattern:
            listed = listing.listed(piped, with_nulls=with_nulls)
            return replace(word, listing=listed, entry_of=folder)
        self._found.is_plain = False
        if listing.lists_folders(piped[0]):
            self._found.only_files += self._found.places(pattern, state.folders)
        return replace(word, kind="glob", text=pattern, is_split=True)

    def _redirected(self, node: Node, state: State, stdin: Stdin) -> After:
        words: list[Word] = []
        if any(child.type == "heredoc_redirect" for child in node.named_children):
            stdin = "here"
        for child in node.named_children:
            if child.type in _REDIRECTS:
                self._nested(child, state)
                words += redirected(child, self._values, state, self._found)
                stdin = last_of(stdin, child)
        after = After(state, state)
        for child in node.named_children:
            if child.type == "command":
                after = self._command(child, state, stdin, words)
                words = []
            elif child.type == "pipeline" and stdin != "terminal":
                # The grammar attaches the redirection to the whole pipeline, but the shell applies it only to the
                # last command.
                self._unknown(node, state)
            elif child.type not in _REDIRECTS:
                # `exec <file` may change what later commands of a compound command read
                after = self._statement(child, state, "file" if stdin == "nothing" else stdin)
        if words:
            self._found.doubt("agent-ls does not understand its redirections.")
        return after

    def _conditional(self, node: Node, state: State, stdin: Stdin) -> After:
        """Read a node whose commands may run zero, one or several times.

        If they change the state of the shell, it is unknown in which state they and later commands run.
        """
        after, values = state, self._values
        for child in node.named_children:
            if child.type in ("elif_clause", "else_clause", "case_item"):
                after = after.or_else(self._conditional(child, state, stdin).either)
            elif child.type in _STATEMENTS:
                after = after.or_else(self._statement(child, state, stdin).either)
            elif child.type not in _CONDITION_PARTS and not is_pattern(child):
                self._unknown(child, state)
            else:
                self._nested(child, state)
        if after != state or self._values != values:
            self._found.doubt(_UNCLEAR_FOLDER)
        return After(after, after)

    def _function(self, node: Node, state: State, stdin: Stdin) -> After:
        """Keep the definition of a function for its calls, if it is certain that each call runs this function.

        Otherwise, read its body as if it ran here. It may run later, so no command of the line may change the folder
        after the definition.
        """
        name = _ESCAPING.sub("", source_of(node.child_by_field_name("name") or node))
        if is_known(name):
            self._found.doubt(f"It gives {name} another meaning.")
        elif is_own_function(name) and is_certain(node, self._entered) and self._shells == 1:
            self._functions = {**self._functions, name: node}
            return After(state, state)
        self._found.change()
        after = self._conditional(node, state, stdin)
        self._defines_functions = True
        return after

    def _call(self, words: Sequence[Word], state: State, stdin: Stdin) -> After:
        """Read the body of a function with the words of a call as its parameters."""
        outer, name = (self._values, self._functions), words[0].text
        known = takewhile(lambda word: word.kind == "text", words[1:10])
        others = {it: word for it, word in self._values.items() if not it.isdigit()}
        self._values = {**others, **{str(at): word for at, word in enumerate(known, 1)}}
        body = self._functions[name]
        self._functions = {it: node for it, node in self._functions.items() if it != name}
        self._found.is_plain = False
        after = self._conditional(body, state, stdin)
        self._values, self._functions = outer
        return after

    def _for(self, node: Node, state: State, stdin: Stdin) -> After:
        """Read the body of a loop once for each value of the loop variable.

        If the line sets the variable elsewhere too, its value in the body is unknown.
        """
        name = variable_of(node)
        body = node.child_by_field_name("body")
        values: list[Word] = []
        for value in node.children_by_field_name("value"):
            values += numbers_of(value) or self._expanded(value, state)
        outer = self._values
        if body is None or not values or not is_own(name) or name in outer:
            self._unknown(node, state)
            return After(state, state)
        for word in dict.fromkeys(values):
            if word.problem:
                self._found.doubt_expansion(word)
            if word.kind == "glob":
                self._found.add_word(word, state.folders)
            self._values = outer if self._set[name] else {**outer, name: replace(word, is_filled=True)}
            self._conditional(body, state, stdin)
        self._values = outer
        return After(state, state)

    def _test(self, node: Node, state: State) -> None:
        """Read the test `[ … ]` or `[[ … ]]`.

        A numeric comparison needs approval if a value is not a number, because the shell may evaluate it as
        code.
        """
        operators = ("test_operator", "-eq", "-ne", "-lt", "-le", "-gt", "-ge")
        is_numeric = any(
            _NUMBER_TESTS.fullmatch(source_of(child))
            for kind in operators
            for child in nodes_of_kind(node, kind)
        )
        # `[` splits words, and may treat each resulting word as an operator
        is_command = node.children[0].type == "["
        shape = ""
        is_unclear = False
        pending = list(reversed(node.children))
        while pending:
            child = pending.pop()
            source = source_of(child)
            if child.type in ("unary_expression", "binary_expression", "parenthesized_expression"):
                pending.extend(reversed(child.children))
            elif child.type in ("[", "]", "[[", "]]") or _PLAIN_REGEX.fullmatch(
                source if child.type == "regex" else ""
            ):
                continue
            elif not child.is_named or child.type == "test_operator":
                if not (_TESTS.fullmatch(source) or _NUMBER_TESTS.fullmatch(source)):
                    self._unknown(node, state)
                    return
                shape += "!" if source == "!" else "o"
            else:
                word = word_of(child, self._values)
                self._nested(child, state)
                shape += "w"
                if COUNT.fullmatch(source):
                    continue
                is_unclear |= word.kind == "unknown"
                is_operator = (
                    (word.kind == "glob" and child.type != "string")
                    or not word.is_single
                    or word.text.startswith(("-", "(", "!"))
                )
                is_unclear |= word.text.startswith(("*", "?", "["))  # the name of a file may be an operator
                if (
                    word.problem
                    or (is_numeric and not _is_number(word.with_number("1") or word.text))
                    or (is_command and is_operator)
                ):
                    self._found.doubt_expansion(word)
                elif word.kind != "unknown":
                    known = len(self._found.paths)
                    self._found.add_word(word, state.folders)
                    self._found.named += self._found.paths[known:]
        if is_command and is_unclear and not _CLEAR_TEST.fullmatch(shape):
            self._unknown(node, state)
        self._found.add_command(("test",), is_read_only=True)

    # -- assignments

    def _assignment(self, node: Node, state: State) -> After:
        for assignment in node.named_children if node.type == "variable_assignments" else [node]:
            name, word = self._assigned(assignment, state)
            splits_lines = (
                name == "IFS" and word.kind == "text" and word.text != "" == word.text.strip("\t\n")
            )
            if changes_commands(name) and not splits_lines:
                self._found.doubt(f"It sets {name}, which changes what other commands do.")
            if not is_own(name) and not splits_lines:
                self._found.change()
            elif word.kind != "glob" or word.is_split:
                self._found.add_command((":",), is_read_only=True)
            is_known = word.kind == "text" or bool(word.items) or word.is_split
            is_known |= is_own(name) and bool(word.is_commit or word.listing or word.entry_of)
            if is_known and self._set[name] == 1 and is_certain(assignment, self._entered):
                self._values = {**self._values, name: word}
        return After(state, state)

    def _assigned(self, node: Node, state: State) -> tuple[str, Word]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        variable = source_of(name) if name else ""
        inner = value.named_children[0] if value and value.named_child_count == 1 else None
        is_whole = inner is not None and value is not None and source_of(value) == f'"{source_of(inner)}"'
        if name and value and (inner if is_whole and inner else value).type == "command_substitution":
            self._nested(name, state)
            word = self._expanded(inner if is_whole and inner else value, state)[0]
        else:
            self._nested(node, state)
            word = word_of(value, self._values) if value else Word("text", "")
        if word.problem or not _NAME.fullmatch(variable):
            self._found.doubt_expansion(Word("unknown", source_of(node)))
            return variable, Word("unknown", "")
        if any(child.type == "+=" for child in node.children):
            word = Word("unknown", source_of(node))
        for item in word.items or [word]:
            if item.kind != "unknown":
                self._found.add_word(item, state.folders)
        return variable, word

    def _declaration(self, node: Node, state: State) -> After:
        is_export = source_of(node.children[0]) == "export" and node.child_count > 1
        if is_export and all(map(self._is_harmless, node.children[1:])):
            self._found.add_command((":",), is_read_only=True)
            return After(state, state)
        self._found.change()
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, _ = self._assigned(child, state)
            else:
                name = source_of(child)
                self._nested(child, state)
                if not (_NAME.fullmatch(name) or name in ("-x", "-r", "-p", "-g")):
                    self._found.doubt(
                        f"Asked because of `{name}`: it may set a variable to the result of code."
                    )
            if changes_commands(name):
                self._found.doubt(f"It sets {name}, which changes what other commands do.")
        self._found.add_command([source_of(node.children[0])], is_read_only=False)
        return After(state, state)

    def _is_harmless(self, node: Node) -> bool:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if node.type != "variable_assignment" or name is None or value is None:
            return False
        word = word_of(value, self._values)
        return word.kind == "text" and "+=" not in source_of(node) and is_harmless(source_of(name), word.text)

    # -- commands

    def _command(self, node: Node, state: State, stdin: Stdin, more: Sequence[Word] = ()) -> After:
        """Read a simple command: its assignments, redirections and words.

        `more` are further arguments, which the grammar attaches to a redirection after the command.
        """
        words: list[Word] = []
        end = -1
        for child in node.children:
            if child.start_byte == end and child.type not in _REDIRECTS:
                self._unknown(node, state)  # no blank between them: for a shell, the two nodes are one word
                return After(state, state)
            end = child.end_byte
            if child.type == "variable_assignment":
                name, word = self._assigned(child, state)
                self._found.is_plain = False
                is_known = word.kind == "text"
                if is_known and (is_harmless(name, word.text) or (name == "IFS" and reads_a_line(node))):
                    continue
                if changes_commands(name):
                    self._found.doubt(f"It sets {name}, which changes what other commands do.")
                self._found.change()
            elif child.type in _REDIRECTS:
                self._nested(child, state)
                words += redirected(child, self._values, state, self._found)
                stdin = last_of(stdin, child)
            elif not child.is_named and child.type not in ("", "\n"):
                self._unknown(node, state)
                return After(state, state)
            else:
                words += self._expanded(child, state)
        words += more
        if not words:
            return After(state, state)
        for word in words:
            if word.problem:
                self._found.doubt_expansion(word)
        if words[0].source in self._functions:
            return self._call(words, state, "file" if stdin == "nothing" else stdin)
        after = self._programs.run(words, state, stdin)
        if after.either != state:
            # names that a command has listed are relative to the folder before
            kept = {name: word for name, word in self._values.items() if not word.listing and name != "PWD"}
            self._values = kept
            if self._defines_functions:
                self._found.doubt(_UNCLEAR_FOLDER)
        return after

    def _expanded(self, node: Node, state: State) -> list[Word]:
        """Read the commands in a word. Return the words that the shell expands it to."""
        inner = node.named_children[0] if node.named_child_count == 1 else node
        commands = inner.named_children if inner.type == "pipeline" else [inner]
        if node.type != "command_substitution" or not all(map(is_simple, commands)):
            self._nested(node, state)
            return words_of(node, self._values)
        outer = self._programs.begin_pipeline()
        for child in commands:
            self._statement(child, state, "terminal" if child is commands[0] else "pipe")
        return [self._listed(word_of(node, self._values), self._programs.end_pipeline(outer), state)]

    def _nested(self, node: Node, state: State) -> None:
        """Read command substitutions inside an argument, because their commands run too."""
        pending = [node]
        while pending:
            child = pending.pop()
            if child.type in _SUBSTITUTIONS:
                self._statement(child, state, "terminal")
            else:
                pending.extend(reversed(child.named_children))


def _is_number(text: str) -> bool:
    return text.isdigit() or text.strip('"') in ("$?", "$#")


def _unquoted(text: str) -> str:
    return _ESCAPING.sub("", text).replace("\n", " ")
