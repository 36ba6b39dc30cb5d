"""The client that openapi-generator generates, used against the service whose URL is the argument."""

import sys

from notes_client import ApiClient, Configuration, NoteInput, NotesApi
from notes_client.exceptions import ApiException, NotFoundException

LARGE = 5_000_000_000

notes = NotesApi(ApiClient(Configuration(host=sys.argv[1])))

spaced = notes.list_notes().items[0]
assert (spaced.id, spaced.title, spaced.body) == (LARGE, " starts with a space", "\n- a list"), spaced

created = notes.create_note(NoteInput(title=" from Python", body="\tbody"))
assert created.id > LARGE and created.title == " from Python", created
assert notes.get_note(created.id) == created

try:
    notes.get_note(42)
    raise SystemExit("note 42 must not exist")
except NotFoundException as error:
    assert error.data.status == 404 and error.data.type.endswith("/problems/not-found"), error

try:
    notes.get_note(LARGE, _headers={"expect": "a miracle"})
    raise SystemExit("the expectation must fail")
except ApiException as error:
    assert error.status == 417 and error.data.status == 417, error
