#!/bin/sh
# A small client in the shell, with curl 7.71 or later. Copy what you need. It uses the service at NOTES_URL, with the
# key in NOTES_KEY if there is one.
set -eu
url=${NOTES_URL:-http://127.0.0.1:3000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The headers are in a file, because other users can see command lines.
: >"$work/headers"
if [ -n "${NOTES_KEY:-}" ]; then printf 'authorization: Bearer %s\n' "$NOTES_KEY" >"$work/headers"; fi

# The type of the bodies, and the entity tag that a record must have to be changed. curl omits a header without a value.
type=application/json
tag=

# call METHOD PATH [BODY]: prints the body of the answer, and writes its status to the file `status` and its entity tag to
# the file `tag`, its headers to the file `said`. After a 429 or 503, curl retries when `retry-after` allows it; it also retries if the connection breaks.
# The key makes the service create nothing twice.
call() {
  if [ $# = 3 ]; then printf '%s' "$3" >"$work/body"; set -- "$1" "$2" --data-binary "@$work/body"; fi
  method=$1 path=$2
  shift 2
  curl --silent --show-error --retry 5 --retry-all-errors --header "@$work/headers" --request "$method" "$@" \
    --header "content-type: $type" --header "if-match: $tag" --etag-save "$work/tag" --dump-header "$work/said" \
    --header "idempotency-key: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
    --output "$work/answer" --write-out '%{http_code}' "$url$path" >"$work/status" 2>"$work/errors" || {
    tail -n 1 "$work/errors" >&2
    exit 1
  }
  cat "$work/answer"
  echo
}

# expect STATUS METHOD PATH [BODY]: does the same, and ends the script if the answer has another status.
expect() {
  wanted=$1
  shift
  : >"$work/answer"
  call "$@"
  status=$(cat "$work/status")
  if [ "$status" != "$wanted" ]; then
    printf '%s %s: %s instead of %s: %s\n' "$1" "$2" "$status" "$wanted" "$(cat "$work/answer")" >&2
    exit 1
  fi
}

# Prints its argument as a JSON string, in which backslashes, quotes, tabs and line ends are escaped.
json() {
  printf '"'
  printf '%s\n' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
  printf '"'
}

# A record begins with its id, a problem with its type.
id_of() { sed -n 's/^{"id":\([0-9]*\).*/\1/p'; }
slug_of() { sed -n 's/^{"type":"[^"]*\/\([^"\/]*\)".*/\1/p'; }

text='Milk 🥛
Bread "and butter"
C:\apples'
note() { printf '{"title":%s,"body":%s}' "$(json "$1")" "$(json "$text")"; }

expect 201 POST /notes "$(note 'Shopping list 🛒')" >"$work/made"
first=$(id_of <"$work/made")
# Create several at once, each in its own line: all of them or none.
type=application/x-ndjson
expect 201 POST /notes "$(for title in Second Third Fourth Fifth; do note "$title"; echo; done)" >"$work/made"
second=$(id_of <"$work/made" | head -n 1)
type=application/json

# Send the whole record back, unless somebody else has changed it since. The service ignores members that it does not
# know, such as the id.
expect 200 GET "/notes/$first" >"$work/read"
sed 's/ 🛒"/ 🛒 ✅"/' "$work/read" >"$work/edited"
tag=$(cat "$work/tag")
expect 200 PUT "/notes/$first" "$(cat "$work/edited")" >/dev/null
expect 412 PUT "/notes/$first" "$(cat "$work/edited")" >"$work/late"
[ "$(slug_of <"$work/late")" = precondition-failed ]
tag=

expect 201 POST /tags '{"name":"errands"}' >"$work/made"
errands=$(id_of <"$work/made")
expect 204 PUT "/notes/$first/tags/$errands" >/dev/null
expect 201 POST "/notes/$first/comments" "{\"body\":$(json 'Oat milk,
please 🙏')}" >/dev/null
expect 204 DELETE "/notes/$second" >/dev/null

expect 404 GET "/notes/$second" >"$work/gone"
[ "$(slug_of <"$work/gone")" = not-found ]
expect 422 POST /notes '{"title":" ","body":"b"}' >"$work/refused"
[ "$(slug_of <"$work/refused")" = validation-failed ]
sed -n 's/.*"errors":\[{"field":"\([^"]*\)".*"detail":"\([^"]*\)"}\]}$/refused: \1 \2/p' "$work/refused"

# titles_of NAME PATH QUERY: prints the titles of the notes of a list. Reads it page by page; the query chooses the first.
titles_of() {
  name=$1 list=$2 query=$3
  : >"$work/titles"
  while [ -n "$query" ]; do
    expect 200 GET "$list?$query" >"$work/page"
    # Put each record on its own line. No text can look like the start of a record, because its quotes are escaped.
    sed 's/{"id":/\
&/g' "$work/page" | sed -n 's/^{"id":[0-9]*,"title":"\([^"]*\)".*/\1/p' >>"$work/titles"
    # The link is absolute. Its query is enough, and the key is sent to no other host.
    query=$(sed -n 's/^[Ll]ink: <[^>]*?\([^>]*\)>; rel="next".*/\1/p' "$work/said")
  done
  printf '%s: %s\n' "$name" "$(paste -s -d, - <"$work/titles" | sed 's/,/, /g')"
}

# With `after`, no note is missed if another client deletes one meanwhile.
titles_of notes /notes 'after=0&limit=2'
titles_of errands "/tags/$errands/notes" order=-updated
titles_of found /notes "q=$(printf %s 'shop* "bread and butter" -fifth' | sed -e 's/ /%20/g' -e 's/"/%22/g')"
