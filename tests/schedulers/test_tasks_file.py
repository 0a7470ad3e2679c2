"""Files of tasks: what is written is read, in any order of keys, and all else is refused with its place."""

from __future__ import annotations

import json
import pickle
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import InputError, Job, Phase
from cassini_core.placement.job_request import NAMED_PATTERNS, Hybrid
from cassini_core.problem_file import job_to_json
from cassini_core.profiles.model import TrainingJob, profile_model
from cassini_core.schedulers.state import Goodput, TrainingTask
from cassini_core.schedulers.task_models import FixedProfile, ModelPattern, ModelProfile
from cassini_core.schedulers.tasks_file import load_tasks, tasks_from_bytes

INLINE = {"iteration_ms": 40, "phases": [{"start_ms": 0, "duration_ms": 20, "gbps": 50}]}
MODEL = {"compute_ms": 100, "gbps": 45, "gradient_bytes": 5e8}
GOODPUT = {
    "alpha_grad_s": 0.1,
    "beta_grad_s": 0.01,
    "alpha_sync_local_s": 0.01,
    "beta_sync_local_s": 0.001,
    "alpha_sync_node_s": 0.02,
    "beta_sync_node_s": 0.002,
    "gamma": 1.5,
    "noise_scale": 100,
    "initial_batch": 32,
    "max_batch": 512,
    "max_batch_per_gpu": 64,
}
ONE: dict[str, Any] = {"id": "a", "arrival_s": 0, "iterations": 10, "workers": 2, "profile": INLINE}
MODELLED: dict[str, Any] = {"id": "a", "arrival_s": 0, "iterations": 10, "workers": 2, "model": MODEL}


def file_of(*tasks: dict[str, Any]) -> bytes:
    return json.dumps({"format": "cassini-tasks/1", "tasks": list(tasks)}).encode()


seconds = st.floats(0, 1e9) | st.integers(0, 10**6)
sizes = st.floats(1e-3, 1e6)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[TrainingTask]]:
    """Tasks as a file has them, and as they are."""
    written, expected = [], []
    for number in range(draw(st.integers(1, 4))):
        row: dict[str, Any] = {"id": f"t{number}", "arrival_s": draw(seconds), "iterations": draw(st.floats(0.5, 1e9))}
        least, wanted, most = sorted(draw(st.lists(st.integers(1, 12), min_size=3, max_size=3)))
        row["workers"] = wanted
        optional: dict[str, Any] = {}
        if draw(st.booleans()):
            optional["scaling"] = draw(st.sampled_from(["weak", "strong"]))
        if draw(st.booleans()):
            optional["gpus_per_worker"] = draw(st.integers(1, 8))
        goodput = {**GOODPUT, "gamma": draw(st.floats(1, 10)), "accumulation": draw(st.booleans())}
        kept = {"goodput": goodput} if draw(st.booleans()) else {}
        pattern = draw(st.none() | st.sampled_from(NAMED_PATTERNS))
        if pattern is not None:
            optional["pattern"] = pattern
        if draw(st.booleans()):
            row["profile"] = {"iteration_ms": draw(st.floats(40, 1e6)), "phases": INLINE["phases"]}
            job = Job(row["id"], row["profile"]["iteration_ms"], [Phase(0, 20, 50)])
            made: dict[str, Any] = {"profiles": FixedProfile(job)}
        else:
            row["model"] = {**MODEL, "compute_ms": draw(st.floats(1, 1e5)), "overlap": draw(st.booleans())}
            optional |= {"min_workers": least, "max_workers": most}
            model = TrainingJob(workers=wanted, **row["model"])
            made = {"profiles": ModelProfile(model)}
            if pattern is None:
                made["pattern"] = ModelPattern(model)
        task = TrainingTask(
            row["id"],
            row["arrival_s"],
            row["iterations"],
            requested_workers=wanted,
            goodput=Goodput(**goodput) if kept else None,
            **made,
            **optional,
        )
        written.append(row | optional | kept)
        expected.append(task)
    return written, expected


@given(tasks(), st.randoms(use_true_random=False))
def test_what_is_written_is_read_in_any_order_of_keys(
    case: tuple[list[dict[str, Any]], list[TrainingTask]], rng: random.Random
) -> None:
    written, expected = case

    def shuffled(value: Any) -> Any:
        if isinstance(value, list):
            return [shuffled(one) for one in value]
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in rng.sample(sorted(value), len(value))}
        return value

    whole = {"tasks": written, "format": "cassini-tasks/1"}
    assert tasks_from_bytes(json.dumps(shuffled(whole)).encode()) == expected
    assert pickle.loads(pickle.dumps(expected)) == expected


def test_a_profile_may_be_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "vgg.json").write_bytes(job_to_json(Job("vgg", 40, [Phase(0, 20, 50)])))
    (tmp_path / "tasks.json").write_bytes(file_of({**ONE, "profile": "vgg.json"}))
    assert load_tasks(tmp_path / "tasks.json") == tasks_from_bytes(file_of(ONE))


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_a_model_gives_the_profile_of_any_number_of_workers(workers: int) -> None:
    (task,) = tasks_from_bytes(file_of({**MODELLED, "min_workers": 1, "max_workers": 8}))
    expected = profile_model(TrainingJob(workers=workers, **MODEL), job_id="a").job  # type: ignore[arg-type]
    assert task.profile(workers) == expected
    assert task.request({"h": workers}).pattern == "ring"


def test_the_groups_of_a_model_are_the_pattern_of_its_task() -> None:
    model = {"compute_ms": 900, "gbps": 45, "parameters": 1e9, "tensor": 2, "pipeline": 2, "layers": 8, "batch": 1}
    model |= {"sequence": 512, "hidden": 1024, "microbatches": 4}
    (task,) = tasks_from_bytes(file_of({**MODELLED, "workers": 8, "model": model}))
    sent: dict[str, float] = {}
    for one in profile_model(TrainingJob(workers=8, **model), job_id="a").messages:  # type: ignore[arg-type]
        kind = one.name.split()[0]
        sent[kind] = sent.get(kind, 0.0) + one.network_bytes
    assert set(sent) == {"data", "tensor", "pipeline"}
    assert task.request({"h": 8}).pattern == Hybrid(2, 2, 2, tuple(sent.items()))


def test_groups_that_stay_inside_servers_share_nothing() -> None:
    model = {"compute_ms": 900, "gbps": 45, "parameters": 1e9, "tensor": 2, "layers": 8, "batch": 1}
    model |= {"sequence": 512, "hidden": 1024, "local_ranks": 2, "local_gbps": 1000}
    (task,) = tasks_from_bytes(file_of({**MODELLED, "model": model}))
    assert task.profile(2).phases == ()
    assert task.request({"h": 2}).pattern == Hybrid(1, 2, 1, (("tensor", 1.0),))


WRONG = {
    "no file": (b"", ""),
    "another format": (b'{"format": "cassini-jobs/1"}', "$.format: expected 'cassini-tasks/1', got 'cassini-jobs/1'"),
    "no tasks": (file_of(), "$.tasks: expected 1 to 20000 tasks, got 0"),
    "unknown key": (file_of({**ONE, "gpu": 1}), "$.tasks[0]: expected no keys but"),
    "missing key": (file_of({"id": "a"}), "$.tasks[0].arrival_s: expected a number, got nothing: the key is missing"),
    "repeated key": (b'{"format": "cassini-tasks/1", "tasks": [], "tasks": []}', "expected each key once"),
    "repeated key of a model": (
        file_of(MODELLED).replace(b'"gbps": 45', b'"gbps": 45, "gbps": 46'),
        "$.tasks[0].model: expected each key once",
    ),
    "twins": (file_of(ONE, ONE), "$.tasks[1].id: expected an id of its own, got 'a' again"),
    "no id": (file_of({**ONE, "id": ""}), "$.tasks[0].id: expected a non-empty string, got ''"),
    "before": (
        file_of({**ONE, "arrival_s": -1}),
        "$.tasks[0].arrival_s: expected a finite number of at least 0.0, got -1",
    ),
    "no iterations": (file_of({**ONE, "iterations": 0}), "$.tasks[0].iterations: expected more than 0, got 0.0"),
    "no workers": (file_of({**ONE, "workers": 0}), "$.tasks[0].workers: expected a whole number of at least 1, got 0"),
    "many workers": (
        file_of({**ONE, "workers": 10**6}),
        "$.tasks[0].workers: expected a whole number from 1 to 100000, got 1000000",
    ),
    "half a worker": (file_of({**ONE, "workers": 1.5}), "$.tasks[0].workers: expected a whole number, got 1.5"),
    "zero at least": (file_of({**MODELLED, "min_workers": 0}), "$.tasks[0].min_workers: expected a whole number of at"),
    "too few": (
        file_of({**MODELLED, "min_workers": 3}),
        "$.tasks[0].workers: expected from min_workers 3 to max_workers 2, got 2",
    ),
    "no such GPUs": (file_of({**ONE, "gpus_per_worker": -1}), "$.tasks[0].gpus_per_worker: expected a whole number"),
    "scaling": (file_of({**ONE, "scaling": "huge"}), "$.tasks[0].scaling: expected 'weak' or 'strong', got 'huge'"),
    "both": (file_of({**ONE, "model": MODEL}), "$.tasks[0].profile: expected either this or a model, got both"),
    "neither": (
        file_of({key: value for key, value in ONE.items() if key != "profile"}),
        "$.tasks[0].profile: expected either this or a model, got neither",
    ),
    "a profile of other workers": (
        file_of({**ONE, "max_workers": 4}),
        "$.tasks[0].max_workers: expected the task's 2 workers, as its profile is of so many",
    ),
    "a phase": (
        file_of({**ONE, "profile": {"iteration_ms": 1, "phases": [{"start_ms": 2, "duration_ms": 0, "gbps": 1}]}}),
        "$.tasks[0].phases[0].start_ms: expected",
    ),
    "no such profile": (file_of({**ONE, "profile": "no.json"}), "$.tasks[0].profile: no.json: expected a readable"),
    "hybrid": (
        file_of({**ONE, "pattern": {"hybrid": {"data": 3, "tensor": 1, "pipeline": 1, "shares": {"data": 1}}}}),
        "$.tasks[0].pattern: expected data * tensor * pipeline of 2 workers, got 3",
    ),
    "all to all of many": (
        file_of({**ONE, "workers": 1001, "pattern": "all_to_all"}),
        "$.tasks[0].workers: expected at most 1000000 flows",
    ),
    "workers of a model": (
        file_of({**MODELLED, "model": {**MODEL, "workers": 2}}),
        "$.tasks[0].model.workers: expected the workers of the task, which stand beside the model, got a key here",
    ),
    "a key of a model": (
        file_of({**MODELLED, "model": {**MODEL, "gbp": 2}}),
        "$.tasks[0].model: expected no keys but 'compute_ms', 'gbps'",
    ),
    "a model without rate": (
        file_of({**MODELLED, "model": {"compute_ms": 1, "parameters": 1}}),
        "$.tasks[0].model.gbps: expected a number, got nothing: the key is missing",
    ),
    "a model's number": (
        file_of({**MODELLED, "model": {**MODEL, "compute_ms": "1"}}),
        "$.tasks[0].model.compute_ms: expected a number, got '1'",
    ),
    "a model's truth": (
        file_of({**MODELLED, "model": {**MODEL, "overlap": 1}}),
        "$.tasks[0].model.overlap: expected true or false, got 1",
    ),
    "a list in a model": (
        file_of({**MODELLED, "model": {**MODEL, "sharding": ["none"]}}),
        "$.tasks[0].model.sharding: expected one of none, optimizer, full, got ['none']",
    ),
    "an object in a model": (
        file_of({**MODELLED, "model": {**MODEL, "tensor": {"a": {"b": 1}}}}),
        "$.tasks[0].model.tensor: expected a whole number",
    ),
    "an endless model": (
        file_of({**MODELLED, "model": {**MODEL, "compute_ms": 1e9}}),
        "$.tasks[0].model.iteration_ms: expected an iteration of up to",
    ),
    "experts": (
        file_of({**MODELLED, "model": {**MODEL, "expert": 2, "expert_parameters": 1e9, "layers": 2, "batch": 1,
                                       "sequence": 8, "hidden": 8}}),
        "$.tasks[0].pattern: expected a pattern, as the model has experts, got nothing",
    ),
    "workers that a model cannot have": (
        file_of({**MODELLED, "max_workers": 3, "model": {**MODEL, "tensor": 2, "layers": 2, "batch": 1,
                                                         "sequence": 8, "hidden": 8}}),
        "$.tasks[0].workers: expected a multiple of tensor times pipeline, 2, got 3",
    ),
    "workers that no pattern has": (
        file_of({**MODELLED, "max_workers": 1001, "pattern": "all_to_all"}),
        "$.tasks[0].workers: expected at most 1000000 flows",
    ),
    "very elastic": (
        file_of({**MODELLED, "max_workers": 5000}),
        "$.tasks[0].max_workers: expected at most 4096 for a task that may have fewer, got 5000",
    ),
    "a key of goodput": (
        file_of({**ONE, "goodput": {**GOODPUT, "x": 1}}),
        "$.tasks[0].goodput: expected no keys but 'alpha_grad_s'",
    ),
    "goodput without batch": (
        file_of({**ONE, "goodput": {key: GOODPUT[key] for key in GOODPUT if key != "max_batch"}}),
        "$.tasks[0].goodput.max_batch: expected a whole number, got nothing: the key is missing",
    ),
    "goodput": (
        file_of({**ONE, "goodput": {**GOODPUT, "gamma": 0.5}}),
        "$.tasks[0].goodput.gamma: expected a finite number of at least 1.0, got 0.5",
    ),
    "goodput's truth": (
        file_of({**ONE, "goodput": {**GOODPUT, "accumulation": "no"}}),
        "$.tasks[0].goodput.accumulation: expected true or false, got 'no'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_in_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, said = WRONG[name]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        tasks_from_bytes(data)
    assert str(refused.value).startswith("tasks: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", [one for one in asdict(TrainingJob(workers=1, **MODEL)) if one != "workers"])  # type: ignore[arg-type]
def test_no_field_of_a_model_takes_what_it_is_not(name: str) -> None:
    model = {**MODEL, name: {"a": 1}}
    with pytest.raises(InputError, match=rf"\$\.tasks\[0\]\.model\.{name}: expected"):
        tasks_from_bytes(file_of({**MODELLED, "model": model}))
