"""Pure: names of the keys of servers in the configuration files of other agents."""

from __future__ import annotations

from collections.abc import Mapping

RENAMED = {
    "httpUrl": "url", "serverUrl": "url", "server_url": "url", "baseUrl": "url", "endpoint": "url", "uri": "url",
    "transport": "type", "transportType": "type", "cmd": "command", "environment": "env", "envs": "env",
    "http_headers": "headers", "httpHeaders": "headers", "requestInit": "headers", "requestOptions": "headers",
    "workdir": "cwd", "working_dir": "cwd", "workingDirectory": "cwd", "working_directory": "cwd",
}  # fmt: skip
_STDIO = ("stdio", "local", "command", "process", "program")
_HTTP = (
    "http", "https", "url", "remote", "streamable", "streamablehttp", "streamhttp", "streaminghttp", "httpstream",
    "httpstreaming",
)  # fmt: skip
TYPES = {**dict.fromkeys(_STDIO, "stdio"), **dict.fromkeys(_HTTP, "http"), "sse": "sse"}
"""Our transports, by their names in small letters without `_`, `-` and blanks."""
ALLOWED = (
    "includeTools", "include_tools", "enabledTools", "enabled_tools", "allowedTools", "allowed_tools",
    "availableTools", "available_tools",
)  # fmt: skip
DENIED = (
    "excludeTools", "exclude_tools", "disabledTools", "disabled_tools", "disallowedTools", "disallowed_tools",
    "blockedTools", "blocked_tools",
)  # fmt: skip
TOKENS = ("bearer_token", "bearerToken", "authorization_token", "authToken", "apiKey")
TOKEN_VARIABLES = ("bearer_token_env_var", "bearerTokenEnvVar", "bearer_token_env", "bearerTokenEnv")
HEADER_VARIABLES = ("env_http_headers", "envHttpHeaders")
VARIABLES = ("env_vars", "envVars", "env_keys", "envKeys")
"""Lists of variables of the user that the server gets too."""
OFF = ("disabled", "isDisabled")
ON = ("isActive", "is_active", "active", "isEnabled", "is_enabled")
IGNORED = frozenset(
    ("envFile", "oauth", "auth", "sandboxEnabled", "dev", "gallery", "fromGalleryId", "version", "description", "name",
     "displayName", "display_name", "title", "icon", "iconUrl", "faviconUrl", "logo", "logoUrl", "homepage",
     "repository", "license", "provider", "category", "tags", "author", "notes", "comment", "metadata", "source",
     "sourceFile", "bundled", "key", "id", *TOKEN_VARIABLES, *HEADER_VARIABLES, *VARIABLES, *OFF, *ON, *TOKENS,
     *ALLOWED, *DENIED)
)  # fmt: skip
"""Keys that are left out, or converted."""
APPROVALS = ("trust: true", "autoApprove", "alwaysAllow", "default_tools_approval_mode")
_WHY_NO_APPROVAL = (
    "you approve its tools when they are called or, for `agent-ls exec`, with --allow 'SERVER__*'"
)
_WHY_NO_GOOGLE = 'get a token by another program, and write `headers`: "Authorization": "Bearer ${NAME}"'
_WHY_NO_TLS = "trust the certificate in the system, or name its file in the variable SSL_CERT_FILE"
ADVICE: Mapping[str, str] = {
    **dict.fromkeys(APPROVALS, _WHY_NO_APPROVAL),
    **dict.fromkeys(("authProviderType", "targetAudience", "targetServiceAccount"), _WHY_NO_GOOGLE),
    **dict.fromkeys(("verifySsl", "caBundlePath", "clientCertificate"), _WHY_NO_TLS),
    **dict.fromkeys(
        ("start_on_launch", "autoStart"), "write `enabled: false` for a server that must not start"
    ),
    "headersHelper": 'write the header in `headers`, as "Authorization": "Bearer ${NAME}"',
    "settings": "write what the server needs into `env`, under the names of its variables",
    "watchPaths": "restart the server in the list of MCP servers when its files have changed",
    "required": "`agent-ls exec` goes on without a server that does not start",
    "proxy": "set the variable HTTPS_PROXY",
}
"""What to do instead of keys that have no effect."""
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(
        ("builtin", "platform", "frontend"), "is a part of goose and no MCP server: leave it out"
    ),
    "inlinepython": "is Python code in goose's configuration: write the code into a file, and its `command`",
    "registry": "names a server of a registry, whose command only Kiro knows: write its `command` or `url`",
    "tcp": "is reached by TCP, which agent-ls does not speak: write its `command` or `url`",
    "websocket": "is reached by WebSocket, which agent-ls does not speak: write its `command` or `url`",
    "ws": "is reached by WebSocket, which agent-ls does not speak: write its `command` or `url`",
}
"""Why a server of a type (see TYPES for its form) cannot be used, and what to do."""
