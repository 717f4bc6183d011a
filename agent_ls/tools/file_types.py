"""File types by their ripgrep names, as globs of file names. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

FILE_TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "asm": ("*.asm", "*.s", "*.S"),
        "awk": ("*.awk",),
        "bazel": ("*.bazel", "*.bzl", "BUILD", "WORKSPACE"),
        "c": ("*.c", "*.h", "*.H", "*.cats"),
        "clojure": ("*.clj", "*.cljc", "*.cljs", "*.cljx"),
        "cmake": ("*.cmake", "CMakeLists.txt"),
        "config": ("*.cfg", "*.conf", "*.config", "*.ini"),
        "cpp": ("*.C", "*.cc", "*.cpp", "*.cxx", "*.h", "*.H", "*.hh", "*.hpp", "*.hxx", "*.inl"),
        "cs": ("*.cs",),
        "csharp": ("*.cs",),
        "css": ("*.css", "*.scss"),
        "csv": ("*.csv",),
        "cuda": ("*.cu", "*.cuh"),
        "d": ("*.d",),
        "dart": ("*.dart",),
        "diff": ("*.diff", "*.patch"),
        "docker": ("*Dockerfile*",),
        "elisp": ("*.el",),
        "elixir": ("*.eex", "*.ex", "*.exs", "*.heex", "*.leex", "*.livemd"),
        "elm": ("*.elm",),
        "erlang": ("*.erl", "*.hrl"),
        "fish": ("*.fish",),
        "fortran": ("*.f", "*.f77", "*.f90", "*.f95", "*.F", "*.F90"),
        "fsharp": ("*.fs", "*.fsi", "*.fsx"),
        "go": ("*.go",),
        "gradle": ("*.gradle", "*.gradle.kts"),
        "graphql": ("*.graphql", "*.graphqls"),
        "groovy": ("*.gradle", "*.groovy"),
        "h": ("*.h", "*.hh", "*.hpp"),
        "haskell": ("*.hs", "*.lhs", "*.cpphs", "*.c2hs", "*.hsc"),
        "html": ("*.htm", "*.html", "*.ejs"),
        "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
        "js": ("*.js", "*.jsx", "*.vue", "*.cjs", "*.mjs"),
        "json": ("*.json", "*.sarif"),
        "jsonl": ("*.jsonl",),
        "julia": ("*.jl",),
        "jupyter": ("*.ipynb",),
        "kotlin": ("*.kt", "*.kts"),
        "less": ("*.less",),
        "lisp": ("*.el", "*.jl", "*.lisp", "*.lsp", "*.sc", "*.scm"),
        "lua": ("*.lua",),
        "make": ("*.mak", "*.mk", "[Gg][Nn][Uu]makefile", "[Mm]akefile", "Makefile.am", "Makefile.in"),
        "markdown": ("*.markdown", "*.md", "*.mdown", "*.mdwn", "*.mdx", "*.mkd", "*.mkdn"),
        "matlab": ("*.m",),
        "md": ("*.markdown", "*.md", "*.mdown", "*.mdwn", "*.mdx", "*.mkd", "*.mkdn"),
        "meson": ("meson.build", "meson.options", "meson_options.txt"),
        "ml": ("*.ml",),
        "nim": ("*.nim", "*.nimble", "*.nims"),
        "nix": ("*.nix",),
        "objc": ("*.h", "*.m"),
        "objcpp": ("*.h", "*.mm"),
        "ocaml": ("*.ml", "*.mli", "*.mll", "*.mly"),
        "org": ("*.org",),
        "perl": ("*.perl", "*.pl", "*.PL", "*.plh", "*.plx", "*.pm", "*.t"),
        "php": ("*.php", "*.php3", "*.php4", "*.php5", "*.php7", "*.php8", "*.pht", "*.phtml"),
        "powershell": ("*.cdxml", "*.ps1", "*.ps1xml", "*.psd1", "*.psm1"),
        "proto": ("*.proto",),
        "protobuf": ("*.proto",),
        "py": ("*.py", "*.pyi"),
        "python": ("*.py", "*.pyi"),
        "r": ("*.R", "*.r", "*.Rmd", "*.rmd", "*.Rnw", "*.rnw"),
        "rst": ("*.rst",),
        "ruby": ("*.gemspec", "*.rb", "*.rbw", ".irbrc", "config.ru", "Gemfile", "Rakefile"),
        "rust": ("*.rs",),
        "sass": ("*.sass", "*.scss"),
        "scala": ("*.sbt", "*.scala"),
        "sh": ("*.bash", "*.csh", "*.ksh", "*.sh", "*.tcsh", "*.zsh", ".bashrc", ".profile", ".zshrc"),
        "solidity": ("*.sol",),
        "sql": ("*.psql", "*.sql"),
        "svelte": ("*.svelte",),
        "svg": ("*.svg",),
        "swift": ("*.swift",),
        "tcl": ("*.tcl",),
        "terraform": ("*.tf", "*.tf.json", "*.tfvars", "*.tfvars.json", "*.terraformrc"),
        "tex": ("*.bib", "*.cls", "*.dtx", "*.ins", "*.ltx", "*.sty", "*.tex"),
        "tf": ("*.tf", "*.tf.json", "*.tfvars", "*.tfvars.json", "*.terraformrc"),
        "toml": ("*.toml", "Cargo.lock"),
        "ts": ("*.cts", "*.mts", "*.ts", "*.tsx"),
        "tsx": ("*.tsx",),
        "txt": ("*.txt",),
        "typescript": ("*.cts", "*.mts", "*.ts", "*.tsx"),
        "vb": ("*.vb",),
        "verilog": ("*.sv", "*.svh", "*.v", "*.vg", "*.vh"),
        "vhdl": ("*.vhd", "*.vhdl"),
        "vim": ("*.vim", ".gvimrc", ".vimrc", "_gvimrc", "_vimrc", "gvimrc", "vimrc"),
        "vue": ("*.vue",),
        "wgsl": ("*.wgsl",),
        "xml": ("*.dtd", "*.rng", "*.sch", "*.xhtml", "*.xjb", "*.xml", "*.xsd", "*.xsl", "*.xslt"),
        "yaml": ("*.yaml", "*.yml"),
        "zig": ("*.zig",),
        "zsh": ("*.zsh", ".zlogin", ".zlogout", ".zprofile", ".zshenv", ".zshrc"),
    }
)


def glob_of_type(file_type: str) -> str:
    """Return one glob for all file names of a type.

    Raises:
        ValueError: the type is unknown; the message suggests similar types.
    """
    globs = FILE_TYPES.get(file_type.strip().lower().removeprefix("."))
    if globs is None:
        alike = get_close_matches(file_type.lower(), FILE_TYPES, 3)
        hint = f"Do you mean {', '.join(alike)}? " if alike else ""
        raise ValueError(
            f"{file_type!r} is not a known file type. {hint}"
            "Known types are for example py, js, ts, rust, go and java; for other files give a glob such as `*.ext`"
        )
    return globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}"
