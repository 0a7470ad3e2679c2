"""Traces that look harmless and are not: what is right for each, or that it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cassini_core.cli import main
from cassini_core.errors import InputError
from cassini_core.profiles.kineto import profile_kineto
from kineto_traces import Training, Transfer

C08 = tuple(f"c08_r{rank}" for rank in range(8))


class Case(NamedTuple):
    """Traces, options, and the iteration time in ms and bytes in MB that are right; or words of the refusal."""

    names: tuple[str, ...]
    options: dict[str, Any]
    iteration_ms: float = 0.0
    volume_mb: float = 0.0
    words: str = ""


CASES = [
    Case(("c01_cpu_ahead_nolaunch",), {}, 264.0, 102.2),
    Case(("c04_mixed_deepep",), {}, 219.7, 102.2),
    Case(("c05_dur0",), {}, words="5 all_reduce, 2 broadcast) that take 0 ms"),
    Case(("c06_gaps_short",), {}, 222.0, 102.2),
    Case(("c08_a",), {}, 222.0, 102.2),
    Case(("c08_other_period",), {}, 300.0, 102.2),
    Case(("c08_a", "c08_other_period"), {}, words="do not end together"),
    Case(C08, {"gbps": 50.0}, words="expected at least two annotated steps"),
    Case(C08, {"gbps": 50.0, "iteration_ms": 20.0}, 20.0, 1.3),
    Case(("c09_one_step_150",), {}, words="--iteration-ms"),
    Case(("c09_one_step_150",), {"iteration_ms": 222.0}, 222.0, 102.2),
    Case(("c09_one_step_150",), {"iteration_ms": 150.0}, words="iterations of 150 ms as given"),
    Case(("c10_accum4_small",), {}, 888.0, 102.9),
    Case(("c10_gc3",), {}, words="got 1722, 222 ms"),
    Case(("c10_gc3",), {"iteration_ms": 222.0}, 222.0, 102.2),
    Case(("c10_gc3",), {"iteration_ms": 300.0}, words="iterations of 300 ms as given"),
    Case(("c11_tp_dp",), {"local_ranks": 8}, 219.7, 36.5),
    Case(("c11_tp_dp",), {"groups": ["dp"]}, 219.7, 36.5),
    Case(("c11_tp_dp",), {"groups": ["DATA_PARALLEL_GROUP"]}, 219.7, 36.5),
    Case(("c11_tp_dp",), {"groups": "tp"}, 219.7, 2298.4),
    Case(("c11_tp_dp",), {"groups": ["pp"]}, words="(dp DATA_PARALLEL_GROUP, tp TENSOR_MODEL_PARALLEL_GROUP)"),
    Case(("mi300x_resnet_act_checkpoint_slim",), {"gbps": 50.0}, 18.98, 40.9),
    Case(("mi300x_resnet_act_checkpoint_slim",), {}, 18.98, 40.9),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.names[0]}-{case.options}")
def test_cases_are_right_or_refused(data_dir: Path, case: Case) -> None:
    paths = [data_dir / "kineto" / "cases" / f"{name}.json" for name in case.names]
    if case.words:
        with pytest.raises(InputError) as caught:
            profile_kineto(paths, job_id="job", **case.options)
        assert case.words in str(caught.value)
        return
    made = profile_kineto(paths, job_id="job", **case.options)
    assert made.job.iteration_ms == pytest.approx(case.iteration_ms, rel=1e-3)
    volume = sum(phase.duration_ms * phase.gbps for phase in made.job.phases) / 8
    assert volume == pytest.approx(case.volume_mb, rel=5e-3, abs=0.05)
    assert made.provenance.conservation_warning() is None


def test_all_groups_are_listed_and_what_no_port_can_do_is_warned_of(data_dir: Path) -> None:
    path = data_dir / "kineto" / "cases" / "c11_tp_dp.json"
    whole, across = profile_kineto(path, job_id="job"), profile_kineto(path, job_id="job", local_ranks=8)
    assert "2 collectives are faster than a port of 800 Gbit/s (group tp" in whole.warnings[0]
    assert not any("faster than" in warning for warning in across.warnings)
    assert any(
        "faster than a port of 50" in w for w in profile_kineto(path, job_id="j", groups="dp", line_gbps=50).warnings
    )
    for made, counted in ((whole, True), (across, False)):
        tensor, data = made.groups
        assert (tensor.name, tensor.ranks, tensor.counted) == (
            "tp TENSOR_MODEL_PARALLEL_GROUP",
            tuple(range(8)),
            counted,
        )
        assert (data.name, data.ranks, data.counted) == ("dp DATA_PARALLEL_GROUP", (0, 8), True)
        assert tensor.wire_bytes == pytest.approx(329_768_480 * 4 * 2 * 7 / 8)
        assert data.wire_bytes == pytest.approx((6_637_568 + 2_431_040 + 53_120) * 4 + 53 * 8)


def test_the_report_warns_first_lists_groups_and_sums_up_many_collectives(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, job = data_dir / "kineto" / "cases" / "c11_tp_dp.json", tmp_path / "job.json"
    assert main(["profile", "kineto", str(trace), "-o", str(job), "--local-ranks", "8", "--id", "tp"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Warning: one rank only")
    assert any(line.split()[:2] == ["tp", "TENSOR_MODEL_PARALLEL_GROUP"] and line.endswith("no") for line in lines)
    assert any(line.split()[:2] == ["dp", "DATA_PARALLEL_GROUP"] and line.endswith("yes") for line in lines)
    about = json.loads(job.read_bytes())["about"]
    assert about["iteration_from"] == "measured"
    assert about["time_zero"] == "begin of the annotated step"
    assert [group["counted"] for group in about["groups"]] == [False, True]
    many = Training(200.0, tuple(Transfer(5.0 * k, 1.0, 10**6 + k) for k in range(25)))
    assert main(["profile", "kineto", str(many.write(tmp_path / "many.json")), "-o", str(job)]) == 0
    assert [line.split()[:5] for line in capsys.readouterr().out.splitlines() if line.startswith(" all_reduce")] == [
        ["all_reduce", "[0,", "1]", "2", "25"]
    ]
