// A build step: renders the guides from Markdown to pages, so that the service only has to send
// them.
import { mkdir, readFile } from 'node:fs/promises';
import { Marked, Renderer, type Tokens } from 'marked';
import { GUIDES, type Guide, renderGuideList } from '../docs/guides.ts';
import { escapeHtml, renderPage } from '../docs/page.ts';
import { writeAsset } from './assets.ts';

/** Leads from the page of a guide to the service's base. */
const ROOT = '../../';

/**
 * Writes the page of each guide to the folder `target`; the Markdown comes from the folder
 * `source`.
 */
export async function renderGuides(source: URL, target: URL): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const guide of GUIDES) {
    const markdown = await readFile(new URL(`${guide.name}.md`, source), 'utf8');
    const page = Buffer.from(renderGuide(guide, markdown));
    await writeAsset(new URL(`${guide.name}.html`, target), page);
  }
}

/**
 * Returns the page of `guide`, whose text is `markdown`. Throws if its heading is not the title of
 * the guide, if two headings get the same id, or if it links to a guide that does not exist.
 */
export function renderGuide(guide: Guide, markdown: string): string {
  if (!markdown.startsWith(`# ${guide.title}\n`)) {
    throw new Error(`${guide.name}.md must begin with its title`);
  }
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

/** Renders one guide. Raw HTML in the Markdown is shown as text. */
class GuideRenderer extends Renderer {
  /** The ids of the page, and those that the page frame has. */
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

  /** Code and tables scroll on narrow screens; only what can have the focus scrolls by keyboard. */
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

/** Returns the id of a heading, as GitHub forms it, so that a fragment works in both places. */
function idOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '');
  return words.replaceAll(' ', '-');
}
