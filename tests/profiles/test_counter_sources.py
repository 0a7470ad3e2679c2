"""One series of counters in every format is one recording; the unknown stays unknown; hostile files are refused."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassini_agent.counters.recorder import Group, header_line, sample_line
from cassini_agent.counters.sources import Channel as AgentChannel
from cassini_core import InputError, Job, Phase
from cassini_core.cli import main
from cassini_core.profiles.counters import profile_counters
from cassini_core.profiles.counters import recording as recordings
from cassini_core.profiles.counters.recording import BREAK, MISSING, Recording, read_recording
from counter_files import FORMATS, MS, Series, csv_with, query_range, rdma_prefixed, rdma_wrapped, recorded, text_format
from counter_jobs import Disturbance, read_job

TEXTS = {name: write for name, write in FORMATS.items() if name != "recorded"}
JOB = Job("job", 210.0, (Phase(120.0, 60.0, 40.0),))
BEGIN_MS = 1_700_000_000_000


def read(path: Path, data: bytes) -> Recording:
    path.write_bytes(data)
    return read_recording(path)


def refused(path: Path, data: bytes | str, **options: object) -> str:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(InputError) as caught:
        profile_counters(path, job_id="job", **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.isprintable()
    assert len(text) < 1500
    return text.removeprefix(f"{path}: ")


def columns(recording: Recording) -> dict[tuple[str, str], list[int]]:
    (samples,) = recording.samples
    return {
        (channel.device, channel.name): list(column)
        for channel, column in zip(samples.group.channels, samples.values, strict=True)
    }


def times_ms(recording: Recording) -> list[float]:
    return [at / MS for at in recording.samples[0].times_ns]


def job_series(job: Job = JOB, every_ms: int = 1, iterations: int = 12) -> Series:
    readings = read_job(job, iterations, Disturbance(lateness_ms=0))
    rows = readings.rows[::every_ms]
    start = rows[0][0] // MS
    sent = [4 * words for _, words in rows]
    times = [at // MS - start + BEGIN_MS for at, _ in rows]
    return Series(times, {("mlx5_0/1", "tx"): sent, ("mlx5_0/1", "rx"): [raw // 8 for raw in sent]})


@st.composite
def series(draw: st.DrawFn) -> Series:
    """Totals that grow, also while they are missing, and fall now and then."""
    steps = draw(st.lists(st.integers(1, 40) | st.just(60_000), min_size=1, max_size=30))
    times = [BEGIN_MS + sum(steps[:n]) for n in range(len(steps) + 1)]
    devices = draw(st.lists(st.sampled_from(["mlx5_0/1", "mlx5_0/2", "efa_10/1"]), min_size=1, max_size=3, unique=True))
    found: dict[tuple[str, str], list[int | None]] = {}
    for device in devices:
        for way in draw(st.sampled_from([("tx", "rx"), ("tx",), ("rx",)])):
            raw = draw(st.integers(0, 2**51))
            column: list[int | None] = [raw]
            for step in steps:
                what = draw(st.sampled_from(["grow", "grow", "grow", "rest", "miss", "reset"]))
                # A reset oftener than that is taken for a rate.
                what = "rest" if what == "reset" and column.count(0) > 2 else what
                raw = 0 if what == "reset" else raw if what == "rest" else raw + draw(st.integers(0, step * 10**8))
                column.append(None if what == "miss" else raw)
            found[device, way] = column
    kept = [n for n in range(len(times)) if any(column[n] is not None for column in found.values())]
    return Series([times[n] for n in kept], {key: [column[n] for n in kept] for key, column in found.items()})


@given(series())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_every_format_gives_the_same_recording(tmp_path: Path, given: Series) -> None:
    expected = read(tmp_path / "x", recorded(given))
    for name, write in TEXTS.items():
        found = read(tmp_path / "x", write(given))
        assert (columns(found), times_ms(found)) == (columns(expected), times_ms(expected)), name
        assert (found.ended, found.problem) == (None, None)


@given(data=st.data(), given=series())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_a_file_cut_off_anywhere_is_refused_or_gives_its_whole_lines(
    tmp_path: Path, data: st.DataObject, given: Series
) -> None:
    name = data.draw(st.sampled_from(sorted(TEXTS)))
    whole = TEXTS[name](given)
    all_of_it = columns(read(tmp_path / "x", whole))
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        part = read(tmp_path / "x", cut)
    except InputError:
        return
    assert name != "query_range"
    for key, column in columns(part).items():
        # In the text format the last of several counters may lack its last line.
        assert column == all_of_it[key][: len(column)] or column[:-1] == all_of_it[key][: len(column) - 1]
        assert column[-1:] in (all_of_it[key][len(column) - 1 : len(column)], [MISSING])
    assert (part.problem is None) == cut.endswith(b"\n") or len(cut.splitlines()) == 1


@pytest.mark.parametrize("name", TEXTS)
def test_every_format_gives_the_same_profile(tmp_path: Path, name: str) -> None:
    profiles = []
    for write in (recorded, TEXTS[name]):
        (tmp_path / "x").write_bytes(write(job_series()))
        profiles.append(profile_counters(tmp_path / "x", job_id="job"))
    expected, found = profiles
    assert found == expected
    assert found.job.iteration_ms == pytest.approx(210, abs=0.1)
    assert found.job.phases[0].gbps == pytest.approx(40, rel=0.02)
    assert found.warnings == ()


# --- unknown is not zero


def silent(series: Series, key: tuple[str, str], value: int | None) -> Series:
    return replace(series, columns={**series.columns, key: [value] * len(series.times_ms)})


def without(series: Series, key: tuple[str, str]) -> Series:
    return replace(series, columns={one: column for one, column in series.columns.items() if one != key})


TX, RX = ("mlx5_0/1", "tx"), ("mlx5_0/1", "rx")


@pytest.mark.parametrize("write", [recorded, csv_with("time_ms")])
def test_never_readable_not_there_and_no_traffic_are_three_answers(
    tmp_path: Path, write: Callable[[Series], bytes]
) -> None:
    answers = {}
    for what, shown in {
        "never": silent(job_series(), TX, None),
        "absent": without(job_series(), TX),
        "silent": silent(job_series(), TX, 7),
    }.items():
        (tmp_path / "x").write_bytes(write(shown))
        found = profile_counters(tmp_path / "x", job_id="job")
        assert found.direction == "rx"
        answers[what] = found.warnings
        refusal = refused(tmp_path / "x", write(shown), direction="tx")
        said = {"never": "never readable", "absent": "not there", "silent": "no traffic"}[what]
        assert said in refusal
        assert [other for other in ("never readable", "not there", "no traffic") if other in refusal] == [said]
    assert answers == {
        "never": ("mlx5_0/1 tx_bytes: never readable, so unknown, not zero",),
        "absent": ("mlx5_0/1 tx_bytes: not there, so unknown, not zero",),
        "silent": (),
    }


def test_the_recorder_says_which_counters_were_not_there(tmp_path: Path) -> None:
    own = job_series()
    channels = (AgentChannel("efa_0/1", "tx_bytes", "bytes", absent=True), AgentChannel("efa_0/1", "rx_bytes", "bytes"))
    rows = [(at * MS, MISSING, raw) for at, raw in zip(own.times_ms, own.columns[RX], strict=True)]
    (tmp_path / "x").write_bytes(header_line([Group(MS, channels)], {}) + sample_line(0, rows))
    found = profile_counters(tmp_path / "x", job_id="job")
    assert found.warnings == ("efa_0/1 tx_bytes: not there, so unknown, not zero",)


def test_silence_beside_what_is_unknown_is_no_zero(tmp_path: Path) -> None:
    given = silent(silent(job_series(), TX, None), RX, 5)
    text = refused(tmp_path / "x", csv_with("time_s")(given))
    assert "no traffic on mlx5_0/1 as far as it is known: mlx5_0/1 tx_bytes: never readable" in text


def test_an_idle_device_among_several_is_named(tmp_path: Path) -> None:
    given = silent(silent(job_series(), ("mlx5_1/1", "tx"), 3), ("mlx5_1/1", "rx"), 3)
    (tmp_path / "x").write_bytes(rdma_wrapped(given))
    assert profile_counters(tmp_path / "x", job_id="job").warnings == ("mlx5_1/1: no traffic",)


@pytest.mark.parametrize("unknown", ["", "NaN", "nan", "N/A (no PMA)"])
def test_a_cell_without_a_number_is_missing(tmp_path: Path, unknown: str) -> None:
    text = f"time_ms,a tx_bytes\n0,100\n1,{unknown}\n2,150\n"
    assert columns(read(tmp_path / "x", text.encode())) == {("a", "tx_bytes"): [0, MISSING, 50]}


def test_a_counter_that_falls_is_unknown_there(tmp_path: Path) -> None:
    text = "time_ms,a tx_bytes\n0,100\n1,200\n2,50\n3,60\n"
    assert columns(read(tmp_path / "x", text.encode())) == {("a", "tx_bytes"): [0, 100, BREAK, 110]}


def test_a_counter_that_leaps_is_unknown_there(tmp_path: Path) -> None:
    """More than any server sends, as where a reading was torn: it would be traffic that was not there."""
    text = "time_ms,a tx_bytes\n0,100\n1,200\n2,9e18\n3,210\n4,215\n"
    assert columns(read(tmp_path / "x", text.encode())) == {("a", "tx_bytes"): [0, 100, BREAK, BREAK, 105]}


def test_rates_are_no_totals(tmp_path: Path) -> None:
    rows = "".join(f"{n},{1000 if n % 3 else 0}\n" for n in range(60))
    assert "expected a total that grows" in refused(tmp_path / "x", f"time_ms,a tx_bytes\n{rows}")


# --- resolution


@pytest.mark.parametrize("every_ms", [21, 50, 100, 1000, 15_000])
@pytest.mark.parametrize("write", [csv_with("time"), query_range, text_format, rdma_prefixed])
def test_scrapes_too_far_apart_for_iterations_are_refused(
    tmp_path: Path, every_ms: int, write: Callable[[Series], bytes]
) -> None:
    if every_ms <= 1000:
        given = job_series(Job("job", 200.3, (Phase(100.0, 80.0, 50.0),)), every_ms, iterations=min(every_ms, 200))
    else:
        # 200 ms by 15 s: an hour of it, straight from its average.
        times = [BEGIN_MS + 15_000 * n for n in range(240)]
        given = Series(times, {TX: [n * 300_000_000 + 1000 * (n % 7) for n in range(240)]})
    text = refused(tmp_path / "x", write(given))
    assert "expected readings at most 20 ms apart" in text
    assert f"every {every_ms} ms" in text
    assert main(["profile", "counters", str(tmp_path / "x"), "-o", str(tmp_path / "job.json")]) == 2
    assert not (tmp_path / "job.json").exists()


def test_a_word_that_is_not_expected_is_not_quoted_at_length(tmp_path: Path) -> None:
    """Found by fuzzing: the library says the whole of it."""
    told = refused(tmp_path / "x", b'{"status": "' + 5000 * b"9" + b'", "data": {}}')
    assert "query_range" in told
    assert len(told) < 1000


def test_a_query_step_below_the_scrape_interval_shows_no_more(tmp_path: Path) -> None:
    slow = job_series(every_ms=100, iterations=60)
    repeated = Series(
        [slow.times_ms[0] + 10 * n for n in range(10 * len(slow.times_ms))],
        {key: [raw for raw in column for _ in range(10)] for key, column in slow.columns.items()},
    )
    assert "a new value every 100 ms" in refused(tmp_path / "x", query_range(repeated))


@pytest.mark.parametrize("every_ms", [2, 5, 10])
def test_what_is_read_often_enough_is_profiled(tmp_path: Path, every_ms: int) -> None:
    (tmp_path / "x").write_bytes(query_range(job_series(every_ms=every_ms, iterations=40)))
    found = profile_counters(tmp_path / "x", job_id="job", devices=["mlx5_0"])
    assert found.job.iteration_ms == pytest.approx(210, abs=1.5)
    assert found.resolution_ms == pytest.approx(every_ms)


def test_many_slow_series_at_different_times_are_slow(tmp_path: Path) -> None:
    """Their times together are dense; each alone is read once a second."""
    metric = "node_infiniband_port_data_transmitted_bytes_total"
    lines = [
        f'{metric}{{device="mlx5_{d}",port="1"}} {n * 10**8} {1000 * n + 11 * d}' for n in range(60) for d in range(90)
    ]
    text = refused(tmp_path / "x", "\n".join([*lines, ""]), devices=["mlx5_3"])
    assert "mlx5_3/1 tx_bytes: expected readings at most 20 ms apart, got a new value every 1000 ms" in text


# --- devices


def two_ports() -> Series:
    one = job_series()
    return replace(
        one, columns={**one.columns, ("mlx5_0/2", "tx"): one.columns[TX], ("mlx5_1/1", "tx"): one.columns[TX]}
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_device_that_is_not_there_lists_those_that_are(tmp_path: Path, name: str) -> None:
    text = refused(tmp_path / "x", FORMATS[name](two_ports()), devices=["mlx5_9"])
    assert "expected a device of the recording (mlx5_0/1, mlx5_0/2, mlx5_1/1), got 'mlx5_9'" in text


def test_a_device_stands_for_its_ports(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(csv_with("time_ns")(two_ports()))
    rates = {
        wanted: profile_counters(tmp_path / "x", job_id="job", devices=wanted.split(), direction="tx")
        .job.phases[0]
        .gbps
        for wanted in ("mlx5_0", "mlx5_0/2", "mlx5_0 mlx5_0/1 mlx5_1/1")
    }
    assert list(rates.values()) == pytest.approx([80, 40, 120], rel=0.02)


def test_devices_of_node_exporter_must_be_named(tmp_path: Path) -> None:
    given = text_format(job_series()).decode()
    lines = [
        f'node_network_transmit_bytes_total{{device="{name}",instance="h1:9100"}} {n} {BEGIN_MS + n}'
        for n in range(40)
        for name in ("lo", "bond0")
    ]
    text = refused(tmp_path / "x", given + "\n".join([*lines, ""]))
    assert "expected the devices that carry the job to be named, got none" in text
    assert "there are mlx5_0/1, lo@h1:9100, bond0@h1:9100" in text
    assert profile_counters(tmp_path / "x", job_id="job", devices=["mlx5_0/1"]).job.iteration_ms == pytest.approx(210)


def test_the_command_reads_any_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The name says something else than the contents.
    (tmp_path / "port.cnt").write_bytes(csv_with("time_s")(two_ports()))
    out = tmp_path / "job.json"
    assert main(["profile", "counters", str(tmp_path / "port.cnt"), "-o", str(out), "--device", "mlx5_1/1"]) == 0
    about = json.loads(out.read_text())["about"]
    assert about["devices"] == ["mlx5_1/1"]
    assert about["warnings"] == ["mlx5_1/1 rx_bytes: not there, so unknown, not zero"]
    assert "not there" in capsys.readouterr().out


# --- refusals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "time,a tx_bytes\n1700000000,1\n",
            "line 2: expected a time as in 2026-01-31T12:00:00.125Z, got '1700000000'; a n",
        ),
        ("time,a tx_bytes\n9999-12-31T00:00:00Z,1\n", "line 2: expected a time within 146 years of 1970, got '9999-12"),
        ("time,a tx_bytes\n0001-01-01T00:00:00+14:00,1\n", "line 2: expected a time within 146 years of 1970"),
        ("time_s,a tx_bytes\n1e999,1\n", "line 2: expected a time in s, got '1e999'"),
        ("time_s,a tx_bytes\nNaN,1\n", "line 2: expected a time in s, got 'NaN'"),
        ("time_ms,a tx_bytes\n1_0,1\n", "line 2: expected a time in ms, got '1_0'"),
        ("time_ms,a tx_bytes\n٣,1\n", "line 2: expected a time in ms, got '٣'"),
        (
            "time_ms,a tx_bytes\n0,1\n2,2\n1,3\n",
            "line 4: tx_bytes of 'a': expected times that grow, got an earlier one",
        ),
        ("time_ms,a tx_bytes\n0,1\n0,2\n", "line 3: tx_bytes of 'a': expected times that grow, got two values at one"),
        ("time_ms,a tx_bytes\n0,1\n1,-2\n", "line 3: column 'a tx_bytes': expected a total of bytes (a whole number"),
        ("time_ms,a tx_bytes\n0,inf\n", "line 2: column 'a tx_bytes': expected a total of bytes"),
        ("time_ms,a tx_bytes\n0,1.5\n", "line 2: column 'a tx_bytes': expected a total of bytes"),
        ("time_ms,a tx_bytes\n0,18446744073709551616\n", "line 2: column 'a tx_bytes': expected a total of bytes"),
        (f"time_ms,a tx_bytes\n0,{'9' * 5000}\n", "line 2: column 'a tx_bytes': expected a total of bytes"),
        (
            "time_s,a tx_bytes\n0,1e18\n1,0\n1e9,1e19\n",
            "line 4: tx_bytes of 'a': expected totals that grow by less than",
        ),
        ("time_ms,a tx_bytes\n0,1,2\n", "line 2: expected 2 cells, got 3"),
        ('time_ms,a tx_bytes\n0,"1\n', "line 2: expected comma-separated values"),
        ("time_ms,a tx_bytes,a tx_bytes\n", "line 1: column 3: expected each column once, got 'a tx_bytes' again"),
        ("time_ms,a bytes\n", "line 1: column 2: expected 'DEVICE tx_bytes' or 'DEVICE rx_bytes', as in"),
        (
            "timestamp,a tx_bytes\n",
            "line 1: column 1: expected one of time, time_s, time_ms, time_us, time_ns, got 'timest",
        ),
        ("time_ms,a tx_bytes\n0,1\n", "expected at least 16 samples, got 1"),
        ("time_ms,\ud83d\ude00 tx_bytes\n".encode("utf-16", "surrogatepass")[2:], "expected a recording of counters"),
        (b"time_ms,a tx_bytes\n0,1\n1,\xff\n", "line 3: expected text in UTF-8"),
        (
            'node_infiniband_port_data_transmitted_bytes_total{device="a",port="1"} 1\n',
            "line 1: expected a timestamp after the value of node_infiniband_port_data_transmitted_bytes_total, got",
        ),
        ('node_network_transmit_bytes_total{device="a" 1 5\n', "line 1: expected a sample, got "),
        ('node_network_transmit_bytes_total{device="a"} x 5\n', "line 1: expected a sample, got "),
        (f'node_network_transmit_bytes_total{{device="a"}} 1 {10**400}\n', "line 1: expected a sample, got "),
        ('node_network_transmit_bytes_total{device="a"} +Inf 5\n', "line 1: expected a total of bytes"),
        ('node_network_transmit_bytes_total{device="a"} 1 1e300\n', "line 1: expected a time in s"),
        ("node_network_transmit_bytes_total{} 1 5\n", "line 1: expected a label device, got none"),
        (
            "# HELP node_load1 load\nnode_load1 1 5\n",
            "expected one of node_infiniband_port_data_transmitted_bytes_total",
        ),
        ('{"status":"error","errorType":"bad_data"}', "expected a response of query_range: Invalid enum value 'error'"),
        (
            '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"device":"a"},"values":[[1,"2"]]}]}}',
            "data.result[0].values[0]: expected one of node_infiniband_port_data_transmitted_bytes_total, ",
        ),
        (
            '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,2]]}]}}',
            "expected a response of query_range: Expected `str`, got `int` - at `$.data.result[0].values[0][1]`",
        ),
        ('{"status":"success","data":{"resultType":"matrix","result":[]}}', "among the metrics, got none"),
        (
            '[{"ifname":"efa_0","port":1,"tx_bytes":1}]\n',
            "line 1: expected a time, got none: rdma does not print it; write",
        ),
        ('{"statistic":[]}\n', "line 1: expected one time and statistic, got the keys 'statistic'"),
        ('{"time_s":1,"time_ms":2,"statistic":[]}\n', "line 1: expected one time and statistic, got the keys"),
        ('{"time_s":true,"statistic":[]}\n', "line 1: expected a time in s, got 'True'"),
        ('{"time_s":1,"statistic":5}\n', "line 1: statistic: Expected `array`, got `int`"),
        ('1.5 [{"ifname":"a","port":1,"tx_bytes":-1}]\n', "line 1: tx_bytes of 'a/1': expected a whole number from 0"),
        ('1.5 [{"ifname":"a","port":1,"tx_bytes":"1"}]\n', "line 1: tx_bytes of 'a/1': expected a whole number from 0"),
        ('1.5 [{"ifname":"a","port":"1"}]\n', "line 1: expected ifname and port of each port, got 'a' and '1'"),
        (
            '1.5 [{"ifname":"a","port":1},{"ifname":"a","port":1}]\n',
            "line 1: expected each port once (rdma statistic sh",
        ),
        ('1.5 [{"ifname":"a","port":1}\n', "line 1: expected an output of rdma -j statistic: "),
        (
            '1.5 [{"ifname":"mlx5_0","port":1,"rx_write_requests":5}]\n',
            "expected a counter of bytes (tx_bytes, rdma_tx_bytes, hw_tx_bytes_cnt, tx_bytes_cnt, rx_bytes, ",
        ),
        (
            '{"format":"cassini-job/1"}',
            "expected a recording of counters (the agent's, which is gzip), or a response of",
        ),
        ("", "expected a recording of counters"),
        ("\n\n\n", "expected a recording of counters"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert said in refused(tmp_path / "x", text)


def test_what_federate_says_twice_counts_once(tmp_path: Path) -> None:
    line = 'node_network_transmit_bytes_total{{device="a"}} {} {}\n'
    text = "".join(line.format(100 + n // 2, 1000 + n // 2) for n in range(8))
    assert columns(read(tmp_path / "x", text.encode())) == {("a", "tx_bytes"): [0, 1, 2, 3]}


def test_without_the_parser_the_text_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client.parser", None)
    text = refused(tmp_path / "x", text_format(job_series(iterations=1)))
    assert "needs the package prometheus-client (pip install 'cassini-core[profiles]')" in text


def test_what_promtool_dumps_is_read(tmp_path: Path) -> None:
    line = '{{__name__="node_network_receive_bytes_total", device="a", instance="h:9100"}} {} {}\n'
    text = "".join(line.format(5e15 + 2 * n, 1700000000000 + n) for n in range(3))
    found = read(tmp_path / "x", text.encode())
    assert columns(found) == {("a@h:9100", "rx_bytes"): [0, 2, 4]}
    assert times_ms(found) == [1700000000000, 1700000000001, 1700000000002]


def test_times_may_have_offsets(tmp_path: Path) -> None:
    rows = ["2026-03-29T01:59:59.999+01:00", "2026-03-29T03:00:00.000+02:00", "2026-03-29T01:00:00.001"]
    found = read(tmp_path / "x", "".join(["time,a:rx_bytes\n", *(f"{one},1\n" for one in rows)]).encode())
    first = times_ms(found)[0]
    assert [at - first for at in times_ms(found)] == [0, 1, 2]


def test_line_ends_byte_order_marks_and_empty_lines_do_not_matter(tmp_path: Path) -> None:
    plain = csv_with("time_ms")(job_series(iterations=1))
    odd = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n").replace(b"\r\n", b"\r\n\r\n", 1)
    assert columns(read(tmp_path / "x", odd)) == columns(read(tmp_path / "x", plain))


def test_too_much_text_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MAX_TEXT_BYTES", 1 << 20)
    data = b"time_ms,a tx_bytes\n" + b"0,1\n" * (1 << 24)
    (tmp_path / "x").write_bytes(data)
    del data
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="expected at most 1048576 bytes of text"):
            read_recording(tmp_path / "x")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_many_series_at_times_of_their_own_are_refused_in_little_memory(tmp_path: Path) -> None:
    """As a table they would take counters times readings: a hundred times their own size."""
    metric = "node_network_transmit_bytes_total"
    series = [
        {"metric": {"__name__": metric, "device": f"d{d}"}, "values": [[n + d / 1024, "5"] for n in range(65)]}
        for d in range(1024)
    ]
    data = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})
    tracemalloc.start()
    try:
        assert "expected at most 67108864 values, got 1024 counters at 66560 times" in refused(tmp_path / "x", data)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    names = ",".join(f"d{n} tx_bytes" for n in range(1025))
    assert "expected at most 1024 counters" in refused(tmp_path / "x", f"time_s,{names}\n")
