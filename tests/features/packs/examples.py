"""An example call of each pack tool: the files before it, the arguments, and the expected output and files.

In an argument, `{url}` is replaced by the address of the test's web server and `{pid}` by the id of a process of the
test.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

REPOSITORY = (
    ("git", "init", "-q", "-b", "main"),
    ("git", "config", "user.name", "Ada"),
    ("git", "config", "user.email", "ada@example.org"),
    ("git", "add", "."),
    ("git", "commit", "-q", "-m", "first"),
)
CRATE = {
    "Cargo.toml": '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n",
}
GO = {"go.mod": "module sample\n\ngo 1.20\n", "a.go": "package sample\n\nvar X = 1\n"}
NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], '
    '"source": "print(1)"}], "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": '
    '"python3"}, "language_info": {"name": "python", "file_extension": ".py"}}, "nbformat": 4, "nbformat_minor": 5}'
)


@dataclass(frozen=True)
class Example:
    """A call of a tool and its expected result.

    `says` must be in the output. `after` maps file names to their expected content (None: the file must not exist).
    The test runs the `before` commands first, and at the end the command in `then`, which must print the text in
    `then`. `skip` returns a reason to skip the test. `fails`: the call must give an error result.
    """

    arguments: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=lambda: {"a.txt": "one\ntwo\nthree\n"})
    says: str = ""
    after: Mapping[str, str | None] = field(default_factory=dict)
    before: Sequence[Sequence[str]] = ()
    then: tuple[Sequence[str], str] | None = None
    skip: Callable[[], str] = lambda: ""
    fails: bool = False


def _docker() -> str:
    try:
        done = subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "docker cannot be started"
    return "no Docker daemon runs here" if done.returncode else ""


def _cluster() -> str:
    try:
        asked = ["kubectl", "version", "--request-timeout=5s"]
        done = subprocess.run(asked, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "kubectl cannot be started"
    return "no Kubernetes cluster can be reached" if done.returncode else ""


def _chromium() -> str:
    return "Chromium refuses to run as root" if hasattr(os, "getuid") and os.getuid() == 0 else ""


_TWO_BRANCHES = (*REPOSITORY, ("git", "branch", "other"))
_MERGE = (
    *_TWO_BRANCHES,
    ("git", "switch", "-q", "other"),
    ("git", "commit", "-q", "--allow-empty", "-m", "second"),
    ("git", "switch", "-q", "main"),
)
_CHANGED = (*REPOSITORY, ("sh", "-c", "echo four >> a.txt"))

EXAMPLES: Mapping[str, Example] = {
    # execution
    "python_exec": Example({"code": "print(6 * 7)"}, says="42"),
    "node_exec": Example({"code": "console.log(6 * 7)"}, says="42"),
    "make_target": Example({"target": "hello"}, {"Makefile": "hello:\n\t@echo made\n"}, "made"),
    # file_read
    "read_lines": Example({"file_path": "a.txt", "first_line": 2, "last_line": 3}, says="2 | two\n3 | three"),
    "head": Example({"file_path": "a.txt", "lines": 1}, says="1 | one"),
    "tail": Example({"file_path": "a.txt", "lines": 2}, says="2 | two\n3 | three"),
    # file_write
    "create_file": Example({"file_path": "b/new.txt", "content": "x\n"}, after={"b/new.txt": "x\n"}),
    "append_file": Example(
        {"file_path": "a.txt", "content": "four\n"}, after={"a.txt": "one\ntwo\nthree\nfour\n"}
    ),
    "write_file": Example({"file_path": "c.txt", "content": "x\n"}, after={"c.txt": "x\n"}),
    "edit_file": Example(
        {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
        fails=True,
        says="you have not read it",
    ),
    "apply_patch": Example(
        {"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"},
        after={"a.txt": "one\n2\nthree\n"},
    ),
    # file_manage
    "delete_file": Example({"file_path": "a.txt"}, after={"a.txt": None}),
    "move_file": Example(
        {"source": "a.txt", "target": "b/c.txt"}, after={"a.txt": None, "b/c.txt": "one\ntwo\nthree\n"}
    ),
    "copy_file": Example(
        {"source": "a.txt", "target": "c.txt"},
        after={"a.txt": "one\ntwo\nthree\n", "c.txt": "one\ntwo\nthree\n"},
    ),
    "chmod": Example({"mode": "600", "path": "a.txt"}, then=(("stat", "-c", "%a", "a.txt"), "600")),
    # directory
    "list_dir": Example({"path": "."}, says="a.txt"),
    "tree": Example({"path": ".", "depth": 2}, {"b/c.txt": "x"}, "c.txt"),
    "mkdir": Example({"path": "x/y"}, then=(("find", "x"), "x\nx/y")),
    "rmdir": Example({"path": "full"}, {"full/a": "x"}, "not empty", fails=True, after={"full/a": "x"}),
    "disk_usage": Example({"path": ".", "depth": 0}, says="."),
    # search
    "grep": Example({"pattern": "tw."}, says="a.txt:2:two"),
    "glob": Example({"pattern": "*.txt"}, says="a.txt"),
    "find_files": Example({"path": ".", "name": "*.txt", "changed_within_days": 2}, says="./a.txt"),
    "ripgrep": Example({"pattern": "^tw", "path": "a.txt"}, says="2:two"),
    "git_grep": Example({"pattern": "^tw"}, says="a.txt:2:two", before=REPOSITORY),
    # git
    "git_status": Example(says=" M a.txt", before=_CHANGED),
    "git_diff": Example({"path": "a.txt"}, says="+four", before=_CHANGED),
    "git_log": Example({"count": 5}, says="first", before=REPOSITORY),
    "git_show": Example({"revision": "HEAD"}, says="+two", before=REPOSITORY),
    "git_blame": Example({"path": "a.txt", "first_line": 2, "last_line": 2}, says="Ada", before=REPOSITORY),
    "git_add": Example({"path": "a.txt"}, before=_CHANGED, then=(("git", "status", "--short"), "M  a.txt")),
    "git_commit": Example(
        {"message": "second\n\n-m is no option"},
        says="second",
        before=(*_CHANGED, ("git", "add", ".")),
        then=(("git", "log", "-1", "--format=%B"), "second\n\n-m is no option"),
    ),
    "git_branch": Example(
        {"name": "topic/x"}, before=REPOSITORY, then=(("git", "branch"), "* main\n  topic/x")
    ),
    "git_checkout": Example({"branch": "other"}, says="other", before=_TWO_BRANCHES),
    "git_merge": Example({"branch": "other"}, says="Fast-forward", before=_MERGE),
    "git_stash": Example({"action": "push"}, before=_CHANGED, after={"a.txt": "one\ntwo\nthree\n"}),
    # testing
    "pytest": Example({"path": "test_a.py"}, {"test_a.py": "def test_a():\n    assert 1\n"}, "1 passed"),
    "unittest": Example(
        {"name": "test_a"},
        {"test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_b(self):\n        pass\n"},
        "OK",
    ),
    "node_test": Example(
        {"path": "a.test.js"}, {"a.test.js": "require('node:test')('adds', () => {})\n"}, "pass 1"
    ),
    "jest": Example(
        {"path": "a.test.js"},
        {"package.json": "{}", "a.test.js": "test('adds', () => { expect(1).toBe(1) })\n"},
        "1 passed",
    ),
    "cargo_test": Example({"name": "adds"}, CRATE, "1 passed"),
    "go_test": Example(
        {"packages": "./..."},
        {**GO, "a_test.go": 'package sample\n\nimport "testing"\n\nfunc TestX(t *testing.T) {}\n'},
        "ok",
    ),
    # validation
    "ruff_check": Example({"path": "a.py"}, {"a.py": "import os\n"}, "F401", fails=True),
    "ruff_format": Example({"path": "a.py"}, {"a.py": "x=1\n"}, after={"a.py": "x = 1\n"}),
    "mypy": Example({"path": "a.py"}, {"a.py": "x: int = 'a'\n"}, "Incompatible types", fails=True),
    "check_python_syntax": Example({"path": "a.py"}, {"a.py": "def (:\n"}, "SyntaxError", fails=True),
    "check_javascript_syntax": Example({"path": "a.js"}, {"a.js": "function (\n"}, "SyntaxError", fails=True),
    "check_json": Example({"path": "a.json"}, {"a.json": '{"a": }'}, "error", fails=True),
    "shellcheck": Example({"path": "a.sh"}, {"a.sh": "#!/bin/sh\necho $1\n"}, "SC2086", fails=True),
    "tsc": Example({}, {"tsconfig.json": "{}", "a.ts": "const x: number = 'a';\n"}, "TS2322", fails=True),
    # process
    "list_processes": Example(says="PID"),
    "process_info": Example({"pid": "{pid}"}, says="sleep"),
    "memory_use": Example(says="Mem:"),
    "signal_process": Example({"pid": "{pid}", "signal": "TERM"}),
    # network
    "http_get": Example({"url": "{url}/page"}, says="the page"),
    "http_head": Example({"url": "{url}/page"}, says="content-length: 8"),
    "http_post": Example(
        {"url": "{url}/page", "body": '@a.txt "x"', "content_type": "text/plain"}, says="the page"
    ),
    "download": Example({"url": "{url}/page", "path": "page.txt"}, after={"page.txt": "the page"}),
    # reasoning, control
    "think": Example({"thought": "First the tests."}, says="Noted."),
    "reflect": Example({"attempt": "a", "outcome": "b", "next_step": "read c"}, says="Next: read c"),
    "summarize": Example({"done": "a", "open": "b"}, says="Open: b"),
    "submit": Example({"result": "done"}, says="done"),
    "abort": Example({"reason": "no access"}, says="given up: no access"),
    # languages
    "pip_list": Example(says="Package"),
    "pip_install": Example({"requirement": "pip"}, says="already satisfied"),
    "black": Example({"path": "a.py"}, {"a.py": "x=1\n"}, after={"a.py": "x = 1\n"}),
    "npm_run": Example(
        {"script": "hello"}, {"package.json": '{"scripts": {"hello": "echo from npm"}}'}, "from npm"
    ),
    "npm_install": Example({}, {"package.json": '{"name": "sample", "version": "1.0.0"}'}, "up to date"),
    "eslint": Example(
        {"path": "a.js"},
        {"eslint.config.js": "module.exports = [{rules: {'no-var': 'error'}}]\n", "a.js": "var x = 1\n"},
        "no-var",
        fails=True,
    ),
    "prettier": Example(
        {"action": "--write", "path": "a.js"}, {"a.js": "x  = 1"}, after={"a.js": "x = 1;\n"}
    ),
    "cargo_check": Example({}, CRATE, "Finished"),
    "cargo_clippy": Example({}, CRATE, "Finished"),
    "cargo_fmt": Example({}, {**CRATE, "src/lib.rs": "fn  a(){}\n"}, after={"src/lib.rs": "fn a() {}\n"}),
    "go_vet": Example({"packages": "./..."}, GO),
    "go_build": Example({"packages": "./..."}, GO),
    "gofmt": Example(
        {"action": "-w", "path": "b.go"}, {"b.go": "package  sample\n"}, after={"b.go": "package sample\n"}
    ),
    # kinds of tasks
    "page_dom": Example({"url": "{url}/page"}, says="the page", skip=_chromium),
    "page_screenshot": Example(
        {"url": "{url}/page", "path": "a.png"}, {}, skip=_chromium, then=(("ls",), "a.png")
    ),
    "page_pdf": Example({"url": "{url}/page", "path": "a.pdf"}, {}, skip=_chromium, then=(("ls",), "a.pdf")),
    "docker_ps": Example(says="CONTAINER ID", skip=_docker),
    "docker_logs": Example(
        {"container": "no-such-container", "lines": 5}, says="No such container", fails=True, skip=_docker
    ),
    "docker_build": Example(
        {"tag": "agent-ls-test", "path": "."},
        {"Dockerfile": "FROM scratch\nCOPY a /\n", "a": "x"},
        skip=_docker,
    ),
    "kubectl_get": Example({"resource": "namespaces"}, says="NAME", skip=_cluster),
    "kubectl_logs": Example({"pod": "no-such-pod", "lines": 5}, says="not found", fails=True, skip=_cluster),
    "notebook_run": Example(
        {"path": "a.ipynb"},
        {"a.ipynb": NOTEBOOK},
        then=(("grep", "-c", 'execution_count": 1', "a.ipynb"), "1"),
    ),
    "notebook_to_script": Example(
        {"path": "a.ipynb"}, {"a.ipynb": NOTEBOOK}, then=(("tail", "-1", "a.py"), "print(1)")
    ),
    "plot_script": Example({"path": "a.py"}, {"a.py": "import os\nprint(os.environ['MPLBACKEND'])\n"}, "Agg"),
}
