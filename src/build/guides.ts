// Renders the guides from Markdown to HTML pages.
import { Marked, Renderer, type Tokens } from 'marked';
import { GUIDES, type Guide, renderGuideList } from '../docs/guides.ts';
import { escapeHtml, renderPage } from '../docs/page.ts';

const ROOT = '../../';

/** Returns the page of `guide`. Throws for a wrong title, equal ids, or a link to no guide. */
export function renderGuide(guide: Guide, markdown: string): string {
  if (!markdown.startsWith(`# ${guide.title}\n`))
    throw new Error(`${guide.name}.md must begin with its title`);
  const article = new Marked().parse(markdown, { async: false, renderer: new GuideRenderer() });
  return renderPage({
    title: `${guide.title} - notes-server`,
    root: ROOT,
    head: `<meta name="description" content="${escapeHtml(guide.description)}">
<link rel="stylesheet" href="${ROOT}docs/guide.css">
`,
    main: `<p class="above soft">Guide</p>
<article class="guide">
${article}</article>
<nav aria-labelledby="all-guides">
<h2 id="all-guides">All guides</h2>
${renderGuideList(ROOT, guide)}
</nav>`,
  });
}

class GuideRenderer extends Renderer {
  /** The ids on the page, including those of its frame. */
  readonly #ids = new Set(['main', 'all-guides']);

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const id = idOf(text);
    if (this.#ids.has(id)) throw new Error(`two headings have the id ${id}`);
    this.#ids.add(id);
    return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  }

  override link(token: Tokens.Link): string {
    if (/^(?:https?:|#)/.test(token.href)) return super.link(token);
    const [, name, fragment = ''] = /^([a-z-]+)\.md(#.*)?$/.exec(token.href) ?? [];
    // The service does not serve other files of the repository.
    if (name === undefined) return this.parser.parseInline(token.tokens);
    if (!GUIDES.some((guide) => guide.name === name)) throw new Error(`there is no guide ${name}`);
    return super.link({ ...token, href: `${name}${fragment}` });
  }

  // On narrow screens, code and tables scroll; for the keyboard, they must be focusable.
  override code(token: Tokens.Code): string {
    return super.code(token).replace('<pre>', '<pre tabindex="0">');
  }

  override table(token: Tokens.Table): string {
    return `<div class="table" tabindex="0">\n${super.table(token)}</div>\n`;
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text);
  }
}

/** Returns the id of a heading in the form of GitHub, so that fragments work there too. */
function idOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '');
  return words.replaceAll(' ', '-');
}
