// Colours code in the guides when they are built, and marks what their styles and copy.js need:
// options, which must not break after a hyphen, addresses of the service, and what is typed.
import hljs from 'highlight.js';
import { escapeHtml } from './page.ts';

const OPTION = /(?<![^\s[(>])--?[A-Za-z][\w-]*/g;

/** The address of the service in the guides; what an operator sets for it is another. */
const ADDRESS = /(?<!BASE_URL=)http:\/\/127\.0\.0\.1:3000/g;

/** Returns code as HTML, in the colours of its language. Throws for an unknown one. */
export function highlight(code: string, language: string): string {
  if (language === 'text') return mark(escapeHtml(code));
  if (language === 'console') return code.split('\n').map(highlightLine).join('\n');
  return mark(hljs.highlight(code, { language }).value);
}

/** Marks what the reader types, so that a script can copy it without the prompt and the output. */
function highlightLine(line: string): string {
  if (!line.startsWith('$ ')) return highlight(line, 'text');
  const typed = highlight(line.slice(2), 'sh');
  return `<span class="prompt">$ </span><span class="typed">${typed}</span>`;
}

function mark(html: string): string {
  return html
    .replace(OPTION, '<span class="option">$&</span>')
    .replace(ADDRESS, '<span class="base-url">$&</span>');
}
