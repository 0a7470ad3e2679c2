"""Workload files of simulators: the bytes of their columns over the groups that the header says, or a clear refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import InputError
from cassini_core.profiles.model import ComputedProfile, profile_workload
from cassini_core.profiles.model.workload_file import read_workload

DATA = Path(__file__).parents[1] / "data" / "workload"
HEADER = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8"


def written(path: Path, header: str, *layers: str) -> Path:
    path.write_text("\n".join([header, str(len(layers)), *layers]) + "\n")
    return path


def sent(profile: ComputedProfile) -> dict[str, float]:
    return {one.name: one.network_bytes for one in profile.messages}


def columns(path: Path, column: int) -> float:
    """The sum of a column, read without the reader."""
    return sum(float(line.split()[column]) for line in path.read_text().splitlines()[2:] if line.strip())


@pytest.mark.parametrize(("workers", "local_ranks"), [(2, 1), (16, 1), (16, 4), (32, 8)])
def test_resnet50_sends_its_gradients(workers: int, local_ranks: int) -> None:
    path = DATA / "Resnet50_DataParallel.txt"
    profile = profile_workload(path, job_id="r", gbps=100, workers=workers, local_ranks=local_ranks)
    expected = 2 * (workers - 1) / workers * columns(path, 10) / local_ranks
    assert sent(profile) == {"data all_reduce": pytest.approx(expected)}


def test_resnet50_takes_its_computing_time_and_what_cannot_be_hidden() -> None:
    """On a fast network the last all-reduce alone is left over; the first layer's input needs no gradient."""
    path = DATA / "Resnet50_DataParallel.txt"
    job = profile_workload(path, job_id="r", gbps=1e5, workers=2).job
    first = path.read_text().splitlines()[2].split()
    computing = (columns(path, 2) + columns(path, 5) + columns(path, 8) - float(first[5])) * 1e-6
    assert job.iteration_ms == pytest.approx(computing + float(first[10]) * 8e-6 / 1e5, abs=2e-6)


def test_llama_with_tensor_parallelism_inside_the_server_sends_its_gradients_alone() -> None:
    profile = profile_workload(DATA / "llama7b_tp2.txt", job_id="l", gbps=200, workers=32, local_ranks=2)
    # REDUCESCATTER of 13,509,853,184 bytes over 16 ranks.
    assert {name: size for name, size in sent(profile).items() if size} == {
        "data reduce_scatter": pytest.approx(13_509_853_184 * 15 / 16)
    }
    assert any("MB that stay inside servers take no time" in one for one in profile.about.warnings)


def test_transfers_inside_servers_take_the_time_that_their_rate_says() -> None:
    free, timed = (
        profile_workload(DATA / "llama7b_tp2.txt", job_id="l", gbps=200, workers=2, local_ranks=2, local_gbps=one).job
        for one in (None, 2400.0)
    )
    inside = sum(
        float(cells[at + 1]) * {"ALLREDUCE": 2 * 1 / 2, "ALLGATHER": 1 / 2, "BROADCAST": 1, "NONE": 0}[cells[at]]
        for line in (DATA / "llama7b_tp2.txt").read_text().splitlines()[2:]
        for cells in [line.split()]
        for at in (3, 6)
    )
    assert timed.iteration_ms - free.iteration_ms == pytest.approx(inside * 8e-6 / 2400)


def test_suffixes_name_groups(tmp_path: Path) -> None:
    layer = "moe -1 1000 ALLTOALL_EP 4000 1000 ALLREDUCE 400 1000 REDUCESCATTER_DP_EP 8000 100"
    profile = profile_workload(written(tmp_path / "w.txt", HEADER, layer), job_id="w", gbps=100)
    assert sent(profile) == {
        "expert all_to_all": pytest.approx(2000),
        "tensor all_reduce": pytest.approx(400),
        "expert data reduce_scatter": pytest.approx(4000),
    }


def test_an_all_gather_is_a_part_for_astra_sim_and_the_whole_for_aicb(tmp_path: Path) -> None:
    layer = "a -1 1000 ALLGATHER 4000 1000 NONE 0 1000 NONE 0 100"
    whole = profile_workload(
        written(tmp_path / "w.txt", HEADER.replace("2 ep: 2", "4 ep: 1"), layer), job_id="w", gbps=9
    )
    astra = written(tmp_path / "a.txt", "HYBRID_TRANSFORMER model_parallel_NPU_group: 4", layer)
    part = profile_workload(astra, job_id="w", gbps=9, workers=8)
    assert sent(whole) == {"tensor all_gather": pytest.approx(3000)}
    assert sent(part) == {"tensor all_gather": pytest.approx(12000)}
    assert any("a rank's own part" in one for one in part.about.warnings)


collectives = st.sampled_from(["NONE", "ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", "ALLTOALL_EP"])
cells = st.tuples(st.integers(2, 10**7), collectives, st.integers(0, 10**9))


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8), st.sampled_from([1, 2, 4]), st.booleans())
def test_what_the_file_lists_is_what_is_sent(
    tmp_path_factory: pytest.TempPathFactory, layers: list[tuple[tuple[int, str, int], ...]], local: int, timed: bool
) -> None:
    text = [" ".join(["l", "-1", *(f"{a} {b} {c}" for a, b, c in layer), "100"]) for layer in layers]
    path = written(tmp_path_factory.mktemp("w") / "w.txt", HEADER, *text)
    profile = profile_workload(path, job_id="w", gbps=50, local_ranks=local, local_gbps=400.0 if timed else None)
    computing = sum(one[0] for layer in layers for one in layer) * 1e-6
    sending = 8e-6 * sum(sent(profile).values()) / 50
    assert profile.job.iteration_ms >= max(computing, sending) - 2e-6
    # Groups of the first pass and of input gradients: tensor, 2 ranks; of weights: data, 4; _EP: 2.
    wire = 0.0
    for layer in layers:
        for place, (_, kind, size) in enumerate(layer):
            ranks = 2 if kind.endswith("_EP") or place < 2 else 4
            wire += size * (ranks - 1) / ranks * {"NONE": 0, "ALLREDUCE": 2}.get(kind, 1)
    everything = sum(one.network_bytes + one.local_bytes for one in profile.messages)
    assert everything == pytest.approx(wire)
    if local == 1:
        assert sum(sent(profile).values()) == pytest.approx(wire)


def test_the_provenance_names_the_file_and_says_computed() -> None:
    about = profile_workload(DATA / "Resnet50_DataParallel.txt", job_id="r", gbps=10, workers=2).about
    assert about.inputs == ("Resnet50_DataParallel.txt",)
    assert (about.iteration_from, about.rate_from, about.method) == ("computed", "computed", "workload")
    assert about.kept_share == pytest.approx(1, abs=1e-6)


LAYER = "a -1 1000 ALLREDUCE 4000 1000 NONE 0 1000 ALLREDUCE 80 100"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected parallelism, the number of layers, and layers; got 0 lines"),
        ("DATA\n", "got 1 lines"),
        ("{}\n{}", "line 1: expected DATA or MODEL"),
        (f"MICRO\n1\n{LAYER}", "got MICRO: it is a benchmark"),
        (f"HYBRID_DLRM 4\n1\n{LAYER}", "got HYBRID_DLRM: which layer waits"),
        (
            f"{HEADER.replace('pp: 1', 'pp: 2')}\n1\n{LAYER}",
            "pp: expected 1, got 2: the file does not say in which order",
        ),
        (f"{HEADER} checkpoints: 1 3\n1\n{LAYER}", "checkpoints: expected 0, got 1"),
        (f"{HEADER.replace('ep: 2', 'ep: x')}\n1\n{LAYER}", "ep: expected a whole number, got 'x'"),
        (f"{HEADER.replace('all_gpus: 8', 'all_gpus: 7')}\n1\n{LAYER}", "workers: expected a multiple of tensor"),
        (f"{HEADER.replace('group: 2', 'group: 0')}\n1\n{LAYER}", "expected groups of at least 1 rank, got 0"),
        (f"{HEADER}\n2\n{LAYER}", "line 2: expected the number of layers below, 1, from 1 to 200000, got '2'"),
        (f"{HEADER}\nmany\n{LAYER}", "got 'many'"),
        (f"{HEADER}\n1\n{LAYER} 7", "line 3: expected 12 columns, got 13"),
        (f"{HEADER}\n1\n{LAYER.replace('4000', '-4')}", "line 3: column 3: expected numbers of at least 0"),
        (f"{HEADER}\n1\n{LAYER.replace('4000', 'nan')}", "got 'nan'"),
        (f"{HEADER}\n1\n{LAYER.replace('ALLREDUCE 4000', 'ALLREDUCEALLTOALL 4000')}", "got 'ALLREDUCEALLTOALL'"),
        (f"{HEADER}\n1\n{LAYER.replace('1000', '1')}", "expected computing times, got none above 1 ns"),
        (f"DATA\n1\n{LAYER}", "expected NONE where DATA parallelism sends nothing, got all_reduce"),
        (f"MODEL\n1\n{LAYER}", "expected NONE where MODEL parallelism sends nothing, got all_reduce"),
        (f"{HEADER}\n1\n{LAYER.replace('a -1', 'ä -1')}", "expected ASCII text"),
    ],
)
def test_what_cannot_be_known_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "w.txt"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as error:
        profile_workload(path, job_id="w", gbps=100, workers=None if "all_gpus" in text else 8)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_a_published_file_that_was_cut_short_is_refused() -> None:
    with pytest.raises(
        InputError, match="line 2: expected the number of layers below, 33, from 1 to 200000, got '839'"
    ):
        read_workload(DATA / "llama65b_cut_short.txt")


def test_the_number_of_ranks_is_asked_for_and_must_agree(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"say it with workers \(--workers\)"):
        profile_workload(DATA / "Resnet50_DataParallel.txt", job_id="r", gbps=100)
    with pytest.raises(InputError, match=r"workers: expected 8, as .* says, got 9"):
        profile_workload(written(tmp_path / "w.txt", HEADER, LAYER), job_id="w", gbps=100, workers=9)
