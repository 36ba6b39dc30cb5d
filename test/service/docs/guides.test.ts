// The guides: each Markdown file of src/docs/guides as a page at /docs/guides/{guide}.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { renderGuide } from '../../../src/docs/build.ts';
import { GROUPS, GUIDES } from '../../../src/docs/guides.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { root } from '../../support/sources.ts';

const FOLDER = new URL('src/docs/guides/', root);
const NAMES = GUIDES.map(({ name }) => name);

const service = await startService({ after });

const markdownOf = (name: string) => readFileSync(new URL(`${name}.md`, FOLDER), 'utf8');

function shownBy(html: string): string {
  const names: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_reference, code) => String.fromCharCode(code))
    .replace(/&(\w+);/g, (reference, name) => names[name] ?? reference);
}

/** Returns the URLs to which a page at `path` refers; `part` is the page or a part of it. */
function referencesIn(part: string, path: string): URL[] {
  const found = [...part.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, reference = '']) =>
    shownBy(reference),
  );
  const inside = found.filter((reference) => !/^https?:/.test(reference));
  assert.deepEqual(
    inside.filter((reference) => reference.startsWith('/')),
    [],
    'absolute references',
  );
  return inside.map((reference) => new URL(reference, `http://host${path}`));
}

test('guides: one for each Markdown file', () => {
  assert.deepEqual(readdirSync(FOLDER).sort(), NAMES.map((name) => `${name}.md`).sort());
  assert.ok(NAMES.length > 10);
});

test('guides: pages with the title and headings', async () => {
  for (const { name, title, description } of GUIDES) {
    const { status, headers, text } = await service.request('GET', `/docs/guides/${name}`);
    assert.equal(status, 200, name);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8', name);
    assert.ok(text.startsWith('<!doctype html>\n<html lang="en">'), name);
    assert.ok(text.includes(`<title>${title} - notes-server</title>`), name);
    assert.ok(text.includes(`<meta name="description" content="${description}">`), name);
    const headings = [...markdownOf(name).matchAll(/^(#+) (.*)$/gm)]
      .filter(([, marks = '', heading = '']) => marks.length > 1 || heading === title)
      .map(([, , heading = '']) => heading.replaceAll('`', ''));
    const [, article = ''] = /<article class="guide">\n(.*)<\/article>/s.exec(text) ?? [];
    const shown = [...article.matchAll(/<h(\d) id="[^"]+">(.*)<\/h\1>/g)].map(([, , inner = '']) =>
      shownBy(inner),
    );
    assert.deepEqual(shown, headings, name);
    assert.doesNotMatch(text, /<script|style=|\son\w+=/, name);
  }
});

/** The groups of guides as a page shows them: the name of each, and the guides that it links. */
function groupsIn(html: string, path: string, group: RegExp) {
  const parts = [...html.matchAll(group)];
  return parts.map(([, name, list = '']) => {
    const paths = referencesIn(list, path).map(({ pathname }) => pathname);
    return { name, guides: paths.map((each) => each.replace('/docs/guides/', '')) };
  });
}

const WANTED = GROUPS.map(({ name, guides }) => ({ name, guides: guides.map(({ name }) => name) }));

test('guides: two pages list them in groups, with a line each', async () => {
  for (const path of ['/docs', '/docs/guides']) {
    const { text } = await service.request('GET', path);
    const list = /<h[23] class="group">([\w ]*)<\/h[23]>\n<ul class="guide-list">\n(.*?)<\/ul>/gs;
    assert.deepEqual(groupsIn(text, path, list), WANTED, path);
    for (const { description } of GUIDES) assert.ok(shownBy(text).includes(description), path);
  }
});

test('guides: each has all of them at its side, and marks itself', async () => {
  for (const name of NAMES) {
    const path = `/docs/guides/${name}`;
    const { text } = await service.request('GET', path);
    const [side = ''] = /<nav class="side".*?<\/nav>/s.exec(text) ?? [];
    assert.deepEqual(groupsIn(side, path, /<li>([\w ]*)\n<ul>\n(.*?)<\/ul>/gs), WANTED, path);
    const marked = [...side.matchAll(/guides\/([\w-]+)" aria-current="page"/g)];
    assert.deepEqual(
      marked.map(([, current]) => current),
      [name],
    );
  }
});

test('guides: the README has them in the same groups and order', () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  const groups = [...readme.matchAll(/^- (To \w+ it): ((?:.|\n )*)/gm)];
  const listed = groups.map(([, name, links = '']) => {
    const guides = links.matchAll(/\[([\w\s]*)\]\(src\/docs\/guides\/([\w-]+)\.md\)/g);
    return { name, guides: [...guides].map(([, title, guide]) => [title, guide]) };
  });
  const wanted = GROUPS.map(({ name, guides }) => {
    return { name, guides: guides.map(({ title, name }) => [title, name]) };
  });
  assert.deepEqual(listed, wanted);
});

test('guides: links on all pages lead to pages and headings', async () => {
  const targets = new Map<string, Answer>();
  const found = new Set<string>();
  const guides = NAMES.map((name) => `/docs/guides/${name}`);
  for (const path of ['/docs', '/docs/guides', '/problems', '/problems/not-found', ...guides]) {
    const { text } = await service.request('GET', path);
    for (const { pathname, hash } of referencesIn(text, path)) {
      const target = targets.get(pathname) ?? (await service.request('GET', pathname));
      targets.set(pathname, target);
      assert.equal(target.status, 200, `${path}: ${pathname}`);
      const isThere = hash === '' || target.text.includes(` id="${hash.slice(1)}"`);
      assert.ok(isThere, `${path}: ${pathname}${hash}`);
      found.add(pathname + hash);
    }
  }
  assert.ok(found.has('/docs/guides/cluster#move-the-data'), 'links from one guide into another');
});

test('guides: an unknown one is 404', async () => {
  const names = 'nothing Options options.md options.html options/ __proto__ ..%2fpage.css'.split(
    ' ',
  );
  for (const path of ['', ...names]) {
    const { status, json } = await service.request('GET', `/docs/guides/${path}`);
    assert.equal(status, 404, path);
    assert.ok(json.type.endsWith('/problems/not-found'), path);
  }
  const { json } = await service.request('GET', '/docs/guides/nothing');
  assert.equal(json.detail, 'There is no such guide.');
});

test('guides: the build escapes raw HTML, links guides and drops links to other files', () => {
  const page = renderGuide(
    { name: 'options', title: 'Options', description: '"<i>"' },
    '# Options\n\nA <b>word</b> and `<i>`.\n\n<script>alert(1)</script>\n\n```\n</code><i>\n```\n' +
      '\n[A](access.md#keys), [B](../../../SECURITY.md), [C](https://x.org/)\n',
  );
  assert.ok(page.includes('<p><a href="access#keys">A</a>, B, <a href="https://x.org/">C</a></p>'));
  assert.ok(page.includes('content="&#34;&#60;i&#62;&#34;"'));
  assert.ok(page.includes('A &#60;b&#62;word&#60;/b&#62; and <code>&lt;i&gt;</code>.'));
  assert.ok(page.includes('&#60;script&#62;alert(1)&#60;/script&#62;'));
  assert.ok(page.includes('<code>&lt;/code&gt;&lt;i&gt;\n</code>'));
});

test('guides: the build refuses what would break a page', () => {
  const options = { name: 'options', title: 'Options', description: '' };
  for (const [text, fault] of [
    ['# Other\n', /options\.md must begin with its title/],
    ['Text\n\n# Options\n', /options\.md must begin with its title/],
    ['# Options\n\n## Rules\n\n## Rules\n', /two headings have the id rules/],
    ['# Options\n\n## Main\n', /two headings have the id main/],
    ['# Options\n\n[a guide](nothing.md)\n', /there is no guide nothing/],
  ] as const) {
    assert.throws(() => renderGuide(options, text), fault, text);
  }
});
