"""Tables of the names of files and folders for which special rules apply."""

from __future__ import annotations

OWN_MODULES = "a module of python"
"""In place of the name of a file: each file of the working directory that has the name of one of python's modules."""
LINKED = "a link of node: "
"""Before the name of a file: it decides what runs if it leads to a file of another kind."""

IGNORE_FILE = ".agent-ls-ignore"
"""A file in a workspace folder with patterns as in .gitignore. Tools do not read or write matching files."""

FOREIGN_IGNORE_FILES = (
    ".cursorignore", ".geminiignore", ".aiexclude", ".aiignore", ".clineignore", ".rooignore", ".kilocodeignore",
    ".codeiumignore", ".aiderignore", ".qwenignore", ".augmentignore",
)  # fmt: skip
"""Ignore files of other agents. They count like IGNORE_FILE, but a command that names such a file needs approval."""

DENIED_BY = "contains credentials, or is in the setting paths.denied"
IGNORED_BY = f"{IGNORE_FILE} names it, or the ignore file of another agent does"

ALWAYS_SENSITIVE = (
    ".git", ".git~1", "git~1", ".hg", ".svn", ".jj", ".bzr", ".vscode", ".idea", ".github", ".gitlab-ci.yml",
    ".circleci", "Jenkinsfile", ".agent-ls", ".agent-ls-ignore", "AGENTS.md", "AGENTS.override.md", "CLAUDE.md",
    "CLAUDE.local.md", "GEMINI.md", ".codex", ".mcp.json", ".envrc",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile",
    ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", "config.fish", ".config/fish",
    ".config/autostart", ".config/systemd", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment",
    ".gitconfig", ".config/git", ".gitmodules", ".git-hooks", ".githooks", ".husky", ".pre-commit-config.yaml",
    *FOREIGN_IGNORE_FILES,
)  # fmt: skip
"""Changes need approval in every mode: git and its hooks, CI, shell start-up, VS Code, JetBrains, coding
agents.

A file is sensitive (in this list or SENSITIVE_NAMES) if other programs read it automatically, and then run
code that the file contains or names. They do so when a folder is opened, entered or listed, when a file is
saved, or when git, CI, an agent, a package manager, a test runner or an interpreter starts. Files that the
user runs explicitly (Makefile, package.json) are not sensitive.
"""

SENSITIVE_NAMES = (
    # editors
    ".devcontainer", ".devcontainer.json", "*.code-workspace", ".zed", ".helix", ".fleet", ".vs", ".theia", ".run",
    ".project", ".settings", ".nvim", ".nvim.lua", ".nvimrc", ".exrc", ".vimrc", "_vimrc", ".gvimrc", ".lvimrc",
    ".local.vimrc", ".vim", ".vimspector.json", ".ycm_extra_conf.py", ".luarc.json", ".luarc.jsonc",
    ".dir-locals.el", ".dir-locals-2.el", ".projectile", ".emacs", ".emacs.d", ".kateproject*", "*.sublime-project",
    "*.sublime-workspace", "*.sublime-build", ".gitpod.yml", ".gitpod.dockerfile", "devfile.y*ml", ".devfile.y*ml",
    ".idx", ".replit", "replit.nix", ".codesandbox", ".stackblitzrc", ".lapce", ".nova", ".lazy.lua", ".neoconf.json",
    ".nlsp-settings", ".externalToolBuilders", ".factorypath", "local.properties",
    # agents
    ".cursor", ".cursorrules", ".claude", ".gemini", ".windsurf", ".windsurfrules", ".continue", ".continuerc.json",
    ".cline", ".clinerules", ".roo", ".roorules", ".kiro", ".amazonq", ".junie", ".augment", ".goose", ".goosehints",
    ".opencode", "opencode.json", "opencode.jsonc", ".qwen", "QWEN.md", ".crush", "crush.json", ".crush.json", ".trae",
    ".agents", ".agent", ".factory", ".amp", ".copilot", ".aider*", "mcp.json", "AGENT.md", "WARP.md", ".rules",
    ".aiassistant", ".kilocode", ".kilocodemodes", ".roomodes", ".openhands", ".devin", ".claude-plugin", ".codebuddy",
    # git and hooks
    ".gitattributes", "lefthook*.yml", ".lefthook*.yml", "lefthook*.yaml", ".lefthook*.yaml", "lefthook*.toml",
    ".lefthook*.toml", "lefthook*.json", ".lefthook*.json", ".lefthook", ".lefthook-local", ".pre-commit-hooks.yaml",
    ".lintstagedrc*", "lint-staged.config.*", ".huskyrc*", ".overcommit.yml", ".simple-git-hooks.*", ".hgrc",
    "simple-git-hooks.*", ".commitlintrc*", "commitlint.config.*", "captainhook.json", "grumphp.yml", "prek.toml",
    "hk.pkl", ".rusty-hook.toml", ".lfsconfig",
    # CI
    ".travis.yml", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines", ".azuredevops", ".appveyor.yml",
    "appveyor.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker*", ".buildkite", ".semaphore", ".teamcity",
    "cloudbuild.y*ml", ".cirrus.yml", ".cirrus.star", ".forgejo", ".gitea", ".gitlab", "*.gitlab-ci.yml",
    "buildspec.y*ml", "codefresh.y*ml", ".screwdriver.yml", ".builds", ".build.yml", "netlify.toml", "vercel.json",
    "Jenkinsfile.*", "*.jenkinsfile", ".gitlab-ci", ".readthedocs.y*ml", "amplify.yml", "render.yaml", "wercker.yml",
    "bitrise.yml", "codemagic.yaml", ".scrutinizer.yml", ".tekton", ".taskcluster.yml", ".zuul.yaml", "zuul.yaml",
    ".zuul.d", "zuul.d",
    # package managers and version managers
    ".npmrc", ".yarnrc*", ".yarn", ".pnpmfile.*", "pnpmfile.js", "bunfig.toml", ".bunfig.toml", "pip.conf", "pip.ini",
    ".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml", "build.rs", ".bundle", ".gemrc",
    ".mvn", "gradle/wrapper", "gradle.properties", ".tool-versions", "mise.toml", "mise.*.toml", ".mise.toml",
    ".mise.*.toml", ".mise", ".config/mise", ".config/mise.toml", ".asdfrc", ".autoenv*", ".env.zsh", "devbox.json",
    "devenv.nix", "shell.nix",
    "flake.nix", ".direnv", ".direnvrc", ".terraformrc", "nuget.config", ".config/dotnet-tools.json", ".sbtopts",
    ".jvmopts", ".curlrc", ".wgetrc", "uv.toml", ".pnp.*", ".sdkmanrc", ".prototools", ".rtx.toml", ".rtx.*.toml",
    "mise/config.toml", ".shadowenv.d", "devenv.yaml", "lean-toolchain", ".bazelrc", ".bazelversion", ".bazeliskrc",
    "tools/bazel", ".buckconfig*", "Directory.Build.*", "global.json", "omnisharp.json", ".terraform",
    # interpreters, debuggers, test runners and linters that editors start
    "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", ".pythonrc*", ".pdbrc", ".ipython", ".jupyter",
    "jupyter_*_config.py", ".pylintrc", "pylintrc", ".gdbinit", ".lldbinit", ".lldbinit-*", ".Rprofile", ".Renviron",
    ".ghci", ".iex.exs", ".irbrc", ".pryrc", ".ocamlinit", ".octaverc", ".rspec", ".mocharc.*", ".eslintrc*",
    "eslint.config.*", ".prettierrc*", "prettier.config.*", ".stylelintrc*", "stylelint.config.*", ".rubocop.yml",
    ".flake8", "mypy.ini", ".mypy.ini", "pyvenv.cfg", "*._pth", ".ropeproject", ".pyre_configuration*", ".byebugrc",
    ".rdbgrc*", ".gdbearlyinit", ".perldb", ".proverc", ".psysh.php", ".user.ini", ".erlang", ".RData", ".lintr",
    ".radian_profile", "renv/activate.R", ".simplecov", ".oxlintrc.json", "tslint.json", "xo.config.*", ".xo-config*",
    ".markdownlint.*js", ".markdownlint-cli2.*", ".textlintrc*", ".remarkrc*", ".template-lintrc.js",
    ".babelrc*", "babel.config.*",
    ".screenrc", ".tmux.conf", ".tmux", ".config/tmux", ".byobu", ".ssh/config", ".ssh/config.d", ".ssh/rc",
    ".ssh/authorized_keys", ".ssh/environment", ".forward", ".procmailrc", ".mailrc", ".lftprc", ".bashrc.d",
    ".config/environment.d", ".config/zsh", ".oh-my-zsh", ".config/kitty", ".config/alacritty", ".wezterm.lua",
    ".config/wezterm", ".xbindkeysrc", ".xmonad", ".config/i3", ".config/sway", ".config/hypr", ".config/awesome",
    ".config/ranger", ".config/lf", ".config/mpv", "Library/LaunchAgents",
    ".inputrc", ".muttrc", ".mailcap", ".nanorc", ".psqlrc",
    ".sqliterc", ".mysqlrc", ".lynxrc", ".lesskey", ".lessfilter", ".config/nvim", ".config/direnv",
    "svelte.config.*", "tailwind.config.*", ".graphqlrc*", "graphql.config.*", "jest.config.*", "vitest.config.*",
    "vitest.workspace.*", "playwright.config.*", "dprint.json", ".dprint.json", "treefmt.toml", ".treefmt.toml",
    ".trunk", ".ansible-lint", "ansible.cfg", ".sqlfluff", ".tflint.hcl", ".golangci.*", ".custom-gcl.y*ml",
    ".php-cs-fixer*", ".php_cs*", "phpstan*.neon*", "psalm.xml*", "phpcs.xml*", ".phpcs.xml*", ".phpactor.*", ".phan",
    ".formatter.exs", ".credo.exs", ".standard.yml", ".solargraph.yml", ".haml-lint.yml", "analysis_options.yaml",
    # language servers
    ".bsp", ".lsp", "hie.yaml", ".merlin", "rust-project.json", ".rust-project.json", "rust-analyzer.toml",
    ".rust-analyzer.toml", ".sourcekit-lsp", "config.nims",
)  # fmt: skip
"""Changes of these files need approval in every mode except full.

`*` matches any characters. A name with `/` matches two consecutive path components.
"""

GUARDED_NAMES = (
    ".git/hooks", ".git/config", ".hg/hgrc", ".vscode", ".idea", ".envrc", ".agent-ls", ".agent-ls-ignore",
    ".husky", ".pre-commit-config.yaml",
)  # fmt: skip
"""Paths below a workspace folder from which other programs run code.

A sandbox prevents commands from writing to these paths.
"""

GUARDED_FOLDERS = (".git/hooks", ".vscode", ".idea", ".agent-ls", ".husky")
"""The paths in GUARDED_NAMES that are folders.

An empty folder with one of these names has no effect on programs, so a sandbox can create it as a
placeholder.
"""

DENIED_HOME_PLACES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".config/gcloud", ".config/gh",
    ".password-store", ".netrc", ".git-credentials", ".pgpass", ".my.cnf", ".pypirc", ".cargo/credentials",
    ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json", ".vault-token", ".config/hub",
    ".config/glab-cli", ".config/op", ".config/rclone/rclone.conf", ".local/share/keyrings", "Library/Keychains",
)  # fmt: skip
"""Paths below the user's home that are never read or written, in any mode."""

DENIED_FILES = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/master.passwd", "/etc/spwd.db", "/etc/security/opasswd", "/etc/ssl/private", "/etc/krb5.keytab",
    "/etc/wireguard", "/etc/NetworkManager/system-connections", "/private/etc/master.passwd", "/private/etc/sudoers",
    "/private/etc/sudoers.d", "/var/db/dslocal", "/private/var/db/dslocal",
)  # fmt: skip
"""Account and key files of the system: never read or written by a tool, in any mode."""

ACCOUNT_FILES = ("/etc/passwd", "/etc/passwd-", "/private/etc/passwd")
"""More account files that no tool reads or writes.

A sandbox does not hide these files, because programs read the name of their user in them.
"""

SECRET_FILES = (
    ".env", ".env.*", "*.env", ".envrc", "*.key", "*.pem", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore",
    "*.kdbx", "*.agekey", "*.ovpn", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*", "*.kubeconfig",
    "kubeconfig", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*", ".netrc", "_netrc", ".pgpass",
    ".my.cnf", ".mylogin.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", "htpasswd", ".dockercfg",
    ".dockerconfigjson", ".vault-token", ".vault_pass*", ".s3cfg", ".boto", ".databrickscfg", "rclone.conf",
    ".credentials", ".credentials.json", "credentials.json", "credentials.toml", "credentials.y*ml", "credentials.xml",
    "client_secret*.json", "service-account*.json", "service_account*.json", ".secrets", "secret.json", "secret.y*ml",
    "secrets.json", "secrets.y*ml", "secrets.toml", "key.properties", "keystore.properties",
)  # fmt: skip
"""Names of files that hold secrets in any folder: reading them needs approval."""

HARMLESS_FILES = ("*.example", "*.sample", "*.template", "*.tmpl", "*.dist", "*.pub", ".env.d.ts")
"""Names that match SECRET_FILES but hold no secrets."""
