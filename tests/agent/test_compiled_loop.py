"""A loop that ``torch.compile`` compiles, with the agent's calls inside what it compiles."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch._dynamo.utils import clear_compilation_metrics, get_compilation_metrics

from cassini_agent.loop import connect


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_step_calls_the_agent_each_time_and_the_agent_is_not_compiled(
    backend: str, is_on: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    if not is_on:
        monkeypatch.setenv("CASSINI_AGENT", "0")
    torch._dynamo.reset()
    clear_compilation_metrics()
    agent = connect("compiled", rank=0, world_size=1, socket=str(tmp_path / "none"))
    model = torch.nn.Linear(8, 8)

    def step(inputs: torch.Tensor) -> torch.Tensor:
        agent.iteration()
        outputs = model(inputs).relu()
        with agent.communication():
            outputs = outputs * 2
        return outputs.sum()

    compiled, inputs = torch.compile(step, backend=backend), torch.ones(2, 8)
    for _ in range(10):
        assert torch.allclose(compiled(inputs), (model(inputs).relu() * 2).sum())
        time.sleep(0.001)
    assert agent.summary()["iterations"] == 10
    assert agent.summary()["note"] == ""
    if is_on:
        assert len(agent._rank0_controller._profile) == 9
        for one in agent._rank0_controller._profile:
            assert one.start_ns < one.communication_start_ns < one.communication_end_ns <= one.end_ns
    files = [one.co_filename or "" for one in get_compilation_metrics()]
    assert any(file == __file__ for file in files)
    assert not any("cassini_agent" in file for file in files)
    agent.close()
