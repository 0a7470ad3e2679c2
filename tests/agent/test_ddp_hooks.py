"""The agent's mark on DDP's one communication hook: a model trains as it would without, whatever hook it has."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("torch.distributed")

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from cassini_agent.integrations.callback_base import CallbackBase
from cassini_agent.integrations.ddp import attach
from cassini_agent.loop import Agent, connect


@pytest.fixture(autouse=True, scope="module")
def _group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture
def agent(tmp_path: Any) -> Iterator[Agent]:
    one = connect("hooks", rank=0, world_size=1, socket=str(tmp_path / "none"))
    yield one
    one.close()


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("CASSINI_AGENT", "0")
    return connect("hooks", rank=0, world_size=1)


def new_model() -> DistributedDataParallel:
    torch.manual_seed(7)
    return DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    )


def gradients(model: DistributedDataParallel) -> list[torch.Tensor]:
    """Of one step on what is always the same."""
    torch.manual_seed(8)
    model(torch.randn(8, 16)).square().mean().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def is_equal(ones: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(ones, others, strict=True))


def power_state() -> powerSGD_hook.PowerSGDState:
    return powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2, random_seed=1)


def builtin(model: DistributedDataParallel) -> None:
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)


OWN: dict[str, Callable[[DistributedDataParallel], None]] = {
    "half the bits": lambda model: model.register_comm_hook(None, default_hooks.fp16_compress_hook),
    "PowerSGD": lambda model: model.register_comm_hook(power_state(), powerSGD_hook.powerSGD_hook),
    "built in": builtin,
}


@pytest.mark.parametrize("own", OWN)
def test_a_model_keeps_the_hook_that_it_has(own: str, agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    plain, model = new_model(), new_model()
    OWN[own](plain)
    OWN[own](model)
    hooks = list(model._comm_hooks)
    with caplog.at_level(logging.WARNING, "cassini_agent"):
        assert attach(agent, model) is False
    assert model._comm_hooks == hooks
    assert [record.getMessage() for record in caplog.records if record.name == "cassini_agent"] == [
        "the communication of the model is not marked: it has a communication hook already; "
        "attach(agent, model, hook, state) registers one with marks"
    ]
    agent.iteration()
    assert is_equal(gradients(model), gradients(plain))
    assert agent.summary()["note"] == ""


@pytest.mark.parametrize(("hook", "state"), [
    (default_hooks.fp16_compress_hook, lambda: None),
    (powerSGD_hook.powerSGD_hook, power_state),
    (default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook), power_state),
])  # fmt: skip
@pytest.mark.parametrize("is_on", [True, False])
def test_a_hook_that_is_given_is_registered_whether_or_not_the_agent_is_on(
    hook: Any, state: Callable[[], Any], is_on: bool, agent: Agent, off: Agent
) -> None:
    """A rank that compresses and one that does not would send each other what neither expects."""
    plain, model = new_model(), new_model()
    plain.register_comm_hook(state(), hook)
    assert attach(agent if is_on else off, model, hook, state()) is is_on
    for _ in range(3):
        agent.iteration()
        assert is_equal(gradients(model), gradients(plain))
    if is_on:
        agent.iteration()
        assert all(one.communication_end_ns is not None for one in agent._rank0_controller._profile)
        assert len(agent._rank0_controller._profile) == 3


def test_without_a_hook_of_its_own_the_model_is_marked_and_trained_alike(agent: Agent) -> None:
    plain, model = new_model(), new_model()
    assert attach(agent, model) is True
    agent.iteration()
    assert is_equal(gradients(model), gradients(plain))
    agent.iteration()
    (one,) = agent._rank0_controller._profile
    assert one.start_ns < one.communication_start_ns < one.communication_end_ns <= one.end_ns


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("copied", [False, True])
def test_a_hook_that_is_registered_after_the_agents_takes_its_place_as_on_the_ranks_without_an_agent(
    own: str, copied: bool, agent: Agent
) -> None:
    plain, model = new_model(), new_model()
    assert attach(agent, model) is True
    model = copy.deepcopy(model) if copied else model
    OWN[own](plain)
    OWN[own](model)
    for _ in range(3):
        agent.iteration()
        assert is_equal(gradients(model), gradients(plain))
    assert [state for _, state in model._comm_hooks][-1:] in ([], [None]) or own == "PowerSGD"
    with pytest.raises(RuntimeError, match=r"can only be called once|already"):
        OWN[own](model)
    assert copied or agent._rank0_controller._profile[-1].communication_end_ns is not None


def wrong(state: object, bucket: int) -> None:
    """No hook: DDP looks at the annotation."""


def test_a_hook_that_ddp_refuses_is_refused_on_all_ranks(agent: Agent, off: Agent) -> None:
    for one in (agent, off):
        with pytest.raises(ValueError, match="bucket annotation"):
            attach(one, new_model(), wrong)


def test_a_later_hook_that_ddp_would_refuse_is_refused(agent: Agent) -> None:
    model = new_model()
    assert attach(agent, model) is True
    with pytest.raises(TypeError):
        model.register_comm_hook(None, "no function")
    agent.iteration()
    assert is_equal(gradients(model), gradients(new_model()))


def test_gradients_are_reduced_in_the_models_own_group(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 alone has the agent's hook: in another group than the other ranks it would wait for them for ever."""
    groups = []

    def seen(tensor: torch.Tensor, group: Any = None, async_op: bool = False) -> Any:
        groups.append(group)
        return reduce(tensor, group=group, async_op=async_op)

    reduce = dist.all_reduce
    monkeypatch.setattr(dist, "all_reduce", seen)
    for register in (lambda _: None, builtin):
        own = dist.new_group([0])
        model = DistributedDataParallel(torch.nn.Linear(16, 4), process_group=own)
        assert attach(agent, model) is True
        register(model)
        agent.iteration()
        gradients(model)
        assert groups.pop() is own


def test_switched_off_nothing_is_registered(off: Agent) -> None:
    model = new_model()
    assert attach(off, model) is False
    assert model._comm_hooks == []


def test_a_second_attach_leaves_the_first(agent: Agent) -> None:
    model = new_model()
    assert [attach(agent, model), attach(agent, model)] == [True, False]
    agent.iteration()
    gradients(model)


def test_a_model_with_marks_is_copied_and_saved_as_one_without(agent: Agent) -> None:
    model = new_model()
    attach(agent, model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert is_equal(gradients(other), gradients(model))
        model.zero_grad()


def test_a_model_whose_reducer_is_traced_is_left_alone(agent: Agent) -> None:
    """It calls hooks with a pair of tensors, for which they are not made."""
    with torch._dynamo.config.patch(optimize_ddp="python_reducer"):
        plain, model = new_model(), new_model()
        assert attach(agent, model) is False
        assert is_equal(gradients(model), gradients(plain))


def test_what_is_no_ddp_model_is_left_alone(agent: Agent) -> None:
    assert attach(agent, torch.nn.Linear(2, 2)) is False


@pytest.mark.parametrize("own", OWN)
def test_callbacks_leave_a_model_its_hook(own: str, agent: Agent) -> None:
    plain, model = new_model(), new_model()
    OWN[own](plain)
    OWN[own](model)
    CallbackBase(agent)._attach(model)
    assert is_equal(gradients(model), gradients(plain))
