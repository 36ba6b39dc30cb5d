// The frame of all pages: /docs, the guides and the problems share one head, bar and look.

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The security headers of pages and their files, flat (name, value, name, value). */
export const SECURITY_HEADERS = [
  ...['content-security-policy', POLICY],
  ...['referrer-policy', 'no-referrer'],
];

/** The headers of every page, flat as well. */
export const PAGE_HEADERS = ['content-type', 'text/html; charset=utf-8', ...SECURITY_HEADERS];

/** The button that copies the code before it in the same element, with copy.js. */
export const COPY_BUTTON = `<button type="button" class="copy"
hidden>Copy<span class="visually-hidden"> the command</span></button>`;

/** Where copy.js says that it has copied; each page with a button has one. */
export const COPY_STATUS = '<p class="copy-status soft" role="status"></p>';

/** The links of the bar by their texts; without a fragment, each is the path of a page. */
const LINKS = {
  Operations: 'docs#operations',
  Guides: 'docs/guides',
  Problems: 'problems',
  OpenAPI: 'openapi.json',
};

interface PageParts {
  readonly title: string;
  /** The path of the page after the base of the service, such as `docs`; an error has none. */
  readonly path?: string;
  /** Without it, copy.js adds the address of the service to the path. */
  readonly baseUrl?: string;
  /** The relative URL of the base of the service, such as `../`. */
  readonly root: string;
  readonly head?: string;
  /** What stands beside the main part, before it in the order of reading. */
  readonly side?: string;
  readonly main: string;
}

/** Returns the HTML of a page with HTML in its parts; `title` and `baseUrl` are escaped. */
export function renderPage(parts: PageParts): string {
  const { title, path, baseUrl = '', root, head = '', side = '', main } = parts;
  const links = Object.entries(LINKS).map(([name, target]) => {
    return `<a href="${root}${target}"${renderMark(target, path)}>${name}</a>`;
  });
  const address = `<span class="base-url">${escapeHtml(baseUrl)}</span>/${path}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/svg+xml" href="${root}docs/favicon.svg">
<link rel="stylesheet" href="${root}docs/page.css">
${head}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<div class="frame">
<a class="home" href="${root}docs"><img src="${root}docs/favicon.svg"
alt="" width="28" height="28">notes-server</a>
<nav aria-label="Documentation">
${links.join('\n')}
</nav>
</div>
</header>
${side}<main id="main" class="frame" tabindex="-1">
${main}
</main>
${path === undefined ? '' : `<footer class="frame soft">${address}</footer>\n`}</body>
</html>
`;
}

/** Returns the attribute of a link to the page at `path`, or to the part in which it is. */
function renderMark(target: string, path = ''): string {
  const [page] = target.split('#');
  if (page === path) return ' aria-current="page"';
  return path.startsWith(`${target}/`) ? ' aria-current="true"' : '';
}

/** Escapes `text` for HTML, in attributes too. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
