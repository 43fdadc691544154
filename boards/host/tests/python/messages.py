"""Messages as commands, webhooks and the collector's readers get them, held against their schema.

Arguments: the schema, and a file with a message a line. Prints the events that were there.
"""

import json
import pathlib
import sys

import jsonschema

schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
validator = jsonschema.Draft202012Validator
validator.check_schema(schema)
events = set()
for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
    message = json.loads(line)
    jsonschema.validate(message, schema, cls=validator)
    unknown = set(message) - set(schema["properties"])
    assert not unknown, f"{unknown} are not described: {line}"
    events.add(message["event"])
print(json.dumps(sorted(events)))
