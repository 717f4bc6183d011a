"""An MCP server over HTTP and its OAuth authorization server, on one loopback port, with the oddities of real ones.

It is strict where such servers are: PKCE, the redirect address, the way in which a client proves itself, and a refresh
token that is used twice ends the whole login.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from tests.support.web_server import serving

SESSION = "Mcp-Session-Id"
PRM = "/.well-known/oauth-protected-resource"
METADATA = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
Answer = tuple[int, str, bytes]
"""Status, content type and body."""


@dataclass(slots=True)
class LoginOddities:
    """The points in which a server differs from most. `{at}` in texts is the address of the server, without a slash.

    `challenges`: the WWW-Authenticate headers. `resource_at`, `metadata_at`: where the two documents are.
    `resource`, `metadata`, `registered`, `tokens` and `refreshed`: changed members of answers; None removes one.
    `registration`, `token`, `refresh` and `refusal` (of a token): a whole answer. `method`: how a client must prove
    itself, "" for any way. `scope_of_calls`: what a token needs for calls. `header`: one that each request needs.
    `redirects`: the redirect addresses of the client `known`, whose secret is `secret`. `holds_stream`: GET gets a
    stream that never ends. `ends_session`: after a renewal, the server does not know the session. `registers_scopes`:
    a client may name scopes when it registers.
    """

    challenges: Sequence[str] = ('Bearer resource_metadata="{at}/.well-known/oauth-protected-resource/mcp"',)
    resource_at: Sequence[str] = (PRM + "/mcp",)
    metadata_at: Sequence[str] = (METADATA,)
    resource: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    registered: Mapping[str, Any] = field(default_factory=dict)
    tokens: Mapping[str, Any] = field(default_factory=dict)
    refreshed: Mapping[str, Any] = field(default_factory=dict)
    authorize_at: str = "/authorize"
    token_at: str = "/token"
    register_at: str = "/register"
    registration: Answer | None = None
    token: Answer | None = None
    refresh: Answer | None = None
    refusal: Answer | None = None
    is_form: bool = False
    method: str = ""
    denied: str = ""
    scope_of_calls: str = ""
    header: tuple[str, str] | None = None
    redirects: Sequence[str] = ()
    secret: str = ""
    registers_with: int = 201
    registers_scopes: bool = True
    holds_stream: bool = False
    ends_session: bool = False


@dataclass(slots=True)
class Seen:
    """Everything that a server has seen. `at` is its address; `requests` has the path and the parameters of each."""

    at: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    valid: dict[str, str] = field(default_factory=dict)
    """The access tokens that are accepted, each with its scopes."""
    refreshes: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    calls: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    sessions: int = 0
    session: str = ""
    streams: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{self.at}/mcp"

    def expire(self) -> None:
        """Let each access token expire."""
        self.valid.clear()

    def of(self, path: str) -> list[dict[str, str]]:
        """Return the parameters of each request to a path."""
        return [given for at, given in self.requests if at == path]


@contextmanager
def login_server(odd: LoginOddities) -> Iterator[Seen]:
    """Run a server with these oddities; yield what it sees."""
    seen = Seen()

    def text(template: str) -> str:
        return template.replace("{at}", seen.at)

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        return [filled(it) for it in value] if isinstance(value, list | tuple) else value

    def document(plain: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        return {name: filled(it) for name, it in {**plain, **changes}.items() if it is not None}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/mcp" and odd.holds_stream:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.wfile.flush()
                seen.streams += 1
                seen.ended.wait()
            self.answer({})

        def do_DELETE(self) -> None:
            self.reply(404, "text/plain", b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.path == "/mcp":
                return self.of_mcp(json.loads(body))
            if self.path == odd.register_at:
                return self.answer(json.loads(body))
            self.answer(dict(parse_qsl(body.decode())))

        def answer(self, given: dict[str, Any]) -> None:
            found = urlsplit(self.path)
            given |= dict(parse_qsl(found.query))
            with seen.lock:
                seen.requests.append((found.path, given))
                is_page = found.path == odd.authorize_at
                if odd.header and not is_page and self.headers.get(odd.header[0]) != odd.header[1]:
                    return self.reply(403, "text/html", b"<!DOCTYPE html><p>Access denied")
                self.route(found.path, given)

        def route(self, path: str, given: dict[str, Any]) -> None:
            resource = {"resource": "{at}/mcp", "authorization_servers": ["{at}"]}
            metadata = {
                "issuer": "{at}",
                "authorization_endpoint": "{at}" + odd.authorize_at,
                "token_endpoint": "{at}" + odd.token_at,
                "registration_endpoint": "{at}" + odd.register_at,
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
            if path in odd.resource_at:
                self.json(200, document(resource, odd.resource))
            elif path in odd.metadata_at:
                self.json(200, document(metadata, odd.metadata))
            elif path == odd.register_at:
                self.register(given)
            elif path == odd.authorize_at:
                self.authorize(given)
            elif path == odd.token_at and given.get("grant_type") == "refresh_token":
                self.refresh(given)
            elif path == odd.token_at:
                self.exchange(given)
            else:
                self.reply(404, "text/html", b"<!DOCTYPE html><p>Not found")

        # --- the authorization server

        def register(self, given: dict[str, Any]) -> None:
            if odd.registration:
                return self.reply(*odd.registration)
            if "scope" in given and not odd.registers_scopes:
                return self.json(403, {"error": "insufficient_scope"})
            client = f"client-{len(seen.clients) + 1}"
            seen.clients[client] = {"redirect_uris": given["redirect_uris"]}
            self.json(odd.registers_with, document({**given, "client_id": client}, odd.registered))

        def authorize(self, given: dict[str, Any]) -> None:
            seen.authorizations.append(self.path)
            redirects = (
                odd.redirects
                if given["client_id"] == "known"
                else seen.clients[given["client_id"]]["redirect_uris"]
            )
            if given["redirect_uri"] not in redirects:
                return self.reply(400, "text/plain", b"redirect_uri is not registered")
            state = {"state": given["state"]}
            if odd.denied:
                answer = {"error": "access_denied", "error_description": odd.denied, **state}
            else:
                code = f"code-{len(seen.codes) + 1}"
                seen.codes[code] = given
                answer = {"code": code, **state}
            self.send_response(302)
            self.send_header("location", f"{given['redirect_uri']}?{urlencode(answer)}")
            self.send_header("content-length", "0")
            self.end_headers()

        def is_known(self, given: dict[str, Any]) -> bool:
            """Whether the client has proven itself in the way that the server demands."""
            secret = str(odd.registered.get("client_secret") or odd.secret)
            header = self.headers.get("authorization", "")
            if odd.method == "client_secret_basic":
                words = base64.b64decode(header.removeprefix("Basic ")).decode().split(":")
                return header.startswith("Basic ") and [unquote_plus(it) for it in words][1:] == [secret]
            if odd.method == "client_secret_post":
                return not header and given.get("client_secret") == secret and "client_id" in given
            return True

        def exchange(self, given: dict[str, Any]) -> None:
            if odd.token:
                return self.reply(*odd.token)
            if not self.is_known(given):
                return self.json(401, {"error": "invalid_client", "error_description": "not proven"})
            asked = seen.codes.pop(given.get("code", ""), None)
            verifier = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
            if (
                asked is None
                or base64.urlsafe_b64encode(verifier).decode().rstrip("=") != asked["code_challenge"]
            ):
                return self.json(400, {"error": "invalid_grant"})
            self.issue(asked.get("scope", ""), odd.tokens)

        def refresh(self, given: dict[str, Any]) -> None:
            if odd.refresh:
                return self.reply(*odd.refresh)
            if not self.is_known(given):
                return self.json(401, {"error": "invalid_client", "error_description": "not proven"})
            old = given["refresh_token"]
            if old in seen.used:  # used twice: somebody has stolen it
                seen.refreshes.clear()
                seen.valid.clear()
            if old not in seen.refreshes:
                return self.json(
                    400, {"error": "invalid_grant", "error_description": "the token was revoked"}
                )
            scope = seen.refreshes[old]
            if "refresh_token" not in odd.refreshed:
                seen.used.add(old)
                del seen.refreshes[old]
            if odd.ends_session:
                seen.session = ""
            self.issue(scope, {**odd.tokens, **odd.refreshed})

        def issue(self, scope: str, changes: Mapping[str, Any]) -> None:
            number = len(seen.used) + len(seen.of(odd.token_at))
            access, refresh = f"access-{number}", f"refresh-{number}"
            plain = {
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": refresh,
            }
            found = document({**plain, **({"scope": scope} if scope else {})}, changes)
            seen.valid[found["access_token"]] = scope
            if "refresh_token" in found:
                seen.refreshes[found["refresh_token"]] = scope
            if odd.is_form:
                return self.reply(200, "application/x-www-form-urlencoded", urlencode(found).encode())
            self.json(200, found)

        # --- the MCP server

        def of_mcp(self, message: dict[str, Any]) -> None:
            with seen.lock:
                token = self.headers.get("authorization", "").removeprefix("Bearer ")
                if odd.header and self.headers.get(odd.header[0]) != odd.header[1]:
                    return self.reply(403, "text/html", b"<!DOCTYPE html><p>Access denied")
                if token not in seen.valid and odd.refusal and token:
                    return self.reply(*odd.refusal)
                if token not in seen.valid:
                    return self.refuse(401, [text(it) for it in odd.challenges])
                if "id" not in message:
                    return self.reply(202, "text/plain", b"")
                if odd.ends_session and self.headers.get(SESSION, seen.session) != seen.session:
                    return self.json(404, {"error": "Session not found"})
                if message["method"] == "tools/call" and odd.scope_of_calls not in seen.valid[token].split():
                    if odd.scope_of_calls:
                        words = f'Bearer error="insufficient_scope", scope="{odd.scope_of_calls}"'
                        return self.refuse(403, [words])
                self.of_method(message)

        def of_method(self, message: dict[str, Any]) -> None:
            match message["method"]:
                case "initialize":
                    seen.sessions += 1
                    seen.session = f"s{seen.sessions}"
                    result: Any = {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "closed", "version": "1"},
                    }
                case "tools/list":
                    schema = {"type": "object", "properties": {}}
                    result = {"tools": [{"name": "echo", "inputSchema": schema}]}
                case "tools/call":
                    seen.calls.append(message["params"])
                    result = {"content": [{"type": "text", "text": f"called {len(seen.calls)}"}]}
                case method:
                    error = {"code": -32601, "message": f"Method not found: {method}"}
                    return self.json(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
            self.json(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

        # --- answers

        def refuse(self, status: int, challenges: Sequence[str]) -> None:
            self.send_response(status)
            for challenge in challenges:
                self.send_header("www-authenticate", challenge)
            self.send_header("content-length", "0")
            self.end_headers()

        def json(self, status: int, found: Mapping[str, Any]) -> None:
            self.reply(status, "application/json", json.dumps(found).encode())

        def reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if (odd.ends_session or odd.holds_stream) and seen.session:
                self.send_header(SESSION, seen.session)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with serving(Handler) as port:
        seen.at = f"http://127.0.0.1:{port}"
        try:
            yield seen
        finally:
            seen.ended.set()
