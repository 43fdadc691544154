"""Types of what is compiled."""

from typing import Literal, NotRequired, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["estimate", "plan", "simulate"]

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64] | NDArray[np.uint32]
Law: TypeAlias = Literal["poisson", "weibull", "pareto"]
Method: TypeAlias = Literal[
    "optimal",
    "azar",
    "greedy",
    "select",
    "uniform",
    "proportional",
    "weighted-uniform",
    "weighted-proportional",
]
Objective: TypeAlias = Literal["freshness", "age", "harmonic"]
Policy: TypeAlias = Literal[
    "carousel",
    "index",
    "psp",
    "mp2",
    "m-wolf",
    "random",
    "uniform",
    "proportional",
    "nutch",
    "stormcrawler",
    "hints",
    "siblings",
]

class Assumed(TypedDict):
    pages: int
    changes_per_day: float

class PlannedPages(TypedDict):
    crawls: Floats
    freshness: Floats
    age_s: Floats

class PlannedHosts(TypedDict):
    cap: Floats
    crawls: Floats

class Plan(TypedDict):
    method: Method
    objective: Objective
    interval_s: float
    crawls: float
    value: float
    bound: float
    holds: Literal["long-run", "one-interval"]
    long_run_value: float
    assumed: NotRequired[Assumed]
    harmonic: NotRequired[float]
    harmonic_bound: NotRequired[float]
    price: float
    pages: PlannedPages
    hosts: PlannedHosts
    given_up: NDArray[np.int64]

class Simulation(TypedDict):
    policy: Policy
    freshness: float
    staleness: float
    age_s: float
    fetches: int
    changes: int
    changes_seen: int
    politeness_violations: int
    limit_violations: int
    objective: Literal["freshness", "age", "harmonic"]
    bound: float
    optimum: float
    freshness_plus_minus: float | None
    age_s_plus_minus: float | None
    harmonic_staleness: float
    late_s: float
    errors: int
    seed: int
    seeds: int

class FittedLaw(TypedDict):
    model: Literal["poisson", "weibull", "pareto", "quasi"]
    changes_per_day: float
    shape: float | None
    updates: str | None
    gaps: int
    deviation: float
    fit: Literal["good", "poor", "few"]

Estimates = TypedDict(
    "Estimates",
    {
        "page": NDArray[np.int64],
        "visits": NDArray[np.int64],
        "changes": NDArray[np.int64],
        "naive": Floats,
        "regular": Floats,
        "irregular": Floats,
        "last_modified": Floats,
        "online": Floats,
        "low": Floats,
        "high": Floats,
        "class": list[str | None],
        "class_probability": Floats,
        "law": list[FittedLaw | None],
    },
)

def plan(
    changes_per_day: Floats,
    crawls: float,
    *,
    weight: Floats | None = None,
    host: Whole | None = None,
    politeness_s: float | Floats | None = None,
    interval_s: float = 86_400.0,
    model: Law | NDArray[np.uint8] | None = None,
    shape: float | Floats | None = None,
    min: Whole | None = None,
    max: Whole | None = None,
    method: Method = "optimal",
    objective: Objective = "freshness",
    assume: float | None = None,
) -> Plan: ...
def simulate(
    changes_per_day: Floats,
    *,
    days: float,
    crawls_per_day: float,
    weight: Floats | None = None,
    host: Whole | None = None,
    politeness_s: float | Floats | None = None,
    model: Law | NDArray[np.uint8] | None = None,
    shape: float | Floats | None = None,
    assume: float | None = None,
    crawlers: int | None = None,
    fetch_time_s: float = 0.1,
    failures: float = 0.0,
    learn: bool = False,
    policy: Policy | None = None,
    seed: int = 1,
    seeds: int = 5,
    warm_up_s: float | None = None,
) -> Simulation: ...
def estimate(
    page: Whole,
    time_s: Floats,
    changed: NDArray[np.bool_],
    *,
    last_modified_s: Floats | None = None,
    classes_s: Floats | None = None,
) -> Estimates: ...
