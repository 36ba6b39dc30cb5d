#!/usr/bin/env python3
"""Follows the changes of the service at NOTES_URL, with the key in NOTES_KEY if there is one.

Keeps its cursor in the file `notes-cursor`.
"""
import http.client
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("NOTES_URL", "http://127.0.0.1:3000")
KEY = os.environ.get("NOTES_KEY")
FILE = "notes-cursor"


def follow():
    """Follows the changes until the stream ends."""
    cursor = open(FILE).read() if os.path.exists(FILE) else ""
    headers = {"accept": "text/event-stream"}
    if cursor:
        headers["last-event-id"] = cursor
    if KEY:
        headers["authorization"] = f"Bearer {KEY}"
    request = urllib.request.Request(f"{URL}/changes", headers=headers)
    # The service sends a comment every 15 seconds. Without one, the connection is dead.
    with urllib.request.urlopen(request, timeout=40) as stream:
        event = {}
        for line in stream:
            if line != b"\n":
                name, _, value = line.decode().rstrip("\n").partition(": ")
                event[name] = value
                continue
            # Handle the change, here by printing it. Only then move the cursor.
            if "data" in event:
                print(event["data"], flush=True)
            elif not cursor:
                print("Here, read all records.", flush=True)
            cursor = event.get("id", cursor)
            with open(f"{FILE}.new", "w") as new:
                new.write(cursor)
            os.replace(f"{FILE}.new", FILE)
            event = {}


while True:
    seconds = ""
    try:
        follow()
    except urllib.error.HTTPError as error:
        if error.code == 410:
            os.remove(FILE)
        elif error.code == 429 or error.code >= 500:
            seconds = error.headers.get("retry-after", "")
        else:
            sys.exit(f"changes.py: {error.read().decode()}")
    except (OSError, http.client.HTTPException) as error:
        print(f"changes.py: {error}", file=sys.stderr)
    time.sleep(int(seconds) if seconds.isdecimal() else 1)
