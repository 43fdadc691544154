"""How often to visit each page of a collection, on numpy arrays.

``plan`` divides a budget of crawls over pages, ``simulate`` says what a policy achieves, and
``estimate`` learns change rates from what visits found. They are the planner, the simulator and
the estimators of the crate `dunlin` and its host program; names are those of ``--format json``
there. Each has an example in its docstring.
"""

from ._dunlin import estimate, plan, simulate

#: Numbers for ``model``, where pages change by different laws.
POISSON, WEIBULL, PARETO = 0, 1, 2

__all__ = ["PARETO", "POISSON", "WEIBULL", "estimate", "plan", "simulate"]
