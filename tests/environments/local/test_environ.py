"""The environment variables that a command gets."""

from __future__ import annotations

import pytest

from agent_ls.environments.local import EnvPolicy, EnvRules
from agent_ls.environments.local.environ import child_environ

pytestmark = pytest.mark.req("X5")

HARMLESS = (
    "PATH",
    "HOME",
    "USER",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "TZ",
    "LC_ALL",
    "GOPATH",
    "CARGO_HOME",
    "NVM_DIR",
)
OTHERS = ("EDITOR", "MY_TOKEN_FILE")
SECRETS = (
    "OPENAI_API_KEY", "db_password", "Github_Token", "AWS_SECRET", "X_CREDENTIAL", "_API_KEY", "API_KEYS", "TOKEN",
    "SECRET", "PGPASSWORD", "DB_PASS", "GITHUB_PAT", "NPM_AUTH", "NPM_CONFIG__AUTH", "JWT_SIGNING_KEY", "SSHPASS",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SLACK_WEBHOOK_URL", "SESSION_COOKIE", "BW_SESSION", "MYSQL_PWD",
    "SECRET_KEY_BASE", "KUBE_CREDENTIALS", "MY_PRIVATE_KEY_BASE64", "AUTH_TOKENS", "SSH_PASSPHRASE", "npm_authToken",
    "OP_SESSION_my",
)  # fmt: skip
OF_DESKTOPS_AND_TOOLS = (
    "PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "KEYBOARD", "PASSENGER_ENV", "GIT_AUTHOR_NAME", "AUTHOR",
    "COMPASS_HOME", "MONKEY", "KEYMAP", "SSH_ASKPASS", "GIT_ASKPASS", "XDG_SESSION_TYPE", "XDG_SESSION_ID",
    "DESKTOP_SESSION", "SESSION_MANAGER", "DBUS_SESSION_BUS_ADDRESS", "TOKENIZERS_PARALLELISM", "MAX_TOKENS",
    "KITTY_PUBLIC_KEY", "GNOME_KEYRING_CONTROL", "AWS_ACCESS_KEY_ID", "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS", "PATTERN", "BYPASS", "PASSED", "SESSIONNAME", "CREDITS", "CI_JOB_ID", "SECRETARY",
    "npm_config_user_agent", "PATHEXT", "AUTH_URL", "BUILD_PWD", "TOKEN_LIMIT", "GIT_CONFIG_KEY_0",
    "GIT_CONFIG_VALUE_0", "GIT_CONFIG_COUNT", "KDE_FULL_SESSION", "TMUX_SESSION",
)  # fmt: skip
ALL = {name: f"value of {name}" for name in HARMLESS + OTHERS + SECRETS}


@pytest.mark.spec("loop 9.4.5")
@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ("filtered", {*HARMLESS, *OTHERS}),
        ("all", set(ALL)),
        ("core", set(HARMLESS)),
        ("none", set()),
        ("minimal", {"PATH", "HOME", "USER", "LANG", "TERM", "SHELL", "TMPDIR", "LC_ALL", "TZ"}),
        (EnvRules(denied=("editor", "GO*")), {*HARMLESS, *OTHERS} - {"EDITOR", "GOPATH"}),
        (EnvRules("all", denied=("*_api_key",)), set(ALL) - {"OPENAI_API_KEY", "_API_KEY"}),
        (EnvRules("none", kept=("path", "AWS_SECRET")), {"PATH", "AWS_SECRET"}),
        (EnvRules("core", kept=("EDIT*",)), {*HARMLESS, "EDITOR"}),
        (EnvRules("filtered", denied=("*",), kept=("PATH",)), {"PATH"}),
    ],
)
def test_a_command_gets_the_variables_of_its_policy_unless_a_pattern_of_the_user_decides(
    rules: EnvPolicy | EnvRules, names: set[str]
) -> None:
    assert child_environ(ALL, rules) == {name: ALL[name] for name in names}


@pytest.mark.parametrize("name", OF_DESKTOPS_AND_TOOLS)
def test_names_that_only_resemble_those_of_secrets_are_passed(name: str) -> None:
    assert child_environ({name: "value"}, "filtered") == {name: "value"}


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets_are_passed_only_if_the_user_keeps_them(name: str) -> None:
    assert child_environ({name: "value"}, "filtered") == {}
    assert child_environ({name: "value"}, EnvRules(kept=(name,))) == {name: "value"}


@pytest.mark.parametrize("policy", ["filtered", "all", "core", "none", "minimal"])
def test_added_variables_are_passed_with_any_name(policy: EnvPolicy) -> None:
    added = {"MY_API_KEY": "meant for it", "PATH": "/bin"}
    environ = child_environ({"PATH": "/usr/bin"}, policy, added)
    assert environ == added


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    "value",
    [
        "postgres://ada:hunter2@db.example/shop",
        "see redis://:hunter2@cache:6379/0",
        "amqps://a%40b:p%3Aq@mq.example",
        "mongodb+srv://ada:hunter2@cluster.example/?w=1",
    ],
)
def test_a_variable_with_a_password_in_its_url_is_removed_unless_the_user_lists_it(value: str) -> None:
    environ = {
        "STORE": value,
        "HTTPS_PROXY": value,
        "PLAIN": "https://db.example:5432/a@b",
        "USERONLY": "ssh://git@host/x",
    }
    assert child_environ(environ).keys() == environ.keys() - {"STORE"}
    assert child_environ(environ, EnvRules(kept=("STORE",))) == environ
    assert child_environ(environ, "all") == environ
