"""A server whose certificate is signed by the user's own CA."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSListener
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent_ls.llm.client import build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.errors import NetworkError
from agent_ls.llm.messages import user
from agent_ls.llm.requests import Request
from tests.support.wire_golden import Golden

# Newer versions of Python require this extension of a CA.
SIGNS = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)  # fmt: skip


def certified(folder: Path) -> tuple[Path, Path]:
    """Write two PEM files: a CA, and its certificate for 127.0.0.1 followed by the key."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A CA of one's own")])
    now = datetime.now(UTC)

    def begun(name: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(issuer_name=ca_name, subject_name=name, public_key=public)
        dated = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        return dated.serial_number(x509.random_serial_number())

    ca = begun(ca_name, ca_key.public_key())
    ca = ca.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    identity = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    ca = ca.add_extension(identity, critical=False).add_extension(SIGNS, critical=True)
    host = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    own = (
        begun(x509.Name([]), key.public_key())
        .add_extension(host, critical=True)
        .add_extension(by, critical=False)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(ca.sign(ca_key, hashes.SHA256()).public_bytes(pem))
    (folder / "own.pem").write_bytes(own.sign(ca_key, hashes.SHA256()).public_bytes(pem) + private)
    return folder / "ca.pem", folder / "own.pem"


@asynccontextmanager
async def served(certificate: Path, body: bytes) -> AsyncIterator[str]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def serve(stream: ByteStream) -> None:
        async with stream:
            await stream.receive()
            head = (
                f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            await stream.send(head.encode() + body)

    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with (
        TLSListener(plain, context, standard_compatible=False) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, serve)
        yield f"https://127.0.0.1:{plain.extra(SocketAttribute.local_port)}"
        group.cancel_scope.cancel()


@pytest.mark.req("U11")
@pytest.mark.report("run-llama/llama_cloud_services#348")
@pytest.mark.report("simonw/llm#979")
@pytest.mark.report("simonw/llm#772")
async def test_a_server_with_the_users_own_ca_is_trusted_if_the_ca_file_is_set(tmp_path: Path) -> None:
    ca, own = certified(tmp_path)
    async with served(own, Golden("anthropic", "text", {}).body or b"") as base_url:
        for ca_file in (str(ca), ""):
            settings = ConnectionSettings(base_url=base_url, ca_file=ca_file)
            client = build_client(Credentials({"anthropic": "k"}), {"anthropic": settings})
            try:
                if ca_file:
                    assert (await client.complete(Request("m", (user("hi"),)))).text.startswith("Grüße")
                else:
                    with pytest.raises(NetworkError, match="certificate is not trusted") as raised:
                        await client.complete(Request("m", (user("hi"),)))
                    assert raised.value.hint
            finally:
                await client.close()
