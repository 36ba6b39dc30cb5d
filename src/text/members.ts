// The texts that stand for notes and comments, and what they say: the title and the body of a note.
// A line ends with LF, CR LF or CR; nothing else ends one, such as U+2028.
import { MAX_TITLE_LENGTH } from '../contract/generated.js';
import type { Members } from '../resources/resource.ts';

/** A first line `# TITLE`. As in CommonMark, a space or a tab follows the `#`. */
const HEADING = /^#[ \t]/;

/** The end of the first line, and an empty line after it. */
const LINE_ENDS = /^(?:\r\n|\r|\n){1,2}/;

/** A blank text has no title, but only its body shall violate a bound. */
const NO_TITLE = '-';

/** Returns the note that a text stands for; `title` is one that the request names. */
export function noteIn(text: string, title?: string): { title: string; body: string } {
  if (title !== undefined) return { title, body: text };
  const end = text.search(/[\r\n]|$/);
  const heading = HEADING.test(text) ? text.slice(1, end).trim() : '';
  if (heading === '') return { title: firstLineOf(text), body: text };
  const rest = text.slice(end).replace(LINE_ENDS, '');
  // A note needs a body.
  return { title: heading, body: /\S/.test(rest) ? rest : text };
}

/** Returns the first line with more than `#` and white space, or else the first with any text. */
function firstLineOf(text: string): string {
  const start = [/[^#\s]/, /\S/].map((each) => text.search(each)).find((found) => found !== -1);
  if (start === undefined) return NO_TITLE;
  // A code point has at most two units, and the line may be very long.
  const [line = ''] = text.slice(start, start + 2 * MAX_TITLE_LENGTH).split(/[\r\n]/, 1);
  return [...line].slice(0, MAX_TITLE_LENGTH).join('').trimEnd();
}

/** Returns a note in Markdown, which `noteIn` reads as the same note. */
export function markdownOf({ title, body }: Members): string {
  return `# ${String(title).replace(/\r\n|\r|\n/g, ' ')}\n\n${body}`;
}

/** Returns a body in Markdown: readers drop a byte order mark at its start, so it needs another. */
export function bodyInMarkdown({ body }: Members): string {
  return String(body).replace(/^\ufeff/, '$&$&');
}
