"""What `--format json` and `--format csv` print, read by other people's programs.

Every JSON document is held against its schema, and every CSV table is loaded by pandas and compared
with the JSON beside it: the same names, in the same order, with the same values, and numbers that
are numbers. Arguments: the program `dunlin`, the folder of schemas, that of a probe's recorded log, and a key that
signs lists.
"""

import http.server
import io
import json
import math
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from pathlib import Path

import jsonschema
import pandas

DUNLIN, SCHEMAS, RECORDED, KEY = sys.argv[1], *map(Path, sys.argv[2:])

PAGES = """\
url,name,weight,changes_per_day
http://a.test/,"Home, sweet",2,1.5
http://a.test/news,News,1,24
http://b.test/,,1,
"""
HISTORY = """\
url,time_s,changed,last_modified_s
http://a.test/,0,0,
http://a.test/,86400,1,80000
http://a.test/,172800,0,80000
"""
ROBOTS = "User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n"


def dunlin(*arguments):
    done = subprocess.run([DUNLIN, *arguments], capture_output=True, text=True)
    assert done.returncode in (0, 1), (arguments, done.stderr)
    return done.stdout


def same(left, right):
    """Is a cell of CSV what JSON says? Nothing is no number in both."""
    if right is None:
        return isinstance(left, float) and math.isnan(left)
    if isinstance(right, bool):
        return bool(left) == right
    if isinstance(right, (int, float)):
        return math.isclose(float(left), right, rel_tol=1e-6, abs_tol=1e-9)
    return left == right


def check(schema, *arguments, rows=lambda document: document):
    document = json.loads(dunlin(*arguments, "--format", "json"))
    described = json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(described)
    jsonschema.validate(document, described)
    fields = rows(document)
    fields = fields if isinstance(fields, list) else [fields]
    table = pandas.read_csv(io.StringIO(dunlin(*arguments, "--format", "csv")))
    assert list(table.columns) == list(fields[0]), (arguments, list(table.columns))
    assert len(table) == len(fields), arguments
    for (_, line), row in zip(table.iterrows(), fields):
        for name, value in row.items():
            assert same(line[name], value), (arguments, name, line[name], value)
    for name, value in fields[0].items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            assert pandas.api.types.is_numeric_dtype(table[name]), (arguments, name)
    print(f"{arguments[0]}: {len(table)} rows")
    return document, described


def flat(page):
    """An estimate as a row: the law that was fitted has columns of its own."""
    law = page["law"] or {}
    rest = {name: law.get(name) for name in ("shape", "updates", "fit")}
    return {**page, "law": law.get("model"), **rest}


CLASSES = {
    "intervals": ("1d", "1w", "1m", "4m", "longer"),
    "lifespans": ("1w", "1m", "4m", "longer"),
    "lifespans_doubled": ("1w", "1m", "4m", "longer"),
}


def classes(group):
    """A group of `evolution` as a row: each class has a column of its own."""
    row = {name: group[name] for name in ("name", "pages", "half_changed_days")}
    for name, ends in CLASSES.items():
        row |= {f"{name}_{end}": share for end, share in zip(ends, group[name], strict=True)}
    return row


def names(schema):
    """The names that a schema describes, of rows where it describes rows."""
    schema = schema.get("items", schema)
    schema = schema.get("oneOf", [schema])[0]
    return set(schema["properties"])


def validated(schema, documents):
    described = json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(described)
    for document in documents:
        jsonschema.validate(document, described)
        assert set(document) <= set(described["properties"]), document


with tempfile.TemporaryDirectory() as folder:
    pages, history, robots = (Path(folder) / name for name in ("pages.csv", "history.csv", "robots.txt"))
    pages.write_text(PAGES)
    history.write_text(HISTORY)
    robots.write_text(ROBOTS)
    check("check", "check", str(pages))
    plan = ("plan", str(pages), "--crawls", "12")
    for more in ((), ("--method", "greedy"), ("--objective", "harmonic"), ("--objective", "age"), ("--politeness", "1h")):
        document, schema = check("plan", *plan, *more, rows=lambda plan: plan["pages"])
        assert set(document) <= names(schema), set(document) - names(schema)
    # A page that is never visited has no age, and then the list has none either.
    clock = Path(folder) / "clock.csv"
    clock.write_text("url,model,updates,max\nhttp://a.test/,quasi,6h:0.9;18h:1,\nhttp://b.test/,,,0\n")
    for more in (("--method", "azar", "--objective", "age"), ("--objective", "harmonic")):
        document, schema = check("plan", "plan", str(clock), "--crawls", "0.5", *more, rows=lambda plan: plan["pages"])
        assert document["pages"][1]["age_s"] is None, document
    check("schedule", "schedule", str(pages), "--crawls", "12", "--method", "merge")
    simulate = ("simulate", str(pages), "--days", "3", "--crawls-per-day", "12")
    for more in ((), ("--compare",), ("--seeds", "1")):
        document, schema = check("simulate", *simulate, *more)
        row = document[0] if isinstance(document, list) else document
        assert set(row) == names(schema), set(row) ^ names(schema)
    check("estimate", "estimate", str(history), rows=lambda pages: [flat(page) for page in pages])
    check("evolution", "evolution", str(history), rows=lambda found: [classes(group) for group in found["groups"]])
    web = ("crawl-order", "--web", "200", "--pages", "20")
    check("crawl-order", *web, rows=lambda report: report["curve"])
    check("crawl-order", *web, "--model", "incremental", rows=lambda report: report["visits"])
    check("crawl-order", *web, "--crawlers", "3")
    check("fleet-simulate", "fleet", "--simulate", "2")
    check("image", "image", str(pages), "--out", str(Path(folder) / "pages.img"))
    for path in ("private/x", "public"):
        check("robots", "robots", str(robots), "--agent", "me", f"http://a.test/{path}")
    release = ("release-list", str(pages), "--key", str(KEY), "--out", str(Path(folder) / "updates"), "--format")
    first = json.loads(dunlin(*release, "json"))
    validated("release-list", [first])
    second = pandas.read_csv(io.StringIO(dunlin(*release, "csv")), dtype={"build": str})
    assert list(second.columns) == list(first), list(second.columns)
    assert second["sequence"][0] == first["sequence"] + 1 and second["bytes"][0] == first["bytes"], second
    html = Path(folder) / "page.html"
    html.write_text("<main>one, <b>two</b></main><i>seen 3 times</i>")
    for more in (("--select", "main b"), ("--ignore", "seen ", " times")):
        check("test-filter", "test-filter", "http://a.test/", "--file", str(html), *more)
    log = str(RECORDED / "probe.defmt")
    elf = ("--elf", str(RECORDED / "probe.elf"), "--pages", str(RECORDED / "pages.csv"))
    figures = ("probe", "fetches", "not_modified", "changed", "errors", "robots_denied", "bytes", "freshness",
               "freshness_reported", "optimum", "frames", "lost_frames", "lost_bytes")
    report = ("report", log, *elf, "--html", str(Path(folder) / "report.html"))
    check("report", *report, rows=lambda view: {name: view[name] for name in figures})
    heard = dunlin("monitor", "--log", log, *elf, "--plain", "--format", "json").splitlines()
    heard = [json.loads(line) for line in heard]
    validated("monitor", heard)
    table = pandas.read_csv(io.StringIO(dunlin("monitor", "--log", log, *elf, "--plain", "--format", "csv")))
    assert list(table.columns) == list(heard[0]) and len(table) == len(heard) > 10
    assert all(same(left, line["time_s"]) for left, line in zip(table["time_s"], heard))
    print(f"monitor: {len(heard)} lines")
    summary = json.loads(dunlin("monitor", "--log", log, *elf, "--summary", "--format", "json"))
    validated("report", summary if isinstance(summary, list) else [summary])
    key = Path(folder) / "sender.key"
    key.write_text("000102030405060708090a0b0c0d0e0f\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        device.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{device.getsockname()[1]}"
        document, schema = check("push", "push", "http://a.test/", "--to", where, "--key", str(key))
        assert set(document) == names(schema), set(document) ^ names(schema)
        assert device.recv(512).startswith(b"dpsh\x01")


class Site(http.server.BaseHTTPRequestHandler):
    """Pages that change, with links to others, one that is gone, and a webhook that keeps what it is told."""

    told, versions = [], 0

    def do_GET(self):
        Site.versions += 1
        links = '<a href="/more">more</a> <a href="/most">most</a>'
        body = b"" if self.path in ("/gone", "/robots.txt") else f"version {Site.versions} {links}".encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        Site.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"127.0.0.1:{server.server_port}"
    pages, feed, kept, state = (Path(folder) / name for name in ("pages.csv", "feed.atom", "kept", "state"))
    pages.write_text(f"url,name\nhttp://{base}/changing,<b>&\nhttp://{base}/gone,\n")
    lines = dunlin("run", str(pages), "--seconds", "3", "--politeness", "200ms", "--crawls-per-day", "max",
                   "--webhook", f"http://{base}/hook", "--feed", str(feed), "--archive", str(kept), "--state", str(state))
    server.shutdown()
    lines = [json.loads(line) for line in lines.splitlines()]
    validated("run", lines)
    validated("news", Site.told)
    assert {told["event"] for told in Site.told} == {"changed", "gone"}, Site.told
    atom = "{http://www.w3.org/2005/Atom}"
    root = xml.etree.ElementTree.parse(feed).getroot()
    assert root.tag == atom + "feed" and all(root.find(atom + name) is not None for name in ("id", "title", "updated", "author"))
    entries = root.findall(atom + "entry")
    titles = [entry.find(atom + "title").text for entry in entries]
    assert any(title.startswith("<b>& (http://") for title in titles), titles
    assert len(entries) == len(Site.told), (titles, Site.told)
    print(f"run: {len(lines)} lines, {len(Site.told)} messages, {len(entries)} entries")
    check("history", "history", f"http://{base}/changing", "--archive", str(kept))
    check("diff", "diff", f"http://{base}/changing", "--archive", str(kept))
    listed = lambda page: {name: value for name, value in page.items() if name != "visited"}
    check("export", "export", str(state), str(pages), rows=lambda pages: [listed(page) for page in pages])


def columns(text):
    return pandas.read_csv(io.StringIO(text))


def first(count, *command):
    """The first lines of a program that goes on."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        text = "".join(process.stdout.readline() for _ in range(count))
        process.send_signal(signal.SIGINT)
    return text


with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # As root, mosquitto becomes another user, who has to read its configuration.
    Path(folder).chmod(0o755)
    pages, broker, state = (Path(folder) / name for name in ("pages.csv", "broker", "state"))
    pages.write_text("".join(f"http://127.0.0.1:{server.server_port}/{page}\n" for page in range(4)))
    run = (DUNLIN, "run", str(pages), "--seconds", "2", "--politeness", "200ms", "--crawls-per-day", "max")
    said = subprocess.run([*run, "--format", "json"], capture_output=True, text=True, check=True).stdout
    summary = json.loads(said.splitlines()[-1])
    validated("run-summary", [summary])
    said = subprocess.run([*run, "--format", "csv"], capture_output=True, text=True, check=True).stderr
    table = columns("\n".join(said.splitlines()[-2:]))
    assert list(table.columns) == list(summary), list(table.columns)
    assert table["first_versions"][0] == summary["first_versions"] == 4, summary

    discover = ("--discover", "--places", "5", "--format", "json")
    said = subprocess.run([*run, *discover], capture_output=True, text=True, check=True).stdout
    *lines, summary = map(json.loads, said.splitlines())
    validated("run", lines)
    validated("run-summary", [summary])
    assert {"found", "admitted"} <= {line["event"] for line in lines}, lines

    kept = str(Path(folder) / "collected")
    refused = subprocess.run([DUNLIN, "collect", "--archive", kept, "--format", "csv"], capture_output=True, text=True)
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1 and not Path(kept).exists(), refused
    collector = subprocess.Popen(
        [DUNLIN, "collect", "--archive", kept, "--listen", "127.0.0.1:0", "--seconds", "60"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    where = collector.stderr.readline().split()[-1]
    subprocess.run([*run, "--collect", where], capture_output=True, check=True)
    collector.send_signal(signal.SIGINT)
    lines = [json.loads(line) for line in collector.communicate()[0].splitlines()]
    validated("run", lines)
    assert len(lines) >= 4, lines
    print(f"run --discover, collect: {len(lines)} lines")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    init = ("fleet", "init", str(broker), "--probes", "1", "--broker", f"127.0.0.1:{port}", "--format")
    written = json.loads(dunlin(*init, "json"))
    validated("fleet-init", [written])
    shutil.rmtree(broker)
    table = columns(dunlin(*init, "csv"))
    assert list(table.columns) == list(written) and table["probes"][0] == written["probes"][0], table
    planner = subprocess.Popen(
        [DUNLIN, "fleet", str(pages), "--mosquitto", str(broker), "--state", str(state), "--listen", "127.0.0.1:0",
         "--crawls-per-day", "100000", "--politeness", "200ms", "--seconds", "60"])
    probe = subprocess.Popen([DUNLIN, "run", "--fleet", f"@{broker / 'p1.url'}", "--seconds", "60"], stdout=subprocess.DEVNULL)
    try:
        status = ("fleet", "status", "--state", str(state), "--format")
        for _ in range(300):
            asked = subprocess.run([DUNLIN, *status, "json"], capture_output=True, text=True)
            view = json.loads(asked.stdout) if asked.returncode == 0 else {"probes": []}
            if any(probe["budget"] > 0 for probe in view["probes"]):
                break
            time.sleep(0.1)
        validated("fleet-status", [view])
        table = columns(dunlin(*status, "csv"))
        assert list(table.columns) == list(view["probes"][0]), list(table.columns)
        assert table["id"][0] == view["probes"][0]["id"] == "p1", table
        assert same(table["budget"][0], view["probes"][0]["budget"]), (table, view)
        for order in (("pause", "p1"), ("resume", "p1"), ("budget", "90000")):
            order = ("fleet", *order, "--state", str(state), "--format")
            answered = json.loads(dunlin(*order, "json"))
            validated("fleet-order", [answered])
            assert answered["changed"], order
            table = columns(dunlin(*order, "csv"))
            assert list(table.columns) == list(answered) and not table["changed"][0], table
        watch = (DUNLIN, "fleet", "watch", f"@{broker / 'monitor.url'}", "--seconds", "60", "--format")
        validated("fleet-status", [json.loads(first(1, *watch, "json"))])
        table = columns(first(2, *watch, "csv"))
        assert list(table.columns) == list(view["probes"][0]), list(table.columns)
        assert set(table["id"]) == {"p1"}, table
    finally:
        for process in (probe, planner):
            process.send_signal(signal.SIGINT)
            process.wait()
    server.shutdown()
    print("fleet: init, status, orders, watch")

# Every command that prints results has a schema, those in commands included. The others go on until they are told to
# stop, or print text.
BESIDES = {"collect", "completions", "help", "terms"}
OTHERS = {"run": ("run", "run-summary", "news"), "fleet": ("fleet-simulate",)}
ORDERS = {f"fleet-{order}" for order in ("pull", "add", "remove", "pause", "resume", "budget")}


def commands(*of):
    listing = dunlin(*of, "--help").split("Commands:")[1]
    listing = listing.split("Arguments:")[0].split("Options:")[0]
    return {line.split()[0] for line in listing.splitlines() if line.startswith("  ") and line[2] != " "}


def schemas(command):
    if command in ORDERS:
        return ("fleet-order",)
    return {"fleet-watch": ("fleet-status",), **OTHERS}.get(command, (command,))


inner = {f"fleet-{command}" for command in commands("fleet") - BESIDES}
needed = {name for command in (commands() - BESIDES) | inner for name in schemas(command)}
described = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")}
assert len(needed) > 20 and needed == described, needed ^ described
