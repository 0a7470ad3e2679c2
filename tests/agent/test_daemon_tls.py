"""TLS and mutual TLS of the daemon."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from conftest import Row, Start
from daemon_process import PATIENCE_S, TOKEN, DaemonProcess
from daemon_process import wait_until as until


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


def test_plain_text_and_silence_do_not_pass_for_tls(start: Start, authorities: Authorities, row: Row) -> None:
    daemon = start(*options_of(authorities.folder))
    for said in (b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\xff\xff"):
        with socket.create_connection(("127.0.0.1", daemon.port)) as one:
            one.settimeout(PATIENCE_S)
            one.send(said)
            with suppress(ConnectionResetError):
                assert b"200" not in one.recv(4096)
    assert status_of(daemon, authorities.client(authorities.ours)) == 200
    until(lambda: scrape(daemon, authorities, 'reason="tls"') >= 2)
    row("security", "plain text on the TLS port, a handshake that does not go on", "closed, counted as `tls`")


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
