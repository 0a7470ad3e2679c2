import numpy as np
import numpy.typing as npt

_Int64 = npt.NDArray[np.int64]

library_version: str

class Options:
    def __init__(
        self,
        *,
        angles_method: bool = False,
        angles: int = 72,
        resolution: int = 500_000,
        slack_tolerance: float = 0.01,
        node_limit: int | None = None,
        deadline_ns: int | None = None,
        max_events: int = 262_144,
        max_levels: int = 65_536,
        cancel: npt.NDArray[np.int32] | None = None,
    ) -> None: ...

def solve_link(
    period: _Int64,
    phase_offset: _Int64,
    phase_start: _Int64,
    phase_length: _Int64,
    phase_rate: _Int64,
    capacity: int,
    options: Options,
) -> tuple[_Int64, _Int64, npt.NDArray[np.uint8], tuple[float, float, float, float, int, int, bool, int]] | None: ...
def evaluate_link(
    period: _Int64,
    phase_offset: _Int64,
    phase_start: _Int64,
    phase_length: _Int64,
    phase_rate: _Int64,
    capacity: int,
    shift: _Int64,
    options: Options,
    with_slack: bool = True,
) -> tuple[float, float, _Int64 | None, int, npt.NDArray[np.uint8]]: ...
def marginals(
    period: _Int64,
    phase_offset: _Int64,
    phase_start: _Int64,
    phase_length: _Int64,
    phase_rate: _Int64,
    capacity: int,
    shift: _Int64,
    job: int,
    query: _Int64,
    options: Options,
) -> npt.NDArray[np.float64]: ...
