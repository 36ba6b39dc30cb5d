// The texts that stand for notes and comments.
import type { Members } from '../resources/resource.ts';

/** Returns a note in Markdown, which `noteIn` reads as the same note. */
export function markdownOf({ title, body }: Members): string {
  return `# ${String(title).replace(/\r\n|\r|\n/g, ' ')}\n\n${body}`;
}

/** Returns a body in Markdown: readers drop a byte order mark at its start, so it needs another. */
export function bodyInMarkdown({ body }: Members): string {
  const text = String(body);
  return text.startsWith('\ufeff') ? `\ufeff${text}` : text;
}
