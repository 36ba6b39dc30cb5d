#!/usr/bin/env node
// Follows the changes of the service at NOTES_URL, with the key in NOTES_KEY if there is one. Keeps
// its cursor in the file `notes-cursor`. Needs Node 20 or later.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const url = process.env.NOTES_URL ?? 'http://127.0.0.1:3000';
const key = process.env.NOTES_KEY;
const file = 'notes-cursor';

/** Follows the changes until the stream ends. Resolves with the seconds to wait before the next. */
async function follow() {
  let cursor = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const headers = {
    accept: 'text/event-stream',
    ...(cursor && { 'last-event-id': cursor }),
    ...(key && { authorization: `Bearer ${key}` }),
  };
  // The service sends a comment every 15 seconds. Without one, the connection is dead.
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error('nothing came for 40 s')), 40_000);
  const answer = await fetch(`${url}/changes`, { headers, signal: silence.signal });
  if (answer.status === 410) return rmSync(file);
  if (answer.status === 429 || answer.status >= 500) return answer.headers.get('retry-after');
  if (!answer.ok) {
    console.error(`changes.mjs: ${await answer.text()}`);
    process.exit(1);
  }
  let text = '';
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    timer.refresh();
    const events = `${text}${part}`.split('\n\n');
    text = events.pop();
    for (const event of events) {
      const next = /^id: (.*)$/m.exec(event)?.[1];
      if (next === undefined) continue; // It is a comment.
      const change = /^data: ([^\n]*)/m.exec(event)?.[1];
      // Handle the change, here by printing it. Only then move the cursor.
      if (change) console.log(change);
      else if (cursor === '') console.log('Here, read all records.');
      writeFileSync(`${file}.new`, next);
      renameSync(`${file}.new`, file);
      cursor = next;
    }
  }
}

for (;;) {
  // When the connection breaks, and if a change could not be handled, try again.
  const seconds = await follow().catch((error) => console.error(`changes.mjs: ${error.message}`));
  await new Promise((resolve) => setTimeout(resolve, 1_000 * (Number(seconds) || 1)));
}
