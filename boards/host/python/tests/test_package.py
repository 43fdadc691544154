"""The package beside the program: the same list gives the same figures, and arrays are not copied.

`cargo xtask test --step 'Python package'` runs it; DUNLIN is the program.
"""

import csv
import doctest
import inspect
import io
import json
import os
import subprocess
import threading
import types
import typing
from pathlib import Path

import numpy as np
import pytest

import dunlin

PROGRAM = os.environ["DUNLIN"]
HOSTS = ["a.test", "b.test", "c.test"]
MODELS = ["poisson", "weibull", "pareto"]


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def asked(*arguments):
    code, out, err = program(*arguments, "--format", "json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture
def web(tmp_path):
    """30 pages on three hosts, of all laws, some without a rate; as arrays and as a file."""
    random = np.random.default_rng(7)
    count = 30
    arrays = {
        "changes_per_day": random.exponential(2.0, count).round(6),
        "weight": random.uniform(0.5, 4.0, count).round(6),
        # In the order in which hosts come, as the program numbers them.
        "host": np.arange(count) % 3,
        "model": (np.arange(count) % 7 % 3).astype(np.uint8),
        "shape": np.full(count, 1.5),
    }
    arrays["changes_per_day"][[4, 11]] = np.nan
    arrays["model"][[4, 11]] = dunlin.POISSON
    rows = io.StringIO()
    table = csv.writer(rows)
    table.writerow(["url", "weight", "changes_per_day", "model", "shape"])
    for page in range(count):
        rate = arrays["changes_per_day"][page]
        law = arrays["model"][page]
        table.writerow(
            [
                f"http://{HOSTS[arrays['host'][page]]}/{page}",
                arrays["weight"][page],
                "" if np.isnan(rate) else rate,
                MODELS[law],
                "" if law == dunlin.POISSON else 1.5,
            ]
        )
    path = tmp_path / "pages.csv"
    path.write_text(rows.getvalue())
    return arrays, path


def assert_same(found, expected):
    """The same, as far as decimals and null for infinity tell."""
    expected = np.array([np.inf if one is None else one for one in expected], dtype=float)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def assert_close(found, expected):
    """Numbers to the last digits, everything else exactly."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=1e-12)
        elif value is None and isinstance(found[name], float):
            # JSON has no infinity.
            value = np.inf
        assert found[name] == value, name


@pytest.mark.parametrize(
    "method", ["optimal", "azar", "greedy", "select", "uniform", "weighted-proportional"]
)
@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
def test_plans_are_the_programs(web, method, objective):
    arrays, path = web
    options = ["--crawls", 60, "--interval", "12h", "--politeness", "30m"]
    shown = asked("plan", path, *options, "--method", method, "--objective", objective)
    plan = dunlin.plan(
        **arrays,
        crawls=60,
        interval_s=43_200,
        politeness_s=1_800.0,
        method=method,
        objective=objective,
    )
    assert set(plan) == set(shown)
    scalars = plan.keys() - {"pages", "hosts", "given_up", "assumed"}
    assert_close({name: plan[name] for name in scalars}, {name: shown[name] for name in scalars})
    assert_close(plan["assumed"], shown["assumed"])
    for name, column in plan["pages"].items():
        assert_same(column, [page[name] for page in shown["pages"]])
    for name, column in plan["hosts"].items():
        assert_same(column, [host[name] for host in shown["hosts"]])
    urls = [page["url"] for page in shown["pages"]]
    assert [urls[page] for page in plan["given_up"]] == [up["url"] for up in shown["given_up"]]


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("policy", ["carousel", "index", "uniform", "m-wolf"])
def test_simulations_are_the_programs(web, policy, learn):
    arrays, path = web
    options = ["--days", 3, "--crawls-per-day", 200, "--politeness", "5m", "--seeds", 2]
    options += ["--failures", 0.05, "--policy", policy, *(["--learn"] if learn else [])]
    shown = asked("simulate", path, *options)
    found = dunlin.simulate(
        **arrays,
        days=3,
        crawls_per_day=200,
        politeness_s=300.0,
        seeds=2,
        failures=0.05,
        policy=policy,
        learn=learn,
    )
    assert list(found) == list(shown)
    assert_close(found, shown)


def test_estimates_are_the_programs(tmp_path):
    random = np.random.default_rng(3)
    count = 400
    page = random.integers(0, 5, count)
    time = np.cumsum(random.exponential(20_000, count)).round(3)
    changed = random.random(count) < 0.3
    modified = np.where(random.random(count) < 0.5, (time - 5_000).clip(0), np.nan)
    rows = ["url,time_s,changed,last_modified_s"]
    for visit in range(count):
        date = "" if np.isnan(modified[visit]) else modified[visit]
        rows.append(f"http://{page[visit]}.test/,{time[visit]},{int(changed[visit])},{date}")
    path = tmp_path / "history.csv"
    path.write_text("\n".join(rows) + "\n")
    shown = asked("estimate", path)
    found = dunlin.estimate(page, time, changed, last_modified_s=modified)
    assert [f"http://{page}.test/" for page in found["page"]] == [row["url"] for row in shown]
    assert set(found) - {"page"} == set(shown[0]) - {"url"}
    for name in found.keys() - {"page", "law", "class"}:
        expected = [np.nan if row[name] is None else row[name] for row in shown]
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, err_msg=name)
    assert found["class"] == [row["class"] for row in shown]
    for law, row in zip(found["law"], shown):
        assert (law is None) == (row["law"] is None)
        if law is not None:
            assert_close(law, row["law"])


def test_a_million_pages_are_planned_where_they_lie():
    count = 1_000_000
    random = np.random.default_rng(1)
    arrays = {
        "changes_per_day": random.exponential(1.0, count),
        "weight": random.random(count),
        "host": random.integers(0, 1_000, count).astype(np.uint32),
    }
    for array in arrays.values():
        array.setflags(write=False)
    before = resident_mb()
    plan = dunlin.plan(**arrays, crawls=500_000, politeness_s=60.0)
    grown = peak_mb() - before
    assert 0 < plan["value"] <= plan["bound"] + 1e-9
    assert plan["pages"]["crawls"].sum() == pytest.approx(500_000, rel=1e-6)
    assert plan["hosts"]["crawls"].max() <= 1_440 + 1e-6
    # Three new columns of 8 MB; copies of the three that came in would be 20 MB more, and a record
    # of 48 bytes a page 48.
    assert grown < 36, f"{grown} MB more"
    for column in plan["pages"].values():
        assert column.flags.owndata or column.base is not None
        assert not any(np.shares_memory(column, array) for array in arrays.values())


def resident_mb():
    """Memory in use, with the peak set back to it."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS:")


def peak_mb():
    return memory("VmHWM:")


def memory(line):
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = [text for text in lines if text.startswith(line)]
    return int(found.split()[1]) / 1024


def test_views_are_read_and_copies_are_not_made_behind_ones_back():
    rates = np.arange(1.0, 11.0)
    window = rates[2:7]
    assert dunlin.plan(window, 5)["pages"]["crawls"].size == 5
    with pytest.raises(ValueError, match=r"changes_per_day: .*numpy.ascontiguousarray"):
        dunlin.plan(rates[::2], 5)
    with pytest.raises(TypeError, match=r"weight: found an array of int64 .* float64"):
        dunlin.plan(rates, 5, weight=np.ones(10, dtype=int))
    with pytest.raises(TypeError, match=r"changes_per_day: found a list"):
        dunlin.plan([1.0, 2.0], 5)


def test_python_goes_on_meanwhile():
    rates = np.random.default_rng(1).exponential(1.0, 300_000)
    turns = 0
    done = threading.Event()

    def compute():
        dunlin.plan(rates, 100_000.0)
        done.set()

    worker = threading.Thread(target=compute)
    worker.start()
    # With the lock held this loop would not get a turn before the end.
    while not done.wait(0.001):
        turns += 1
    worker.join()
    assert turns > 3


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"changes_per_day": np.array([])}, "found no pages"),
        ({"changes_per_day": np.array([1.0, -1.0])}, "page 1: found change rate -1"),
        ({"weight": np.array([1.0, np.inf])}, "page 1: found weight inf"),
        ({"weight": np.ones(3)}, "weight: found 3 elements, expected 2, one a page"),
        ({"host": np.array([0, 2])}, r"host\[1\]: found 2, expected an index below 2"),
        ({"host": np.array([0, -1])}, r"host\[1\]: found -1, expected a whole number"),
        ({"min": np.array([0, 9])}, "the pages need 9 crawls at least"),
        ({"crawls": 0.0}, "found a budget of 0 crawls"),
        ({"crawls": 1.5, "method": "greedy"}, "found a budget of 1.5 crawls"),
        ({"method": "best"}, "method: unknown variant `best`, expected one of `greedy`"),
        ({"interval_s": 0.0}, "interval_s: found 0"),
        ({"politeness_s": -1.0}, "politeness_s: found -1"),
        ({"model": "weibull"}, "shape: found none"),
        ({"model": "weibull", "shape": 0.0}, "page 0: found shape 0"),
        ({"model": np.array([0, 9], dtype=np.uint8)}, r"model\[1\]: found 9"),
        ({"assume": -1.0}, "assume: found -1"),
    ],
)
def test_what_is_wrong_is_named(arguments, sentence):
    sound = {"changes_per_day": np.array([1.0, 2.0]), "crawls": 5.0}
    with pytest.raises(ValueError, match=sentence):
        dunlin.plan(**{**sound, **arguments})


def test_what_no_simulation_takes_is_named():
    rates = np.array([1.0])
    with pytest.raises(ValueError, match="found days 0, expected a number above 0"):
        dunlin.simulate(rates, days=0, crawls_per_day=1)
    with pytest.raises(ValueError, match="expected at most 10000000000 changes in all"):
        dunlin.simulate(np.array([1e9]), days=300, crawls_per_day=1)
    with pytest.raises(ValueError, match="seeds: found 0"):
        dunlin.simulate(rates, days=1, crawls_per_day=1, seeds=0)
    with pytest.raises(ValueError, match=r"time_s\[1\]: found 1, expected a time not before"):
        dunlin.estimate(np.array([0, 0]), np.array([2.0, 1.0]), np.array([False, True]))


@pytest.mark.parametrize("function", [dunlin.plan, dunlin.simulate, dunlin.estimate])
def test_examples_run(function):
    examples = doctest.DocTestParser().get_doctest(
        inspect.getdoc(function), {}, function.__name__, None, 0
    )
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_the_example_of_the_readme_runs():
    readme = (Path(__file__).parents[4] / "README.md").read_text()
    example = readme.split("## In Python")[1].split("```python\n")[1].split("```")[0]
    names = {}
    exec(example, names)
    assert names["plan"]["pages"]["crawls"].size == 5


@pytest.fixture
def stub():
    """What the types say, as Python sees it."""
    folder = Path(dunlin.__file__).parent
    assert (folder / "py.typed").exists()
    names = {"__name__": "stub"}
    exec((folder / "_dunlin.pyi").read_text(), names)
    return names


@pytest.mark.parametrize("function", [dunlin.plan, dunlin.simulate, dunlin.estimate])
def test_types_name_the_same_arguments(function, stub):
    found = inspect.signature(function).parameters
    typed = inspect.signature(stub[function.__name__]).parameters
    assert list(found) == list(typed)
    for name in found:
        assert found[name].kind == typed[name].kind, name
        assert found[name].default == typed[name].default, name


def wrong(value, kind, path):
    """Where a result is not what its type says."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if typing.is_typeddict(kind) and not isinstance(value, dict):
        yield f"{path}: {value!r} is no {kind}"
    elif typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        missing, unknown = kind.__required_keys__ - set(value), set(value) - set(hints)
        yield from (f"{path} lacks {name}" for name in sorted(missing))
        yield from (f"{path} has {name}, which has no type" for name in sorted(unknown))
        for name in set(value) & set(hints):
            yield from wrong(value[name], hints[name], f"{path}.{name}")
    elif origin in (typing.Union, types.UnionType):
        if all(list(wrong(value, one, path)) for one in of):
            yield f"{path}: {value!r} is none of {kind}"
    elif origin is np.ndarray:
        (element,) = typing.get_args(of[1])
        if not isinstance(value, np.ndarray) or value.dtype != element:
            yield f"{path}: {value!r} is no array of {element}"
    elif origin is list:
        for place, one in enumerate(value):
            yield from wrong(one, of[0], f"{path}[{place}]")
    elif origin is typing.Literal:
        if value not in of:
            yield f"{path}: {value!r} is none of {of}"
    elif type(value) is not kind:
        yield f"{path}: {value!r} is no {kind}"


def test_results_are_what_their_types_say(web, stub):
    arrays, _ = web
    objectives = ["freshness", "age", "harmonic"]
    plans = [dunlin.plan(**arrays, crawls=60, objective=objective) for objective in objectives]
    limits = {"days": 2, "crawls_per_day": 100}
    simulations = [dunlin.simulate(**arrays, **limits, seeds=seeds) for seeds in (1, 2)]
    visits = np.arange(300.0) * 10_000
    changed = np.random.default_rng(5).random(300) < 0.5
    estimates = [
        dunlin.estimate(np.zeros(300, dtype=int), visits, changed),
        dunlin.estimate(np.zeros(2, dtype=int), visits[:2], changed[:2], last_modified_s=visits[:2]),
    ]
    for name, results in {"Plan": plans, "Simulation": simulations, "Estimates": estimates}.items():
        kind = stub[name]
        assert [line for one in results for line in wrong(one, kind, name)] == []
        # Every key that is typed is there in one of them.
        assert set().union(*results) == set(typing.get_type_hints(kind))
    less = {name: plans[0][name] for name in plans[0] if name != "value"}
    assert list(wrong(less, stub["Plan"], "Plan")) == ["Plan lacks value"]
    other = {**plans[0], "price": 1, "gap": 0.5, "given_up": np.zeros(1)}
    assert len(list(wrong(other, stub["Plan"], "Plan"))) == 3
