"""The client that openapi-generator generates, used against the service whose URL is the argument."""

import sys

from notes_client import ApiClient, Configuration, NoteInput, NotePatch, NotesApi
from notes_client.exceptions import ApiException, NotFoundException

LARGE = 5_000_000_000

notes = NotesApi(ApiClient(Configuration(host=sys.argv[1])))

spaced = notes.list_notes().items[0]
assert (spaced.id, spaced.title, spaced.body) == (LARGE, " starts with a space", "\n- a list"), spaced

created = notes.create_note(NoteInput(title=" from Python", body="\tbody"))
assert created.id > LARGE and created.title == " from Python", created
read = notes.get_note(created.id)
assert (read.id, read.title, read.body) == (created.id, created.title, created.body), read

tag = notes.get_note_with_http_info(created.id).headers["etag"]
patched = notes.patch_note(created.id, NotePatch(title="changed from Python"), if_match=tag)
assert (patched.title, patched.body) == ("changed from Python", "\tbody"), patched
try:
    notes.patch_note(created.id, NotePatch(body="b"), if_match=tag)
    raise SystemExit("the tag is an old one")
except ApiException as error:
    assert error.status == 412 and error.data.type.endswith("/problems/precondition-failed"), error

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

name = "Python/Küche & Bad 100%#1?.md"
put = notes.put_named_note(name, NoteInput(title="named", body="body"))
named = notes.get_named_note(name, include=["name"])
assert (named.id, named.name) == (put.id, name), named
