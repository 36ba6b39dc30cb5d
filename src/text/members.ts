// The texts that stand for notes and comments, and what they say: the title and the body of a note.
// A line ends with LF, CR LF or CR; nothing else ends one, such as U+2028.
import { MAX_TITLE_LENGTH } from '../contract/generated.js';
import type { Members } from '../resources/resource.ts';

/** A first line `# TITLE`. As in CommonMark, a space or a tab follows the `#`. */
const HEADING = /^#[ \t]/;

/** The end of the first line, and an empty line after it. */
const LINE_ENDS = /^(?:\r\n|\r|\n){1,2}/;

/** The rest of the first line that is not blank, after `#` and white space, up to the bound. */
const FIRST_LINE = new RegExp(`[^#\\s][^\\r\\n]{0,${MAX_TITLE_LENGTH - 1}}`, 'u');

/** Front matter: a first line `---`, a later one, and what is between them. */
const FRONT_MATTER = /^---((?:\r\n|[\r\n])(?:.*?[\r\n])?)---(?![^\r\n])/s;

/** The title in front matter; in YAML, `|` and `>` say that a text follows in other lines. */
const TITLE = /[\r\n]title:[ \t](?![ \t]*[|>][-+\d]*[ \t]*[\r\n])([^\r\n]*)/;

const QUOTED = /^(["'])(.*)\1$/s;

/** The first heading in a text. */
const ANY_HEADING = /(?:^|[\r\n])#[ \t]([^\r\n]*[^\s][^\r\n]*)/;

/** Returns the note that a text stands for; `title` is one that the request names. */
export function noteIn(text: string, title?: string): { title: string; body: string } {
  if (title !== undefined) return { title, body: text };
  const [front, inside = ''] = FRONT_MATTER.exec(text) ?? [];
  if (front) return { title: titleBehind(inside, text.slice(front.length)), body: text };
  const end = text.search(/[\r\n]|$/);
  const heading = HEADING.test(text) ? text.slice(1, end).trim() : '';
  // Of a blank text, only the body shall violate a bound.
  if (heading === '') return { title: FIRST_LINE.exec(text)?.[0].trimEnd() ?? '-', body: text };
  const rest = text.slice(end).replace(LINE_ENDS, '');
  // A note needs a body.
  return { title: heading, body: /\S/.test(rest) ? rest : text };
}

/** Returns the title of a text that begins with front matter. */
function titleBehind(front: string, rest: string): string {
  const named = TITLE.exec(front)?.[1]?.trim().replace(QUOTED, '$2').trim();
  const found = named || ANY_HEADING.exec(rest)?.[1] || FIRST_LINE.exec(rest)?.[0];
  return (found ?? FIRST_LINE.exec(front)?.[0] ?? '-').trim();
}

/** Returns a note in Markdown; `noteIn` reads the same note, but for white space in the title. */
export function markdownOf({ title, body }: Members): string {
  return `# ${String(title).replace(/\r\n|\r|\n/g, ' ')}\n\n${body}`;
}

/** Returns a body in Markdown: readers drop a byte order mark at its start, so it needs another. */
export function bodyInMarkdown({ body }: Members): string {
  return String(body).replace(/^\ufeff/, '$&$&');
}
