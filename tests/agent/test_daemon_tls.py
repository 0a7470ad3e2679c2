"""TLS and mutual TLS of the daemon."""

from __future__ import annotations

import http.client
import socket
import ssl
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from conftest import Row, Start
from daemon_process import PATIENCE_S, TOKEN, DaemonProcess
from daemon_process import wait_until as until

from cassini_agent.daemon.access import Access, ConfigError
from cassini_agent.daemon.config import Config


class Authorities:
    """The cluster's authority and somebody else's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ours, self.theirs = trustme.CA(), trustme.CA()
        self.ours.cert_pem.write_to_path(str(folder / "ca.pem"))
        self.write(self.ours.issue_cert("127.0.0.1"), "server")

    def write(self, certificate: trustme.LeafCert, name: str) -> None:
        certificate.private_key_pem.write_to_path(str(self.folder / f"{name}.key"))
        certificate.cert_chain_pems[0].write_to_path(str(self.folder / f"{name}.pem"))

    def client(self, authority: trustme.CA | None = None, name: str = "scheduler.cluster") -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        if authority is not None:
            authority.issue_cert(name).configure_cert(context)
        return context


@pytest.fixture
def authorities(tmp_path: Path) -> Authorities:
    return Authorities(tmp_path)


def status_of(daemon: DaemonProcess, context: ssl.SSLContext, token: str | None = None) -> int:
    connection = http.client.HTTPSConnection("127.0.0.1", daemon.port, context=context, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status
    finally:
        connection.close()


def options_of(folder: Path) -> list[str]:
    return [
        f"--tls-certificate={folder}/server.pem",
        f"--tls-key={folder}/server.key",
        f"--tls-client-ca={folder}/ca.pem",
    ]


def test_certificates_open_the_door_to_those_they_name(start: Start, authorities: Authorities, row: Row) -> None:
    daemon = start(*options_of(authorities.folder), "--tls-client-name=scheduler.cluster")
    ours = authorities.ours
    assert status_of(daemon, authorities.client(ours)) == 200
    assert status_of(daemon, authorities.client(ours, "worker.cluster")) == 401
    assert status_of(daemon, authorities.client()) == 401
    assert status_of(daemon, authorities.client(), TOKEN) == 200
    with pytest.raises(OSError):  # a certificate of another authority ends the handshake
        status_of(daemon, authorities.client(authorities.theirs))
    with pytest.raises(ssl.SSLCertVerificationError):
        status_of(daemon, ssl.create_default_context())
    until(lambda: scrape(daemon, authorities, 'reason="tls"') >= 2)
    assert scrape(daemon, authorities, 'reason="unauthorized"') == 2
    row("security", "certificate of another authority", "the handshake fails, counted as `tls`")
    row("security", "certificate of our authority with another name", "401, counted")


def names_of(*identities: str, common_name: str | None = None) -> dict[str, Any]:
    """What Python says of a certificate of our authority."""
    leaf = trustme.CA().issue_cert(*identities, common_name=common_name)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(leaf.cert_chain_pems[0].bytes())
        file.flush()
        return dict(ssl._ssl._test_decode_cert(file.name))  # type: ignore[attr-defined]


def test_a_common_name_counts_only_where_a_certificate_has_no_other_name() -> None:
    """Authorities vouch for alternative names; some let who asks for a certificate choose the common name."""
    access = Access("t" * 16, certificate_names={"scheduler.cluster"})
    assert access.knows(names_of("scheduler.cluster"))
    assert access.knows(names_of("worker.cluster", "scheduler.cluster"))
    assert access.knows({"subject": ((("commonName", "scheduler.cluster"),),)})
    assert not access.knows(names_of("worker.cluster", common_name="scheduler.cluster"))
    assert not access.knows(names_of("10.0.0.7", common_name="scheduler.cluster"))
    assert not access.knows(None)
    assert not access.knows({})


def test_without_a_name_no_certificate_is_enough(start: Start, authorities: Authorities) -> None:
    """A worker has one of the cluster's authority too."""
    files = {
        name: authorities.folder / file
        for name, file in (("tls_certificate", "server.pem"), ("tls_key", "server.key"), ("tls_client_ca", "ca.pem"))
    }
    with pytest.raises(ConfigError, match="--tls-client-name"):
        Config(authorities.folder / "agent.sock", **files).check()
    assert not Access("t" * 16).knows(names_of("worker.cluster"))
    daemon = start(*options_of(authorities.folder), "--tls-client-name=*")
    assert status_of(daemon, authorities.client(authorities.ours, "worker.cluster")) == 200


def test_certificates_that_are_replaced_are_read_again(start: Start, authorities: Authorities, row: Row) -> None:
    daemon = start(*options_of(authorities.folder), "--tls-client-name=*")
    old, authorities.ours = authorities.client(authorities.ours), trustme.CA()
    assert status_of(daemon, old) == 200
    leaf = authorities.ours.issue_cert("127.0.0.1")
    (authorities.folder / "server.pem").write_bytes(b"-----BEGIN")  # half of it, for a moment
    until(lambda: "credentials" in daemon.log.read_text())
    assert status_of(daemon, old) == 200
    authorities.write(leaf, "server")
    authorities.ours.cert_pem.write_to_path(str(authorities.folder / "ca.pem"))

    def is_new() -> bool:
        with suppress(OSError):
            return status_of(daemon, authorities.client(authorities.ours)) == 200
        return False

    until(is_new)
    with pytest.raises(OSError):
        status_of(daemon, old)
    row("security", "certificates are replaced", "the new ones count from the next second on; unfit ones are logged")


def test_plain_text_and_silence_do_not_pass_for_tls(start: Start, authorities: Authorities, row: Row) -> None:
    daemon = start(*options_of(authorities.folder), "--tls-client-name=*")
    for said in (b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\xff\xff"):
        with socket.create_connection(("127.0.0.1", daemon.port)) as one:
            one.settimeout(PATIENCE_S)
            one.send(said)
            with suppress(ConnectionResetError):
                assert b"200" not in one.recv(4096)
    assert status_of(daemon, authorities.client(authorities.ours)) == 200
    until(lambda: scrape(daemon, authorities, 'reason="tls"') >= 2)
    row("security", "plain text on the TLS port, a handshake that does not go on", "closed, counted as `tls`")


def test_handshakes_that_do_not_go_on_keep_nobody_out(start: Start, authorities: Authorities, row: Row) -> None:
    limits = {"http_connections": 16}
    daemon = start(
        *options_of(authorities.folder), "--tls-client-name=scheduler.cluster", test_options={"limits": limits}
    )

    def descriptors() -> int:
        return len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))

    before = descriptors()
    context = authorities.client(authorities.ours)
    with ExitStack() as held:
        for number in range(32):
            address = (f"127.0.0.{2 + number % 4}", 0)
            held.enter_context(socket.create_connection(("127.0.0.1", daemon.port), source_address=address))
        assert status_of(daemon, context) == 200
        known = http.client.HTTPSConnection("127.0.0.1", daemon.port, context=context, timeout=PATIENCE_S)
        held.callback(known.close)
        for _ in range(2):  # a certificate keeps its place as a token does
            known.request("GET", "/v1/jobs")
            assert known.getresponse().read()
            for number in range(16):
                address = (f"127.0.0.{2 + number % 4}", 0)
                held.enter_context(socket.create_connection(("127.0.0.1", daemon.port), source_address=address))
    until(lambda: descriptors() <= before)
    assert "internal_error" not in daemon.log.read_text()
    row("security", "handshakes that do not go on, from many addresses", "the oldest makes room for who comes")


def scrape(daemon: DaemonProcess, authorities: Authorities, labels: str) -> float:
    connection = http.client.HTTPSConnection("127.0.0.1", daemon.port, context=authorities.client(), timeout=PATIENCE_S)
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        for line in connection.getresponse().read().decode().splitlines():
            if labels in line:
                return float(line.rpartition(" ")[2])
        return 0.0
    finally:
        connection.close()
