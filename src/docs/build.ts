// The build step of the documentation: gathers the files of its pages, renders the guides from
// Markdown to HTML, and compresses all.
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Marked, Renderer, type Tokens } from 'marked';
import { GUIDES, type Guide, renderGuideMenu } from './guides.ts';
import { escapeHtml, renderPage } from './page.ts';

const ROOT = '../../';

/** Writes the files of the pages, from `source`, this folder, to `output`, its place in dist/. */
export async function buildDocs(source: URL, output: URL): Promise<void> {
  await bundleFiles(new URL('assets/', source), new URL('assets/', output));
  await renderGuides(new URL('guides/', source), new URL('guides/', output));
}

/** Gathers all files, so that the service does not need Swagger UI's package. */
async function bundleFiles(source: URL, target: URL): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  const swaggerUi = pathToFileURL(manifest);
  const own = await readdir(source);
  const files = [
    ...own.map((name) => new URL(name, source)),
    // The compiler has written it.
    new URL('../samples.js', target),
    new URL('swagger-ui.css', swaggerUi),
    new URL('swagger-ui-bundle.js', swaggerUi),
  ];
  await mkdir(target, { recursive: true });
  await copyFile(new URL('LICENSE', swaggerUi), new URL('swagger-ui.LICENSE', target));
  for (const file of files) {
    const name = file.pathname.replace(/.*\//, '');
    await writeAsset(new URL(name, target), await readFile(file));
  }
}

async function renderGuides(source: URL, target: URL): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const guide of GUIDES) {
    const markdown = await readFile(new URL(`${guide.name}.md`, source), 'utf8');
    const page = Buffer.from(renderGuide(guide, markdown));
    await writeAsset(new URL(`${guide.name}.html`, target), page);
  }
}

async function writeAsset(path: URL, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes);
  await writeFile(new URL(`${path.href}.gz`), gzipSync(bytes, { level: 9 }));
}

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
    side: `<nav class="side" aria-label="Guides">
${renderGuideMenu(ROOT, guide)}
</nav>
`,
    main: `<article class="guide">
${article}</article>`,
  });
}

class GuideRenderer extends Renderer {
  /** The ids on the page, including those of its frame. */
  readonly #ids = new Set(['main']);

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
