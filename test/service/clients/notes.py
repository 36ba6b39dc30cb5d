#!/usr/bin/env python3
"""A small client with the standard library of Python. Copy what you need.

It uses the service at NOTES_URL, with the key in NOTES_KEY if there is one.
"""
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

URL = os.environ.get("NOTES_URL", "http://127.0.0.1:3000")
KEY = os.environ.get("NOTES_KEY")
ATTEMPTS = 6
LINES = "application/x-ndjson"


class Problem(Exception):
    """An error that the service reports. `slug` is the last segment of its type; programs distinguish problems by it.

    If a proxy has answered instead of the service, only the status is known.
    """

    def __init__(self, status, said):
        said = said if isinstance(said, dict) else {}
        super().__init__(said.get("detail", f"the answer has status {status} and is not from the service"))
        self.slug = said.get("type", "about:blank").rsplit("/", 1)[-1]
        self.errors = said.get("errors", [])


def json_of(answer):
    """Returns the JSON of an answer, a list if it has lines of JSON, or None if it has none."""
    try:
        if answer.headers["content-type"] == LINES:
            return [json.loads(line) for line in answer]
        return json.load(answer)
    except ValueError:
        return None


def request_of(method, path, record, tag):
    """Returns a request: a record is sent as JSON, a list of records as lines of JSON."""
    headers, body = {}, None
    if KEY:
        headers["authorization"] = f"Bearer {KEY}"
    if tag is not None:
        headers["if-match"] = tag
    if method == "POST":
        # With a key of its own, a POST can be repeated: the service creates nothing twice.
        headers["idempotency-key"] = str(uuid.uuid4())
    if isinstance(record, list):
        headers["content-type"] = LINES
        body = "\n".join(map(json.dumps, record)).encode()
    elif record is not None:
        headers["content-type"] = "application/json"
        body = json.dumps(record).encode()
    return urllib.request.Request(URL + path, body, headers, method=method)


def call(method, path, record=None, tag=None):
    """Sends a request, and returns the record of the answer (None if it has none) and its headers.

    If there is a `tag`, only the record that has it is changed. Raises Problem.
    """
    request = request_of(method, path, record, tag)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                said = json_of(answer)
                if said is None and answer.status != 204:
                    raise Problem(answer.status, said)
                return said, answer.headers
        except urllib.error.HTTPError as error:
            # After a 429 or 503, the service says how many seconds to wait. A proxy may send a date instead.
            if error.code not in (429, 503) or attempt == ATTEMPTS:
                raise Problem(error.code, json_of(error)) from None
            seconds = error.headers.get("retry-after", "")
            time.sleep(int(seconds) if seconds.isdecimal() else 1)
        except OSError:
            # The connection broke. Whether the request was performed is unknown, so it is repeated.
            if attempt == ATTEMPTS:
                raise
            time.sleep(1)


def everything(path, query):
    """Yields all records of a list, page by page. `query` chooses the first page."""
    while query:
        page, headers = call("GET", f"{path}?{query}")
        yield from page["items"]
        # The link is absolute. Its query is enough, and the key is sent to no other host.
        link = re.search(r'<[^>]*\?([^>]*)>; rel="next"', headers["link"])
        query = link and link[1]


def titles_of(path, query):
    """Returns the titles of the notes of a list."""
    return ", ".join(note["title"] for note in everything(path, query))


def problem_of(method, path, record=None, tag=None):
    """Sends a request that must fail, and returns its problem."""
    try:
        call(method, path, record, tag)
    except Problem as problem:
        return problem
    raise AssertionError("there should have been a problem")


def main():
    text = 'Milk 🥛\nBread "and butter"\nC:\\apples'
    first, _ = call("POST", "/notes", {"title": "Shopping list 🛒", "body": text})
    # Create several at once: all of them or none.
    titles = ["Second", "Third", "Fourth", "Fifth"]
    (second, *_), _ = call("POST", "/notes", [{"title": title, "body": text} for title in titles])
    read, headers = call("GET", f"/notes/{first['id']}")
    assert read["body"] == text, "the text came back changed"

    # Send the whole record back, unless somebody else has changed it since. The service ignores members that it does not
    # know, such as the id.
    read["title"] += " ✅"
    tag = headers["etag"]
    call("PUT", f"/notes/{first['id']}", read, tag)
    assert problem_of("PUT", f"/notes/{first['id']}", read, tag).slug == "precondition-failed"

    errands, _ = call("POST", "/tags", {"name": "errands"})
    call("PUT", f"/notes/{first['id']}/tags/{errands['id']}")
    call("POST", f"/notes/{first['id']}/comments", {"body": "Oat milk,\nplease 🙏"})
    call("DELETE", f"/notes/{second['id']}")

    assert problem_of("GET", f"/notes/{second['id']}").slug == "not-found"
    refused = problem_of("POST", "/notes", {"title": " ", "body": "b"})
    assert refused.slug == "validation-failed", refused
    for error in refused.errors:
        print(f"refused: {error['field']} {error['detail']}")

    # With `after`, no note is missed if another client deletes one meanwhile.
    print(f"notes: {titles_of('/notes', 'after=0&limit=2')}")
    tagged = titles_of(f"/tags/{errands['id']}/notes", "order=-updated")
    print(f"{errands['name']}: {tagged}")
    words = urllib.parse.urlencode({"q": 'shop* "bread and butter" -fifth'})
    print(f"found: {titles_of('/notes', words)}")


if __name__ == "__main__":
    # Print emoji even if the locale is not UTF-8.
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        main()
    except Problem as problem:
        sys.exit(f"notes.py: {problem}")
