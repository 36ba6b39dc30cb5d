#!/usr/bin/env python3
"""A small client with the standard library of Python. Copy what you need.

It uses the service at NOTES_URL, with the key in NOTES_KEY if there is one.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("NOTES_URL", "http://127.0.0.1:3000")
KEY = os.environ.get("NOTES_KEY")
ATTEMPTS = 6


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
    """Returns the JSON of an answer, or None if it has none."""
    try:
        return json.load(answer)
    except ValueError:
        return None


def call(method, path, record=None):
    """Sends a request and returns the record of the answer, or None if it has none. Raises Problem."""
    headers = {}
    if KEY:
        headers["authorization"] = f"Bearer {KEY}"
    if record is not None:
        headers["content-type"] = "application/json"
    body = None if record is None else json.dumps(record).encode()
    for attempt in range(1, ATTEMPTS + 1):
        request = urllib.request.Request(URL + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                if answer.status == 204:
                    return None
                said = json_of(answer)
                if said is None:
                    raise Problem(answer.status, said)
                return said
        except urllib.error.HTTPError as error:
            # After a 429 or 503, the service says how many seconds to wait. A proxy may send a date instead.
            if error.code not in (429, 503) or attempt == ATTEMPTS:
                raise Problem(error.code, json_of(error)) from None
            seconds = error.headers.get("retry-after", "")
            time.sleep(int(seconds) if seconds.isdecimal() else 1)


def everything(path, limit=2):
    """Yields all records of a list, page by page."""
    offset, total = 0, 1
    while offset < total:
        page = call("GET", f"{path}?limit={limit}&offset={offset}")
        yield from page["items"]
        offset, total = offset + limit, page["total"]


def problem_of(method, path, record=None):
    """Sends a request that must fail, and returns its problem."""
    try:
        call(method, path, record)
    except Problem as problem:
        return problem
    raise AssertionError("there should have been a problem")


def main():
    text = 'Milk 🥛\nBread "and butter"\nC:\\apples'
    titles = ["Shopping list 🛒", "Second", "Third", "Fourth", "Fifth"]
    first, second, *_ = [call("POST", "/notes", {"title": title, "body": text}) for title in titles]
    read = call("GET", f"/notes/{first['id']}")
    assert read["body"] == text, "the text came back changed"

    # Send the whole record back: the service ignores members that it does not know, such as the id.
    read["title"] += " ✅"
    call("PUT", f"/notes/{first['id']}", read)

    tag = call("POST", "/tags", {"name": "errands"})
    call("POST", f"/notes/{first['id']}/comments", {"body": "Oat milk,\nplease 🙏"})
    call("DELETE", f"/notes/{second['id']}")

    assert problem_of("GET", f"/notes/{second['id']}").slug == "not-found"
    refused = problem_of("POST", "/notes", {"title": " ", "body": "b"})
    assert refused.slug == "validation-failed", refused
    for error in refused.errors:
        print(f"refused: {error['field']} {error['detail']}")

    titles = [note["title"] for note in everything("/notes")]
    print(f"{len(titles)} notes: {', '.join(titles)}; tag {tag['name']}")


if __name__ == "__main__":
    # Print emoji even if the locale is not UTF-8.
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        main()
    except Problem as problem:
        sys.exit(f"notes.py: {problem}")
