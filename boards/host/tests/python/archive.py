"""An archive of `dunlin`, read by other people's programs.

warcio checks every record and its digests, `surt` makes the same keys of URLs, the index leads to the
records, and with `--replay` pywb serves every version to whoever asks for its moment. Prints the bodies
of responses by path, oldest first. Arguments: the archive's folder, `--replay`, and `--killed` if whoever
wrote it was: a response that was written last may lack its request then.
"""

import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import surt
from warcio.archiveiterator import ArchiveIterator

FOLDER = Path(sys.argv[1])
FILES = sorted(FOLDER.glob("*.warc.gz"))


def check():
    for file in FILES:
        done = subprocess.run([sys.executable, "-m", "warcio.cli", "check", str(file)], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stdout.strip(), (file, done.stdout, done.stderr)


def records():
    """Every response and revisit: its place, and what it holds.

    A revisit refers to a response, and each response has the request that it answers."""
    found, responses, requested, referred = {}, set(), [], set()
    for file in FILES:
        with open(file, "rb") as stream:
            iterator = ArchiveIterator(stream, check_digests="raise")
            for record in iterator:
                kind, headers = record.rec_type, record.rec_headers
                assert headers.get_header("WARC-Date") and record.format == "warc"
                if kind == "request":
                    requested.append(headers.get_header("WARC-Concurrent-To"))
                if kind == "revisit":
                    referred.add(headers.get_header("WARC-Refers-To"))
                if kind not in ("response", "revisit"):
                    continue
                body = record.raw_stream.read()
                place = (file.name, iterator.get_record_offset())
                found[place] = (kind, headers, record.http_headers, body)
                if kind == "response":
                    responses.add(headers.get_header("WARC-Record-ID"))
                    assert record.http_headers.get_header("Transfer-Encoding") is None
    assert len(set(requested)) == len(requested) and responses.issuperset(requested), requested
    assert responses == set(requested) or "--killed" in sys.argv, responses.difference(requested)
    assert referred <= responses, referred - responses
    return found


def index():
    lines = (FOLDER / "index.cdxj").read_text().splitlines()
    assert lines == sorted(lines), "the index is sorted"
    entries = []
    for line in lines:
        key, timestamp, fields = line.split(" ", 2)
        fields = json.loads(fields)
        assert key == surt.surt(fields["url"]), (key, fields["url"])
        entries.append((timestamp, fields))
    return entries


def compare(found, entries):
    """The index leads to every record, and each is one gzip member of that length."""
    assert len(entries) == len(found), (len(entries), len(found))
    for timestamp, fields in entries:
        kind, headers, _, _ = found[fields["filename"], int(fields["offset"])]
        assert (fields["mime"] == "warc/revisit") == (kind == "revisit")
        assert headers.get_header("WARC-Target-URI") == fields["url"]
        assert headers.get_header("WARC-Payload-Digest") == fields["digest"]
        moment = "".join(filter(str.isdigit, headers.get_header("WARC-Date")))
        assert moment == timestamp, (moment, timestamp)
        with open(FOLDER / fields["filename"], "rb") as stream:
            stream.seek(int(fields["offset"]))
            member = stream.read(int(fields["length"]))
        assert gzip.decompress(member).startswith(b"WARC/1.1\r\n")


def replay(entries, found):
    """pywb serves what was archived, byte for byte; of a revisit, the body it refers to."""
    with tempfile.TemporaryDirectory() as folder:
        config = {"collections": {"kept": {"index_paths": str(FOLDER / "index.cdxj"), "archive_paths": str(FOLDER) + "/"}}}
        (Path(folder) / "config.yaml").write_text(json.dumps(config))
        os.chdir(folder)
        from pywb.apps.frontendapp import FrontEndApp
        app = FrontEndApp(config_file="config.yaml")
        bodies = {(fields["url"], fields["digest"]): found[fields["filename"], int(fields["offset"])][3]
                  for _, fields in entries if fields["mime"] != "warc/revisit"}
        replayed = 0
        for timestamp, fields in entries:
            if fields.get("status") != "200":
                continue
            status, body = ask(app, f"/kept/{timestamp}id_/{fields['url']}")
            assert status.startswith("200"), (status, fields, body[:300])
            # Versions of one second cannot be told apart by their moment: it is one of them.
            same = [bodies[more["url"], more["digest"]] for other, more in entries
                    if other == timestamp and more["url"] == fields["url"]]
            assert body in same, (fields, body)
            replayed += 1
        assert replayed > 0


def ask(app, path):
    """A request to a WSGI application."""
    answer = {}
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query, "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80", "HTTP_HOST": "127.0.0.1", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr, "REQUEST_URI": path,
    }
    body = b"".join(app(environ, lambda status, headers, *_: answer.update(status=status)))
    return answer["status"], body


check()
found, entries = records(), index()
compare(found, entries)
if "--replay" in sys.argv:
    replay(entries, found)
bodies = {}
for (_, _), (kind, headers, http, body) in sorted(found.items()):
    if kind == "response" and http.get_statuscode() == "200":
        path = urlsplit(headers.get_header("WARC-Target-URI")).path
        bodies.setdefault(path, []).append(body.decode())
print(json.dumps(bodies))
