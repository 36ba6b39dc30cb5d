// Renders a guide from Markdown to its page, when the service is built. Code has colours, and marks
// for styles and copy.js: options, addresses of the service, and what is typed.
import hljs from 'highlight.js';
import { Marked, Renderer, type Tokens } from 'marked';
import { GUIDES, type Guide, renderGuideMenu, renderSearchScript } from './guides.ts';
import { COPY_BUTTON, COPY_STATUS, escapeHtml, renderPage } from './page.ts';

const ROOT = '../../';

/** They must not break after a hyphen. */
const OPTION = /(?<![^\s[(>])--?[A-Za-z][\w-]*/g;

/** The address of the service in the guides; what an operator sets for it is another. */
const ADDRESS = /(?<!BASE_URL=)http:\/\/127\.0\.0\.1:3000/g;

/** Returns the page of `guide`, whose text has no HTML. */
export function renderGuide(guide: Guide, markdown: string): string {
  const [name, title, description] = guide;
  const renderer = new GuideRenderer();
  const article = new Marked().parse(markdown, { async: false, renderer });
  return renderPage({
    title: `${title} - notes-server`,
    path: `docs/guides/${name}`,
    root: ROOT,
    head: `<meta name="description" content="${escapeHtml(description)}">
<link rel="stylesheet" href="${ROOT}docs/guide.css">
<script src="${ROOT}docs/copy.js" type="module"></script>
${renderSearchScript(ROOT)}`,
    side: `<nav class="side" aria-label="Guides" tabindex="0">
${renderGuideMenu(ROOT, guide, renderer.sections)}
</nav>
`,
    main: `<article class="guide">
${article}</article>
${COPY_STATUS}
${renderNeighbours(guide)}`,
  });
}

function renderNeighbours(guide: Guide): string {
  const index = GUIDES.indexOf(guide);
  const render = (rel: 'prev' | 'next', label: string, [name, title]: Partial<Guide> = []) =>
    name ? `<a rel="${rel}" href="${name}">${label}: ${title}</a>\n` : '';
  return `<nav class="neighbours" aria-label="Previous and next guide">
${render('prev', 'Previous', GUIDES[index - 1])}${render('next', 'Next', GUIDES[index + 1])}</nav>`;
}

class GuideRenderer extends Renderer {
  readonly sections: string[] = [];
  readonly #labels = new Map<Tokens.TableCell, string>();

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const id = idOf(text);
    const title = this.parser.parseInline(tokens);
    const link = `<a href="#${id}">${title}</a>`;
    if (depth <= 2) this.sections.push(link);
    return `<h${depth} id="${id}">${depth === 1 ? title : link}</h${depth}>\n`;
  }

  override link(token: Tokens.Link): string {
    if (/^(?:https?:|#)/.test(token.href)) return super.link(token);
    const [, name, fragment = ''] = /^([a-z-]+)\.md(#.*)?$/.exec(token.href) ?? [];
    // The service does not serve other files of the repository.
    if (name === undefined) return this.parser.parseInline(token.tokens);
    return super.link({ ...token, href: `${name}${fragment}` });
  }

  /** Wraps long lines, but not those of drawings and tables, which scroll by keyboard too. */
  override code({ text, lang }: Tokens.Code): string {
    const language = lang || 'text';
    const code = `<code>${highlight(text, language)}</code></pre>`;
    if (language === 'text') return `<pre class="scrolling" tabindex="0">${code}\n`;
    return `<div class="command">\n<pre>${code}\n${COPY_BUTTON}\n</div>\n`;
  }

  override codespan({ text }: Tokens.Codespan): string {
    return `<code>${highlight(text, 'text')}</code>`;
  }

  /** Numbers are compared down a column, and scroll; on a phone, other rows become blocks. */
  override table(token: Tokens.Table): string {
    if (token.header.at(-1)?.align === 'right')
      return `<div class="scrolling" tabindex="0">\n${super.table(token)}</div>\n`;
    const labels = token.header.map(({ text }) => text.replaceAll('`', ''));
    // Of two columns, the first is the heading of the block, and the other needs no label.
    if (labels.length > 2)
      for (const row of token.rows)
        for (const [index, cell] of row.entries())
          if (index > 0) this.#labels.set(cell, labels[index] ?? '');
    return super.table(token).replace('<table', '<table class="rows"');
  }

  override tablecell(cell: Tokens.TableCell): string {
    const label = this.#labels.get(cell);
    const html = super.tablecell(cell);
    return label ? html.replace('<td', `<td data-label="${escapeHtml(label)}"`) : html;
  }

  /** A row about an option can be linked, and links to itself. */
  override tablerow({ text }: Tokens.TableRow): string {
    const pattern = /^<td>(<code><span class="option">(--[\w-]+).*?<\/code>)/;
    const linked = text.replace(pattern, '<td id="$2"><a href="#$2">$1</a>');
    return super.tablerow({ text: linked });
  }
}

/** Returns the id of a heading in the form of GitHub, so that fragments work there too. */
export function idOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '');
  return words.replaceAll(' ', '-');
}

/** Returns code as HTML, in the colours of its language. Throws for an unknown one. */
function highlight(code: string, language: string): string {
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
