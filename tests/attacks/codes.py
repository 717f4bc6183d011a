"""Generate code for python and node in a command line, of harmless parts and of parts that write, read and run."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator

_OF_PYTHON = (
    "open('a.txt')", "open('link')", "open('made', 'w')", "open('a.txt', 'r')", "open('li' + 'nk')", "open(x)",
    "'made'", "os", "os.path", "os.system", "os.listdir('.')", "sys", "sys.path", "sys.stdin", "sys.modules",
    "sys.argv", "json", "json.load", "Path('a.txt')", "Path('made')", "print", "open", "exec", "getattr", "1",
    "'touch made'", "'x'", "x", "y", "[]", "{}", "map", "json.loads('[1]')", "re.compile('x')", "os.environ",
    "b''", "__builtins__", "(lambda: 1)", "glob.glob('*')", "Path('.').glob('*')", "Path('.').rglob", "type", "type(x)",
    "functools.partial(print)", "io.StringIO('x')", "inspect.getsource(json.dumps)", "compile",
    "operator.itemgetter(0)", "importlib.metadata.version('pip')", "tarfile.open('t.tar')",
)  # fmt: skip
_FORMS_OF_PYTHON = (
    "{}.{}", "{}({})", "{}({}, {})", "[{}]", "({}, {})", "{}[{}]", "[x for x in {}]", "(lambda x: {})({})",
    "f'{{{}}}'", "{} + {}", "{} if {} else {}", "dict(a={})", "{}.{}({})", "{}.{}()", "list({})", "map({}, {})",
    "'%s' % {}",
)  # fmt: skip
_NAMES = (
    "read", "write", "write_text", "replace", "append", "insert", "copy", "format", "system", "popen", "open",
    "close", "join", "split", "get", "update", "__class__", "__globals__", "buffer", "read_text", "touch",
    "unlink", "load", "x", "writelines", "rename", "exists", "name", "parent", "path", "sub", "search", "walk",
    "environ", "stdout", "modules", "glob", "rglob", "iterdir", "__name__", "suffix", "getnames", "extractall", "func",
)  # fmt: skip
_LINES_OF_PYTHON = (
    "print({})", "{}", "x = {}", "open = {}", "json = {}", "x[{}] = {}", "for x in {}: print({})",
    "with {} as x: print({})", "def x(y): return {}", "import os", "import sys", "import json",
    "import os as json", "from os import system as x", "from os import *", "from pathlib import Path",
    "import re", "sys.path.insert(0, {})", "try: print({})\nexcept Exception: {}", "x += {}", "del x",
    "from pathlib import Path as x", "import os.path as x", "import subprocess", "print({}, file={})",
)  # fmt: skip
_OF_NODE = (
    "require('./c.json')", "require('./x')", "require('fs')", "require('./c')", "process", "process.version",
    "process.env", "require('fs').readFileSync('link', 'utf8')", "require('fs').readFileSync('a.txt', 'utf8')",
    "'made'", "1", "x", "[1]", "require('fs').writeFileSync('made', '')", "Object.keys", "JSON.stringify",
    "console.log", "require", "globalThis", "require('child_process').execSync('touch made')", "'x'",
    "Function", "eval", "process.versions", "null", "x => x", "[].flat.constructor", "y", "(x => 1)", "{a: 1}", "vm",
    "`a${x}`", "JSON.parse('1', {})", "Array.from(['1'])", "fs.readFileSync('link')", "child_process", "...[1]",
)  # fmt: skip
_FORMS_OF_NODE = (
    "{}.{}", "{}({})", "{}({}, {})", "[{}]", "({})", "{}[{}]", "{} + {}", "{}.{}({})", "Object.keys({})",
    "`${{{}}}`", "JSON.stringify({})", "(x => {})({})", "{}?.{}", "{}.map({})", "{}.map(y => {})",
    "{}.filter(([y]) => {{ return {} }})", "{}.sort({})", "JSON.parse({}, {})", "Array.from({}, {})", "{{a: {}}}",
    "{} ? {} : {}", "!{}", "{} && {}", "JSON.stringify({}, {})",
)  # fmt: skip
_LINES_OF_NODE = (
    "console.log({})", "{}", "const x = {}", "let require = {}", "x = {}", "console.log({}, {})", "let {{x}} = {}",
    "for (const y of {}) {{ console.log({}) }}", "if ({}) {} else {}", "const fs = require('fs')", "const fs = {}",
    "for (const y in {}) {}", "const [x, y] = {}", "x += {}", "console.log({}) <!-- {}",
)  # fmt: skip
_NAMES_OF_NODE = (
    "constructor", "length", "join", "sort", "x", "env", "writeFileSync", "mainModule", "binding", "toString",
    "replace",
)  # fmt: skip


def lines(seed: int, count: int) -> Iterator[str]:
    """Yield command lines that run generated code."""
    chance = random.Random(seed)
    for _ in range(count):
        if chance.random() < 0.6:
            parts: tuple[tuple[str, ...], ...] = _OF_PYTHON, _FORMS_OF_PYTHON, _NAMES
            more = chance.choice(
                ("", ", glob, functools, io, inspect, operator, tarfile, importlib.metadata")
            )
            start = f"import os, sys, json, re{more}; from pathlib import Path\nx = 1\n" * (
                chance.random() < 0.7
            )
            code = start + "\n".join(
                _line(chance, _LINES_OF_PYTHON, *parts) for _ in range(chance.randint(1, 3))
            )
            is_document = chance.random() < 0.2
            yield f"python3 - <<'EOF'\n{code}\nEOF" if is_document else f"python3 -c {shlex.quote(code)}"
        else:
            parts = _OF_NODE, _FORMS_OF_NODE, _NAMES_OF_NODE
            code = "; ".join(_line(chance, _LINES_OF_NODE, *parts) for _ in range(chance.randint(1, 3)))
            yield f"node {chance.choice(('-p', '-e'))} {shlex.quote(code)}"


def _line(
    chance: random.Random,
    lines: tuple[str, ...],
    atoms: tuple[str, ...],
    forms: tuple[str, ...],
    names: tuple[str, ...],
) -> str:
    def value(depth: int) -> str:
        if depth == 0 or chance.random() < 0.4:
            return chance.choice(atoms)
        form = chance.choice(forms)
        filled = [value(depth - 1) for _ in range(form.count("{}"))]
        if ".{}" in form:
            filled[1] = chance.choice(names)
        return form.format(*filled)

    line = chance.choice(lines)
    return line.format(*(value(chance.randint(0, 3)) for _ in range(line.count("{}"))))
