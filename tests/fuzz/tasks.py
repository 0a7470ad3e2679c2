"""Any bytes, as a file of tasks: tasks that a scheduler can ask about, or a refusal in one line."""

from __future__ import annotations

import pickle
from pathlib import Path

from cassini_core import InputError
from cassini_core.schedulers.tasks_file import load_tasks

_MOST_WORKERS = 64


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the file. Anything but a refusal that comes out is a finding."""
    path = scratch / "input"
    path.write_bytes(data)
    try:
        tasks = load_tasks(path)
    except InputError as error:
        text = str(error)
        if not text or not text.isprintable() or len(text) > 2000:
            raise AssertionError(f"expected one printable line, got {text!r}") from error
        return
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    assert len({one.id for one in tasks}) == len(tasks)
    for one in tasks:
        for workers in {one.min_workers, one.requested_workers, min(one.max_workers, one.min_workers + 1)}:
            if workers > _MOST_WORKERS:
                continue
            try:
                request = one.request({"h": workers})
            except InputError:  # a model may play too much with other numbers of workers
                if workers == one.requested_workers:
                    raise
                continue
            assert request.workers == workers
            assert request.job.id == one.id
            assert one.rate(workers) > 0
