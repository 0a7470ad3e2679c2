"""Marking the communication of a model: never at the price of its training."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from cassini_agent.integrations.callback_base import CallbackBase
from cassini_agent.loop import connect


class Model:
    """Takes one hook in its life, as DDP does."""

    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        if self.hooks:
            raise RuntimeError("register_comm_hook can only be called once")
        self.hooks.append(hook)


def test_a_model_that_has_a_hook_is_trained_without_marks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ddp = types.ModuleType("cassini_agent.integrations.ddp")
    ddp.attach = lambda agent, model: model.register_comm_hook(None, agent)
    monkeypatch.setitem(sys.modules, "cassini_agent.integrations.ddp", ddp)
    model, kept = Model(), CallbackBase(connect(rank=0, world_size=1))
    kept._attach(model)
    assert (len(model.hooks), caplog.records) == (1, [])
    kept._attach(model)
    assert [record.getMessage() for record in caplog.records] == [
        "the communication of the model is not marked: register_comm_hook can only be called once"
    ]


def test_a_torch_that_has_no_ddp_is_trained_without_marks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "cassini_agent.integrations.ddp", None)  # importing it fails
    CallbackBase(connect(rank=0, world_size=1))._attach(Model())
    (record,) = caplog.records
    assert "the communication of the model is not marked" in record.getMessage()
