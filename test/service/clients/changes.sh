#!/bin/sh
# Follows the changes of the service at NOTES_URL, with the key in NOTES_KEY if there is one. Keeps
# its cursor in the file `notes-cursor`. Needs curl 7.71 or later, and jq.
set -eu
url=${NOTES_URL:-http://127.0.0.1:3000}/changes
file=notes-cursor

# ask QUERY: prints the status of the answer, and writes its body to a file. Other users can see
# command lines, so the key is not in one. After 429, 503 and broken connections, curl asks again.
ask() {
  printf '%s\n' "${NOTES_KEY:+authorization: Bearer $NOTES_KEY}" |
    curl --silent --header @- --output "$file.page" --write-out '%{http_code}' --max-time 60 \
      --retry 1000000 --retry-delay 1 --retry-all-errors "$url$1"
}

while :; do
  query=
  if [ -s "$file" ]; then query="?since=$(cat "$file")&wait=30"; fi
  status=$(ask "$query")
  if [ "$status" = 410 ]; then rm "$file"; continue; fi
  if [ "$status" != 200 ]; then cat "$file.page" >&2; exit 1; fi
  if [ -z "$query" ]; then echo 'Here, read all records.'; fi
  # Handle the changes, here by printing them. Only then move the cursor.
  jq -c '.items[]' "$file.page"
  jq -r .next "$file.page" >"$file.new"
  mv "$file.new" "$file"
done
