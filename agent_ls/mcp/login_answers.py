"""Pure: read the answers in a login as real servers write them, so that the SDK and we understand them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from agent_ls.mcp.visible import visible
from agent_ls.patterns import regex

_PARAMETER = regex(r"""([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s,;]*))""")
_WORD = regex(r"[^\s,;]+")
_LISTS = (
    "scopes_supported", "token_endpoint_auth_methods_supported", "code_challenge_methods_supported",
    "grant_types_supported", "response_types_supported",
)  # fmt: skip
_ADDRESSES = ("issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint")
_TRUTHS = ("client_id_metadata_document_supported", "authorization_response_iss_parameter_supported")
MAX_REASON = 300


def bearer_challenge(headers: Sequence[str]) -> Mapping[str, str]:
    """Return the parameters of the Bearer challenge in WWW-Authenticate headers. Of a repeated one, the last counts."""
    found: dict[str, str] = {}
    for header in headers:
        scheme, at = "", 0
        while at < len(header):
            if match := _PARAMETER.match(header, at):
                if scheme == "bearer":
                    found[match[1].lower()] = next(it for it in match.groups()[1:] if it is not None)
            elif match := _WORD.match(header, at):
                scheme = match[0].lower()
            at = match.end() if match else at + 1
    return found


def as_challenge(parameters: Mapping[str, str]) -> str:
    """Write parameters as the one challenge that the SDK understands."""
    read = {name: parameters.get(name, "") for name in ("resource_metadata", "scope", "error")}
    named = ", ".join(f'{name}="{value}"' for name, value in read.items() if value and '"' not in value)
    return f"Bearer {named}"


def document_of(body: bytes) -> dict[str, Any]:
    """Return an answer in JSON or in the form of a query; {} for anything else."""
    text = body.decode("utf-8-sig", "replace").strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = {} if text.startswith("<") else dict(parse_qsl(text))
    return found if isinstance(found, dict) else {}


def refusal_in(found: Mapping[str, Any]) -> str:
    """Return the reason in an answer that is an error, "" for none."""
    words = (found.get("error"), found.get("error_description"))
    said = [" ".join(it.split()) for it in words if isinstance(it, str) and it]
    return visible(": ".join(said)[:MAX_REASON])


def tokens_in(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a token answer with the types that the standard gives them."""
    expires, scope = found.get("expires_in"), found.get("scope")
    try:
        seconds = int(float(expires)) if isinstance(expires, int | float | str) else None
    except (ValueError, OverflowError):
        seconds = None
    kept = {
        "access_token": _text(found.get("access_token")),
        "refresh_token": _text(found.get("refresh_token")),
        "scope": " ".join(map(str, scope)) if isinstance(scope, list) else _text(scope),
    }
    answer: dict[str, Any] = {name: value for name, value in kept.items() if value}
    return answer | ({"expires_in": seconds} if seconds is not None else {})


def client_in(found: Mapping[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    """Return what counts of a registration: the rest is an echo of the request. `methods`: how clients may prove
    themselves, as the server says; a secret without a method is sent in the first of them.
    """
    client = {"client_id": _text(found.get("client_id")), "client_secret": _text(found.get("client_secret"))}
    method = _text(found.get("token_endpoint_auth_method"))
    if client["client_secret"] and method in ("", "none"):
        method = next((it for it in methods if it.startswith("client_secret_")), "client_secret_basic")
    return {name: value for name, value in client.items() if value} | {
        "token_endpoint_auth_method": method or "none"
    }


def metadata_in(found: Mapping[str, Any], expected: str) -> dict[str, Any]:
    """Return what counts of a login server's metadata. An issuer that differs from `expected` in its last slash only
    is the expected one: both have the same metadata (RFC 8414, section 3.1).
    """
    kept: dict[str, Any] = {name: it for name in _ADDRESSES if isinstance(it := found.get(name), str) and it}
    kept |= {name: it for name in _TRUTHS if isinstance(it := found.get(name), bool)}
    kept |= {name: it for name in _LISTS if (it := _words(found.get(name))) is not None}
    if expected and kept.get("issuer", expected).rstrip("/") == expected.rstrip("/"):
        kept["issuer"] = expected
    return kept


def resource_in(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what counts of the metadata of an MCP server."""
    kept: dict[str, Any] = {"resource": found.get("resource")}
    for name in ("authorization_servers", "scopes_supported"):
        if (words := _words(found.get(name))) is not None:
            kept[name] = words
    return kept


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else str(value) if isinstance(value, int) and value else ""


def _words(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return value.split()
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else None
