"""Names, element sizes and ring formulas of collectives."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.errors import InputError
from cassini_core.profiles.collectives import (
    KINDS,
    collective_kind,
    dtype_bytes,
    kernel_kind,
    recorded_wire_bytes,
    wire_bytes,
)

SIZES = st.integers(0, 2**34)
GROUPS = st.integers(2, 4096)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("allreduce", "all_reduce"),
        ("all_reduce", "all_reduce"),
        ("nccl:all_reduce", "all_reduce"),
        ("c10d::allreduce_", "all_reduce"),
        ("allreduce_coalesced", "all_reduce"),
        ("AllReduce", "all_reduce"),
        ("_allgather_base", "all_gather"),
        ("all_gather", "all_gather"),
        ("all_gather_into_tensor_coalesced", "all_gather"),
        ("ALLGATHER_coalesced", "all_gather"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("reduce_scatter_tensor", "reduce_scatter"),
        ("reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("all_to_all", "all_to_all"),
        ("all_to_allv", "all_to_all"),
        ("alltoall_base", "all_to_all"),
        ("all_to_all_single", "all_to_all"),
        ("broadcast", "broadcast"),
        ("_broadcast_oop", "broadcast"),
        ("reduce", "reduce"),
        ("_reduce_oop", "reduce"),
        ("gather", "gather"),
        ("scatter", "scatter"),
        ("send", "send"),
        ("isend", "send"),
        ("recv", "recv"),
        ("irecv", "recv"),
        ("receive", "recv"),
        ("barrier", "barrier"),
        ("nothing", None),
        ("", None),
        ("reduce_everything", None),
    ],
)
def test_spellings_of_a_collective(name: str, kind: str | None) -> None:
    assert collective_kind(name) == kind


@given(st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_case_and_underscores_do_not_matter(kind: str, chance: object) -> None:
    letters = [c.upper() if chance.random() < 0.5 else c for c in kind.replace("_", "")]  # type: ignore[attr-defined]
    assert collective_kind("_".join(letters)) == kind


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "all_reduce"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("NCCLDEVKERNEL_REDUCESCATTER_SUM_BF16_RING_LL", "reduce_scatter"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "generic"),
    ],
)
def test_kernel_names_say_the_collective(kernel: str, kind: str) -> None:
    assert kernel_kind(kernel) == kind


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("Float", 4), ("float", 4), ("Half", 2), ("BFloat16", 2), ("c10::BFloat16", 2), ("c10::Half", 2), ("Double", 8),
        ("Long", 8), ("int64_t", 8), ("Int", 4), ("Byte", 1), ("Char", 1), ("Bool", 1), ("Float8_e4m3fn", 1),
        ("torch.float32", 4), ("UInt16", 2), ("ComplexFloat", 8), ("ComplexDouble", 16), ("Tensor", None), ("", None),
    ],
)  # fmt: skip
def test_element_sizes(dtype: str, size: int | None) -> None:
    assert dtype_bytes(dtype) == size


@given(st.sampled_from(KINDS), SIZES, SIZES)
def test_one_rank_alone_moves_nothing(kind: str, inside: int, outside: int) -> None:
    assert wire_bytes(kind, inside, outside, 1) == 0


@given(SIZES, GROUPS)
def test_all_reduce_is_reduce_scatter_then_all_gather(shard: int, n: int) -> None:
    whole = shard * n
    parts = wire_bytes("reduce_scatter", whole, shard, n) + wire_bytes("all_gather", shard, whole, n)
    assert wire_bytes("all_reduce", whole, whole, n) == pytest.approx(parts, rel=1e-12)
    # Each of the 2 (n - 1) steps of the ring moves one shard.
    assert parts == pytest.approx(2 * (n - 1) * shard, rel=1e-12)


@given(SIZES, GROUPS)
def test_all_to_all_sends_all_but_the_own_share(shard: int, n: int) -> None:
    assert wire_bytes("all_to_all", shard * n, shard * n, n) == pytest.approx((n - 1) * shard, rel=1e-12)


@given(st.sampled_from(["broadcast", "reduce", "send", "recv"]), SIZES, GROUPS)
def test_what_is_handed_on_costs_its_size(kind: str, size: int, n: int) -> None:
    assert wire_bytes(kind, size, size, n) == size
    assert wire_bytes(kind, size, 0, n) == size


@given(SIZES, GROUPS)
def test_gather_and_scatter_cost_most_at_the_root(shard: int, n: int) -> None:
    assert wire_bytes("gather", shard, shard * n, n) == pytest.approx((n - 1) * shard, rel=1e-12)
    assert wire_bytes("scatter", shard * n, shard, n) == pytest.approx((n - 1) * shard, rel=1e-12)
    assert wire_bytes("gather", shard, 0, n) == wire_bytes("scatter", 0, shard, n) == shard


@given(st.sampled_from(KINDS), SIZES, SIZES, GROUPS, st.integers(1, 1000))
def test_bytes_scale(kind: str, inside: int, outside: int, n: int, factor: int) -> None:
    once = wire_bytes(kind, inside, outside, n)
    assert wire_bytes(kind, factor * inside, factor * outside, n) == pytest.approx(factor * once, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "inside", "outside", "n", "message"),
    [
        ("allreduce", 1, 1, 2, "collective: expected one of"),
        ("all_reduce", -1, 1, 2, "input bytes"),
        ("all_reduce", 1, math.nan, 2, "output bytes"),
        ("all_reduce", math.inf, 1, 2, "input bytes"),
        ("all_reduce", 1, 1, 0, "group size: expected at least 1"),
    ],
)
def test_wrong_input_is_named(kind: str, inside: float, outside: float, n: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        wire_bytes(kind, inside, outside, n)


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=16), st.lists(st.integers(0, 10**6), max_size=16), st.data()
)
def test_an_all_to_all_counts_what_goes_to_others(sent: list[int], received: list[int], data: st.DataObject) -> None:
    size = len(sent)
    received = (received + [1] * size)[:size]
    own = data.draw(st.integers(0, size - 1))
    element = data.draw(st.sampled_from([1.0, 2.0, 4.0]))
    got = recorded_wire_bytes(
        "all_to_all", sum(sent) * element, sum(received) * element, size, splits=(sent, received), own=own
    )
    assert got == pytest.approx(max(sum(sent) - sent[own], sum(received) - received[own]) * element)


@given(st.sampled_from(KINDS), SIZES, SIZES, st.integers(1, 4096))
def test_without_splits_recorded_bytes_are_those_of_the_ring(kind: str, inside: int, outside: int, size: int) -> None:
    for splits in (((), ()), ((1,) * (size + 1), ())):
        got = recorded_wire_bytes(kind, inside, outside, size, splits=splits, own=0)
        assert got == pytest.approx(wire_bytes(kind, inside, outside, size))
