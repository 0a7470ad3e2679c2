"""What ``deploy`` has and docs/deployment.md says: tried against the daemon's options and the daemon itself."""

from __future__ import annotations

import dataclasses
import hmac
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Start
from daemon_process import schedule_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_agent.cli import main
from cassini_agent.daemon.config import Config
from cassini_agent.job_secret import JobSecret
from cassini_agent.loop.connecting import _job_name

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


def test_all_that_lies_there_is_named_on_the_page() -> None:
    for file in (one for one in DEPLOY.rglob("*") if one.is_file()):
        assert str(file.relative_to(ROOT)) in PAGE or str(file.parent.relative_to(ROOT)) in PAGE, file


# --- TLS --------------------------------------------------------------------------------------------------------------


@needs_openssl
def test_the_five_commands_give_certificates_that_the_daemon_and_its_callers_take(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = PAGE[PAGE.index("## TLS in five commands") :]
    commands = part[part.index("```sh\n") + 6 : part.index("```\n\n")]
    assert len(commands.splitlines()) == 5
    script = "shopt -s expand_aliases\n" + commands
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for key in ("ca.key", "server.key", "scheduler.key"):
        assert (tmp_path / key).stat().st_mode & 0o077 == 0
    options = {
        option: tmp_path / file
        for option, file in (("certificate", "server.crt"), ("key", "server.key"), ("client-ca", "ca.crt"))
    }
    daemon = start(*(f"--tls-{option}={file}" for option, file in options.items()), "--tls-client-name=scheduler")
    ask = ["status", "--json", f"--url=https://localhost:{daemon.port}", f"--ca={tmp_path / 'ca.crt'}"]
    shown = [f"--{part}={tmp_path / 'scheduler'}.{end}" for part, end in (("certificate", "crt"), ("key", "key"))]
    assert main([*ask, *shown]) == 0
    assert main(ask) == 2
    assert "401" in capsys.readouterr().err
    # The certificate of a server is one of the authority's too, but not for this.
    shown = [f"--{part}={tmp_path / 'server'}.{end}" for part, end in (("certificate", "crt"), ("key", "key"))]
    assert main([*ask, *shown]) != 0


# --- options in files -------------------------------------------------------------------------------------------------


def options_of_the_daemon() -> set[str]:
    return {f"CASSINI_AGENT_{field.name.upper()}" for field in dataclasses.fields(Config)}


@pytest.mark.parametrize("path", ["systemd/tls.conf", "kubernetes/daemonset.yaml"])
def test_options_are_those_of_the_daemon(path: str) -> None:
    named = set(re.findall(r"CASSINI_AGENT_\w+", (DEPLOY / path).read_text()))
    assert named
    assert named <= options_of_the_daemon()


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text()))


def test_the_daemon_on_kubernetes_may_do_nothing_but_its_work() -> None:
    _, one = documents("daemonset.yaml")
    pod = one["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert not pod.get("hostPID")
    assert not pod.get("hostIPC")
    may = container["securityContext"]
    assert may["capabilities"] == {"drop": ["ALL"]}
    assert may["allowPrivilegeEscalation"] is False
    assert may["readOnlyRootFilesystem"] is True
    environment = {each["name"]: each["value"] for each in container["env"]}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert mounts.keys() == volumes.keys()
    host_paths = {name: each["hostPath"]["path"] for name, each in volumes.items() if "hostPath" in each}
    assert host_paths == {"run": "/run/cassini-agent", "state": "/var/lib/cassini-agent"}
    assert str(Config().socket.parent) == mounts["run"] == host_paths["run"]
    assert environment["CASSINI_AGENT_STATE_DIRECTORY"] == mounts["state"]
    for option in ("TOKEN_FILE", "TLS_CERTIFICATE", "TLS_KEY"):
        file = Path(environment[f"CASSINI_AGENT_{option}"])
        assert str(file.parent) == mounts["credentials"]
        assert f"--from-file={file.name}" in PAGE
    (port,) = container["ports"]
    assert environment["CASSINI_AGENT_PORT"] == str(port["containerPort"]) == str(port["hostPort"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/v1/health", "port": port["name"], "scheme": "HTTPS"}


def test_a_job_on_kubernetes_has_the_folder_of_the_socket_and_may_not_write_there() -> None:
    (job,) = documents("job.yaml")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert mount["readOnly"] is True
    assert mount["mountPath"] == volume["hostPath"]["path"] == str(Config().socket.parent)
    assert container["env"][0]["name"] == "CASSINI_JOB_ID"


# --- Slurm ------------------------------------------------------------------------------------------------------------


def exported(name: str, environment: dict[str, str]) -> dict[str, str]:
    """What a prolog of tasks puts into the environment."""
    clean = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run([DEPLOY / "slurm" / name], env=clean, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.removeprefix("export ").partition("=") for line in done.stdout.splitlines()]
    return {name: value for name, _, value in lines}


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 2**26),
    st.one_of(st.none(), st.integers(0, 3), st.integers(2**32 - 17, 2**32 - 1), st.integers(0, 2**32 - 17)),
)
def test_a_step_has_the_name_that_the_job_gives_itself(job: int, step: int | None) -> None:
    slurm = {"SLURM_JOB_ID": str(job)} | ({} if step is None else {"SLURM_STEP_ID": str(step)})
    assert exported("task-prolog", slurm)["CASSINI_JOB_ID"] == _job_name(slurm)
    # srun hands on what the prolog of the script gave that.
    assert exported("task-prolog", {**slurm, "CASSINI_JOB_ID": str(job)})["CASSINI_JOB_ID"] == _job_name(slurm)
    assert "CASSINI_JOB_ID" not in exported("task-prolog", {**slurm, "CASSINI_JOB_ID": "mine"})


def test_the_job_has_the_secret_that_the_scheduler_makes_of_its_name(start: Start, tmp_path: Path) -> None:
    key, folder = tmp_path / "job-key", tmp_path / "jobs"
    key.write_text("of the site, long enough\n")
    slurm = {"SLURM_JOB_ID": "1234", "SLURM_JOB_UID": str(os.getuid())}
    places = {"CASSINI_JOB_KEY": str(key), "CASSINI_JOB_SECRETS": str(folder)}
    assert exported("prolog", {**slurm, **places}) == {}
    secret = JobSecret(hmac.new(key.read_bytes().strip(), b"1234", "sha256").hexdigest())  # as the page has it
    given = exported("task-prolog", {**slurm, **places})
    assert given == secret.environment("1234")
    assert (folder / "1234").stat().st_mode & 0o777 == 0o400
    assert folder.stat().st_mode & 0o777 == 0o711
    daemon = start()
    assert daemon.put(schedule_of("1234", secret_sha256=secret.sha256)).body["accepted"]
    with daemon.job(given["CASSINI_JOB_ID"], secret=given["CASSINI_JOB_SECRET"]) as job:
        assert (job.receive() or {})["type"] == "schedule"
    with daemon.job("1234", secret="of somebody else, as long") as other:
        assert (other.receive() or {})["reason"] == "wrong_secret"
    assert exported("epilog", {**slurm, **places}) == {}
    assert list(folder.iterdir()) == []
    assert "CASSINI_JOB_SECRET" not in exported("task-prolog", {**slurm, **places})


@pytest.mark.parametrize("key", [None, "", " \n", "short\n"])
def test_a_node_without_a_key_that_can_keep_a_secret_runs_jobs_all_the_same(key: str | None, tmp_path: Path) -> None:
    place = tmp_path / "key"
    if key is not None:
        place.write_text(key)
    places = {"CASSINI_JOB_KEY": str(place), "CASSINI_JOB_SECRETS": str(tmp_path / "jobs")}
    environment = {"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "0", **places}
    command = [sys.executable, "-I", str(DEPLOY / "slurm" / "prolog")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "no secret for this job" in done.stderr
    assert not (tmp_path / "jobs" / "1").exists()
