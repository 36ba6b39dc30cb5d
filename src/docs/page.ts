// The frame of the pages that people see: /docs and /problems/{slug} share their head and their look.

/** What a browser may do on these pages: load what this server has, and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What the answers with pages and their files say of security, flat. */
export const SECURITY_HEADERS = ['content-security-policy', POLICY, 'referrer-policy', 'no-referrer'];

/** The headers of every page, flat. */
export const PAGE_HEADERS = ['content-type', 'text/html; charset=utf-8', ...SECURITY_HEADERS];

/** A page: `body` is HTML, `root` the relative path from the page to the service's base, as in `../`. */
export interface PageParts {
  readonly title: string;
  readonly root: string;
  readonly head?: string;
  readonly body: string;
}

/** Returns the HTML of a page. Only `title` is escaped. */
export function htmlPage({ title, root, head = '', body }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/svg+xml" href="${root}docs/favicon.svg">
${head}<link rel="stylesheet" href="${root}docs/page.css">
</head>
<body>
${body}
</body>
</html>
`;
}

/** Returns `text` so that it stands for itself in HTML, in an attribute too. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
