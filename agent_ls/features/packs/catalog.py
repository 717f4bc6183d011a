"""Pure: lists of the packs, the presets that select packs, and the programs that the tools of packs run.

The first thirteen packs are the tool categories of "Function Calls & Tool Calling", section 11.3.
The other packs are for languages and kinds of tasks (section 11.5). The presets are the rows of
section 11.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Pack:
    """A group of tools.

    `tools` are names, in the order in which models see them. A tool is defined in the YAML file
    with the pack's name in this package, or in CODE_TOOLS. `own` are related tools that sessions
    can have without the pack. `is_category`: the pack is one of the thirteen tool categories.
    """

    name: str
    about: str
    tools: tuple[str, ...]
    own: tuple[str, ...] = ()
    is_category: bool = True


def _pack(name: str, about: str, tools: str, own: str = "", *, is_category: bool = True) -> Pack:
    return Pack(name, about, tuple(tools.split()), tuple(own.split()), is_category)


_PACKS = (
    _pack("execution", "run code and commands", "python_exec node_exec make_target", "shell"),
    _pack("file_read", "read parts of files", "read_lines head tail", "read_file read_many_files"),
    _pack(
        "file_write",
        "create and change files",
        "create_file append_file write_file edit_file apply_patch",
        "edit_notebook",
    ),
    _pack("file_manage", "delete, move and copy files", "delete_file move_file copy_file chmod"),
    _pack("directory", "list, create and remove folders", "list_dir tree mkdir rmdir disk_usage"),
    _pack("search", "find files and text", "grep glob find_files ripgrep git_grep"),
    _pack(
        "git",
        "look at history, stage and commit",
        "git_status git_diff git_log git_show git_blame git_add git_commit git_branch git_checkout git_merge git_stash",
    ),
    _pack("testing", "run tests", "pytest unittest node_test jest cargo_test go_test"),
    _pack(
        "validation",
        "lint, check types and syntax, format",
        "ruff_check ruff_format mypy check_python_syntax check_javascript_syntax check_json shellcheck tsc",
        "diagnostics",
    ),
    _pack(
        "process",
        "look at processes and end them",
        "list_processes process_info memory_use signal_process",
        "processes",
    ),
    _pack("network", "send HTTP requests", "http_get http_head http_post download", "web_fetch web_search"),
    _pack("reasoning", "record thoughts and progress", "think reflect summarize", "plan"),
    _pack("control", "end a task, or ask", "submit abort", "ask_user"),
    _pack("python", "Python packages", "pip_list pip_install black", is_category=False),
    _pack("javascript", "Node.js packages", "npm_run npm_install eslint prettier", is_category=False),
    _pack("rust", "Rust projects", "cargo_check cargo_clippy cargo_fmt", is_category=False),
    _pack("go", "Go projects", "go_vet go_build gofmt", is_category=False),
    _pack("browser", "pages in a headless browser", "page_dom page_screenshot page_pdf", is_category=False),
    _pack(
        "containers",
        "containers and Kubernetes",
        "docker_ps docker_logs docker_build kubectl_get kubectl_logs",
        is_category=False,
    ),
    _pack("data", "notebooks and plots", "notebook_run notebook_to_script plot_script", is_category=False),
)

PACKS: Mapping[str, Pack] = MappingProxyType({pack.name: pack for pack in _PACKS})
CATEGORIES: tuple[str, ...] = tuple(pack.name for pack in _PACKS if pack.is_category)

CODE_TOOLS: Mapping[str, str] = MappingProxyType(
    {
        "read_lines": "line_views:READ_LINES",
        "head": "line_views:HEAD",
        "tail": "line_views:TAIL",
        "create_file": "file_additions:CREATE_FILE",
        "append_file": "file_additions:APPEND_FILE",
        "write_file": "write_file:WRITE_FILE",
        "edit_file": "edit_file:EDIT_FILE",
        "apply_patch": "apply_patch:APPLY_PATCH",
        "delete_file": "file_moves:DELETE_FILE",
        "move_file": "file_moves:MOVE_FILE",
        "copy_file": "file_moves:COPY_FILE",
        "list_dir": "list_dir:LIST_DIR",
        "grep": "grep:GREP",
        "glob": "glob:GLOB",
        "think": "think:THINK",
        "reflect": "reflection:REFLECT",
        "summarize": "reflection:SUMMARIZE",
        "submit": "submit:SUBMIT",
        "abort": "abort:ABORT",
    }
)
"""Tools that are written in Python.

Each value names a module of agent_ls/tools and the tool in this module.
"""

COVERED_BY: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "read_lines": ("read_file",),
        "head": ("read_file",),
        "tail": ("read_file",),
        "create_file": ("write_file", "apply_patch"),
        "append_file": ("write_file", "apply_patch"),
        "write_file": ("write_file", "apply_patch"),
        "edit_file": ("edit_file", "apply_patch"),
        "apply_patch": ("edit_file", "apply_patch"),
        "delete_file": ("apply_patch",),
        "move_file": ("apply_patch",),
        "list_dir": ("list_dir", "glob"),
        "grep": ("grep",),
        "glob": ("glob",),
        "ripgrep": ("grep",),
        "git_grep": ("grep",),
        "http_get": ("web_fetch",),
        "http_head": ("web_fetch",),
    }
)
"""For each tool, other tools that do the same. A preset leaves the tool out if the profile has one of the
others.
"""

_ALWAYS = ("reasoning", "control")
_BASH = ("execution", "process")
_FILES = ("file_read", "file_write", "file_manage", "directory", "search")
_TESTS = ("testing", "validation")
_MINIMAL = (*_BASH, *_FILES)
_REPOSITORY = (*_MINIMAL, "git", *_TESTS)
_EVERYTHING = (*_REPOSITORY, "network", "browser", "containers")

PRESETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "minimal": (*_MINIMAL, *_ALWAYS),
        "standard": (*_REPOSITORY, "network", *_ALWAYS),
        "full": (*_EVERYTHING, *_ALWAYS),
        "swe-agent": (*_REPOSITORY, *_ALWAYS),
        "openhands": (*_EVERYTHING, *_ALWAYS),
        "custom": (*_REPOSITORY, *_ALWAYS),
    }
)
"""The packs of each preset.

`custom` has the same packs as `swe-agent`; users add other packs to it, for example `network`.
"""


@dataclass(frozen=True, slots=True)
class Program:
    """How to install a program.

    `command` is an argv that installs the program without root; empty if there is none. `advice` is the text
    that is displayed if there is no command.
    """

    command: tuple[str, ...] = ()
    advice: str = ""


def _pip(name: str) -> Program:
    return Program(("python3", "-m", "pip", "install", name))


def _npm(name: str) -> Program:
    return Program(("npm", "install", "--global", name))


def _system(package: str) -> Program:
    return Program(advice=f"install the package {package} of your system")


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        "black": _pip("black"),
        "cargo": Program(advice="install Rust from https://rustup.rs"),
        "cargo-clippy": Program(("rustup", "component", "add", "clippy")),
        "cargo-fmt": Program(("rustup", "component", "add", "rustfmt")),
        "chmod": _system("coreutils"),
        "chromium": _system("chromium"),
        "curl": _system("curl"),
        "docker": Program(advice="install Docker, and allow your user to run it"),
        "du": _system("coreutils"),
        "eslint": _npm("eslint"),
        "find": _system("findutils"),
        "free": _system("procps"),
        "git": _system("git"),
        "go": Program(advice="install Go from https://go.dev/dl"),
        "gofmt": Program(advice="install Go from https://go.dev/dl"),
        "jest": _npm("jest"),
        "jq": _system("jq"),
        "jupyter": _pip("nbconvert"),
        "kill": _system("procps"),
        "kubectl": Program(advice="install kubectl as https://kubernetes.io/docs/tasks/tools says"),
        "make": _system("make"),
        "mkdir": _system("coreutils"),
        "mypy": _pip("mypy"),
        "node": Program(advice="install Node.js from https://nodejs.org"),
        "npm": Program(advice="install Node.js from https://nodejs.org"),
        "pip": _system("python3-pip"),
        "prettier": _npm("prettier"),
        "ps": _system("procps"),
        "pytest": _pip("pytest"),
        "python3": _system("python3"),
        "rg": _pip("ripgrep"),
        "rmdir": _system("coreutils"),
        "ruff": _pip("ruff"),
        "shellcheck": _system("shellcheck"),
        "tree": _system("tree"),
        "tsc": _npm("typescript"),
    }
)
"""All programs that tools of packs run."""

NEEDS: Mapping[str, str] = MappingProxyType({"cargo_clippy": "cargo-clippy", "cargo_fmt": "cargo-fmt"})
"""For each tool, a second program that it needs, because the tool's command starts that program."""
