from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from ..choices import StoppedBy

_Int64 = npt.NDArray[np.int64]
_Float64 = npt.NDArray[np.float64]

library_version: str
STOPPED_BY: tuple[StoppedBy, ...]
result_dtype: np.dtype[np.void]

@disjoint_base
class Options:
    def __new__(
        cls,
        *,
        angles_method: bool = False,
        angles: int = 72,
        resolution: int | None = None,
        slack_tolerance: float | None = None,
        node_limit: int | None = None,
        deadline_ns: int | None = None,
        max_events: int | None = None,
        max_levels: int | None = None,
    ) -> Self: ...

@disjoint_base
class LinkAnswer:
    @property
    def shift(self) -> _Int64: ...
    @property
    def slack(self) -> _Int64: ...
    @property
    def free(self) -> npt.NDArray[np.bool_]: ...
    @property
    def score_lower(self) -> float: ...
    @property
    def score_upper(self) -> float: ...
    @property
    def upper_bound(self) -> float: ...
    @property
    def claimed_score(self) -> float: ...
    @property
    def hold(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def optimal(self) -> bool: ...
    @property
    def stopped_by(self) -> StoppedBy: ...

@disjoint_base
class Evaluation:
    @property
    def score_lower(self) -> float: ...
    @property
    def score_upper(self) -> float: ...
    @property
    def slack(self) -> _Int64 | None: ...
    @property
    def hold(self) -> int: ...
    @property
    def free(self) -> npt.NDArray[np.bool_]: ...

@disjoint_base
class Link:
    def __init__(
        self,
        period: _Int64,
        phase_offset: _Int64,
        phase_start: _Int64,
        phase_length: _Int64,
        phase_rate: _Int64,
        capacity: int,
    ) -> None: ...
    @property
    def period(self) -> _Int64: ...
    @property
    def phase_offset(self) -> _Int64: ...
    @property
    def phase_start(self) -> _Int64: ...
    @property
    def phase_length(self) -> _Int64: ...
    @property
    def phase_rate(self) -> _Int64: ...
    @property
    def capacity(self) -> int: ...
    def _solve(
        self,
        options: Options,
        node_limit: int | None = None,
        cancel: npt.NDArray[np.int32] | None = None,
        with_slack: bool = True,
    ) -> LinkAnswer | None: ...
    def _evaluate(self, shift: _Int64, options: Options, with_slack: bool = True) -> Evaluation: ...

def solve_links(
    job_offset: _Int64,
    period: _Int64,
    phase_offset: _Int64,
    phase_start: _Int64,
    phase_length: _Int64,
    phase_rate: _Int64,
    capacity: _Int64,
    options: Options,
    cancel: npt.NDArray[np.int32] | None = None,
    node_limit: int | None = None,
    with_slack: bool = True,
) -> tuple[_Int64, _Int64, npt.NDArray[np.bool_], npt.NDArray[Any], npt.NDArray[np.int32]] | None: ...
def check_status(status: npt.NDArray[np.int32]) -> None: ...

@disjoint_base
class BlockAnswer:
    @property
    def shift(self) -> _Int64: ...
    @property
    def score_lower(self) -> _Float64: ...
    @property
    def score_upper(self) -> _Float64: ...
    @property
    def score(self) -> float: ...
    @property
    def upper_bound(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def optimal(self) -> bool: ...
    @property
    def stopped_by(self) -> StoppedBy: ...

@disjoint_base
class Links:
    def __new__(
        cls,
        job_offset: _Int64,
        period: _Int64,
        phase_offset: _Int64,
        phase_start: _Int64,
        phase_length: _Int64,
        phase_rate: _Int64,
        capacity: _Int64,
        options: Options,
    ) -> Self: ...
    @property
    def status(self) -> npt.NDArray[np.int32]: ...
    @property
    def job_offset(self) -> _Int64: ...
    def solve(
        self,
        link: _Int64,
        options: Options,
        cancel: npt.NDArray[np.int32] | None = None,
        node_limit: int | None = None,
        with_slack: bool = True,
        deadline_ns: int | None = None,
    ) -> tuple[_Int64, _Int64, npt.NDArray[np.bool_], npt.NDArray[Any], npt.NDArray[np.int32]] | None: ...
    def solve_block(
        self,
        period: _Int64,
        link: _Int64,
        member: _Int64,
        weight: _Float64 | None,
        options: Options,
        upper_bound: _Float64 | None = None,
        own_shift: _Int64 | None = None,
        start: _Int64 | None = None,
        dirty: npt.NDArray[np.uint8] | None = None,
        kept: npt.NDArray[np.uint8] | None = None,
        centred: bool = False,
        node_limit: int | None = None,
        cancel: npt.NDArray[np.int32] | None = None,
        deadline_ns: int | None = None,
    ) -> BlockAnswer | None: ...
    def evaluate_each(
        self,
        link: _Int64,
        shift: _Int64,
        options: Options,
        with_slack: bool = True,
        cancel: npt.NDArray[np.int32] | None = None,
        deadline_ns: int | None = None,
    ) -> tuple[_Float64, _Float64, _Int64 | None, _Int64 | None] | None: ...
    def evaluate_block(
        self,
        period: _Int64,
        link: _Int64,
        member: _Int64,
        shift: _Int64,
        options: Options,
        with_slack: bool = True,
        cancel: npt.NDArray[np.int32] | None = None,
        deadline_ns: int | None = None,
    ) -> tuple[_Float64, _Float64, _Int64 | None, _Int64 | None] | None: ...

@disjoint_base
class Baseline:
    def __new__(
        cls,
        links: Links,
        *,
        period: _Int64,
        link: _Int64,
        member: _Int64,
        upper_bound: _Float64 | None,
        shift: _Int64,
        options: Options,
        weight: _Float64 | None = None,
    ) -> Self: ...
    @property
    def links(self) -> Links: ...
    def solve(
        self,
        *,
        dropped: _Int64,
        link: _Int64,
        member: _Int64,
        options: Options,
        upper_bound: _Float64 | None,
        weight: _Float64 | None = None,
        node_limit: int | None = None,
        cancel: npt.NDArray[np.int32] | None = None,
        deadline_ns: int | None = None,
    ) -> BlockAnswer | None: ...
