// Draws the drawings of /docs from their texts in drawings/*.dot, at build time.
import { instance } from '@viz-js/viz';
import { escapeHtml } from './page.ts';

const CHARACTERS = 14;
/** The layout takes characters for larger: fonts are up to a fifth wider than the one it knows. */
const LAYOUT = { fontname: 'Arial', fontsize: 1.2 * CHARACTERS };

const ATTRIBUTES = {
  graphAttributes: { bgcolor: 'transparent', pad: 0.05, ranksep: 0.35 },
  nodeAttributes: { ...LAYOUT, shape: 'box', margin: '0.13,0.08', width: 0.6, height: 0.3 },
  edgeAttributes: { ...LAYOUT, arrowsize: 0.7 },
};

/** Resolves with a drawing as HTML with SVG; `name` begins its ids. */
export async function draw(name: string, text: string): Promise<string> {
  // The first line is the title; the comment below describes what is drawn.
  const [, title = '', comment = ''] = /^\/\/ (.*)\n((?:\/\/ .*\n)+)/.exec(text) ?? [];
  const description = comment.replaceAll('// ', '').trim();
  const svg = (await instance()).renderString(text, { format: 'svg', ...ATTRIBUTES });
  const [, width, height] = /width="(\d+)pt" height="(\d+)pt"/.exec(svg) ?? [];
  const drawn = svg
    .slice(svg.indexOf('<g '))
    .replace(/<!--.*?-->\n|<title>.*<\/title>\n| (?:id|xml:space|font-\w+)="[^"]*"/g, '')
    .replaceAll('"black"', '"currentColor"');
  return `<figure>
<figcaption>${escapeHtml(title)}</figcaption>
<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"
font-size="${CHARACTERS}" fill="currentColor" role="img"
aria-labelledby="${name}-title ${name}-text">
<title id="${name}-title">${escapeHtml(title)}</title>
<desc id="${name}-text">${escapeHtml(description)}</desc>
${drawn}</figure>`;
}
