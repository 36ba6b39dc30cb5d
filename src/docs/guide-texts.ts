// The texts of the guides by section, which guides.js searches in the browser. Made by the build.
import { Lexer } from 'marked';
import { idOf } from './guide-page.ts';
import type { Guide } from './guides.ts';

/** What leads to a section, the titles of its guide and its own, and its text. */
type Section = [href: string, guide: string, title: string, text: string];

/** Returns the sections of a guide; the first is its beginning. */
export function sectionsOf([name, title]: Guide, markdown: string): Section[] {
  const sections: Section[] = [];
  for (const token of Lexer.lex(markdown)) {
    const last = sections.at(-1);
    if (token.type === 'heading')
      sections.push([`${name}#${idOf(token.text)}`, title, plain(token.text), '']);
    else if (last) last[3] += `${plain(token.raw)} `;
  }
  return sections;
}

/** Returns Markdown without its marks, in one line. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)\s]*\)/g, '$1')
    .replace(/^ *```.*$|[`|*]|-{3,}:?/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}
