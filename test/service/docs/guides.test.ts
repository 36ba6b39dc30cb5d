// The guides: each Markdown file of src/docs/guides as a page at /docs/guides/{guide}.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { OPTIONS } from '../../../src/cli/option-table.ts';
import { problems } from '../../../src/contract/generated.js';
import { renderGuide } from '../../../src/docs/guide-page.ts';
import { GROUPS, GUIDES } from '../../../src/docs/guides.ts';
import { contract } from '../../support/contract.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { root, sources } from '../../support/sources.ts';

const FOLDER = new URL('src/docs/guides/', root);
const NAMES = GUIDES.map(([name]) => name);

const SCRIPTS = ['copy', 'guides'].map(
  (name) => `<script src="../../docs/${name}.js" type="module"></script>`,
);

const service = await startService({ after });

const markdownOf = (name: string) => readFileSync(new URL(`${name}.md`, FOLDER), 'utf8');

function shownBy(html: string): string {
  const names: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\w+);/g, (_reference, code) => String.fromCharCode(Number(`0${code}`)))
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

const pages = new Map(
  await Promise.all(
    NAMES.map(async (name) => {
      const { status, headers, text } = await service.request('GET', `/docs/guides/${name}`);
      assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'], name);
      return [name, text] as const;
    }),
  ),
);

test('guides: one for each Markdown file', () => {
  assert.deepEqual(readdirSync(FOLDER).sort(), NAMES.map((name) => `${name}.md`).sort());
  assert.ok(NAMES.length > 10);
});

test('guides: pages with the title and headings', () => {
  for (const [name, title, description] of GUIDES) {
    const text = pages.get(name) ?? '';
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
    assert.match(article, /^<h1 /, name);
    const ids = text.match(/ id="[^"]*"/g) ?? [];
    assert.equal(new Set(ids).size, ids.length, `${name}: unique ids`);
    assert.deepEqual(text.match(/<script.*/g), SCRIPTS, name);
    assert.doesNotMatch(text, /style=|\son\w+=/, name);
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

const WANTED = Object.entries(GROUPS).map(([name, guides]) => ({
  name,
  guides: guides.map(([name]) => name),
}));

test('guides: two pages list them in groups, with a line each', async () => {
  for (const path of ['/docs', '/docs/guides']) {
    const { text } = await service.request('GET', path);
    const list = /<h[23]>([\w ]*)<\/h[23]>\n<ul class="guide-list">\n(.*?)<\/ul>/gs;
    assert.deepEqual(groupsIn(text, path, list), WANTED, path);
    for (const [, , description] of GUIDES) assert.ok(shownBy(text).includes(description), path);
  }
});

test('guides: each has all of them at its side, and marks itself', () => {
  for (const [name, text] of pages) {
    const path = `/docs/guides/${name}`;
    const [side = ''] = /<nav class="side".*?<\/nav>/s.exec(text) ?? [];
    assert.deepEqual(
      groupsIn(side, path, /<li><b>([^<]*)<\/b>\n<ul>\n(.*?)<\/ul>/gs),
      WANTED,
      path,
    );
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
  const wanted = Object.entries(GROUPS).map(([name, guides]) => {
    return { name, guides: guides.map(([name, title]) => [title, name]) };
  });
  assert.deepEqual(listed, wanted);
});

test('guides: headings link to themselves, and the side has contents', () => {
  for (const [name, html] of pages) {
    for (const [, id, inner = ''] of html.matchAll(/<h[2-6] id="([^"]+)">(.*)<\/h/g))
      assert.match(inner, new RegExp(`^<a href="#${id}">.*</a>$`), name);
    const [, contents = ''] = /<ul class="contents">\n(.*?)<\/ul>/s.exec(html) ?? [];
    const [, top, title] = /<h1 id="([^"]+)">(.*)<\/h1>/.exec(html) ?? [];
    const sections = [...html.matchAll(/<h2 id="[^"]+">(.*)<\/h2>/g)].map(([, link]) => link);
    const wanted = [`<a href="#${top}">${title}</a>`, ...sections];
    assert.equal(contents, wanted.map((link) => `<li>${link}</li>\n`).join(''), name);
  }
});

test('guides: each option has a row that can be linked', () => {
  const html = pages.get('options') ?? '';
  for (const { flag } of Object.values(OPTIONS)) {
    const start = `<td id="--${flag}"><a href="#--${flag}"><code><span class="option">--${flag}<`;
    assert.ok(html.includes(start), flag);
  }
});

test('guides: the texts that the browser searches are those of all sections', async () => {
  const { text } = await service.request('GET', '/docs/guide-texts.js');
  const sections: string[][] = JSON.parse(text.replace(/^export const SECTIONS = (.*);$/m, '$1'));
  const headings = [...pages].flatMap(([name, html]) => {
    const ids = html.matchAll(/<h[1-6] id="([^"]+)">(.*?)<\/h\d>/g);
    return [...ids].map(([, id, inner = '']) => [`${name}#${id}`, shownBy(inner)]);
  });
  assert.deepEqual(
    sections.map(([href, , title]) => [href, title]),
    headings,
  );
  const written =
    NAMES.map(markdownOf)
      .join()
      .match(/[\p{L}\p{N}_]{3,}/gu) ?? [];
  const found = new Set(
    sections
      .flat()
      .join(' ')
      .match(/[\p{L}\p{N}_]{3,}/gu),
  );
  const missing = new Set(written.filter((word) => !found.has(word)));
  // Names of files and of languages are in the marks that are left out.
  assert.ok(missing.size < 40, `${[...missing]}`);
});

test('guides: each leads to the previous and the next', () => {
  for (const [index, name] of NAMES.entries()) {
    const [nav = ''] = /<nav class="neighbours".*?<\/nav>/s.exec(pages.get(name) ?? '') ?? [];
    const links = [...nav.matchAll(/<a rel="(.*?)" href="(.*?)">(.*?)<\/a>/g)].map(
      ([, ...all]) => all,
    );
    const wanted = [
      ['prev', 'Previous', GUIDES[index - 1]],
      ['next', 'Next', GUIDES[index + 1]],
    ] as const;
    const there = wanted.flatMap(([rel, label, guide]) =>
      guide ? [[rel, guide[0], `${label}: ${guide[1]}`]] : [],
    );
    assert.deepEqual(links, there, name);
  }
});

test('guides: code is shown as it is written, with colours and marks', () => {
  for (const [name, html] of pages) {
    const written = markdownOf(name).matchAll(/^( *)```(\w*)\n(.*?)\n *```$/gms);
    const blocks = [...written].map(([, indent = '', language, code = '']) => {
      return { language, code: code.replaceAll(`\n${indent}`, '\n').slice(indent.length) };
    });
    const shown = [...html.matchAll(/<pre([^>]*)><code>(.*?)<\/code><\/pre>(\n<button)?/gs)];
    assert.deepEqual(
      shown.map(([, , code = '']) => shownBy(code)),
      blocks.map(({ code }) => code),
      name,
    );
    for (const [index, { language, code }] of blocks.entries()) {
      const [, attributes = '', inner = '', button] = shown[index] ?? [];
      const isText = language === 'text' || language === '';
      assert.equal(attributes, isText ? ' class="scrolling" tabindex="0"' : '', name);
      assert.equal(button === undefined, isText, name);
      const typed = inner.split('\n').filter((line) => line.includes('<span class="typed">'));
      const commands = language === 'console' ? code.match(/^\$ .*/gm) : [];
      assert.deepEqual(typed.map(shownBy), commands, name);
      const addresses = code.split(/(?<!BASE_URL=)http:\/\/127\.0\.0\.1:3000/);
      const marked = inner.split('<span class="base-url">http://127.0.0.1:3000</span>');
      assert.equal(marked.length, addresses.length, `${name}: ${code}`);
    }
    const languages = new Set(blocks.map(({ language }) => language));
    for (const language of languages) {
      const colours = shown.filter((_, index) => blocks[index]?.language === language).join('');
      const isColoured = /<span class="hljs-/.test(colours);
      assert.equal(isColoured, language !== 'text', `${name}: ${language}`);
    }
  }
});

test('guides: links on all pages and in the code lead to pages and headings', async () => {
  const targets = new Map<string, Answer>();
  const found = new Set<string>();
  const problemPages = problems.map(({ slug }) => `/problems/${slug}`);
  const paths = ['/docs', '/docs/guides', ...NAMES.map((name) => `/docs/guides/${name}`)];
  const links = new Map<string, URL[]>([['the code', linksInCode()]]);
  for (const path of [...paths, '/problems', ...problemPages]) {
    const { text } = await service.request('GET', path);
    links.set(path, referencesIn(text, path));
  }
  for (const [path, urls] of links) {
    for (const { pathname, hash } of urls) {
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

/** Returns the URLs of guides in the contract and in what the service says. */
function linksInCode(): URL[] {
  const texts = [JSON.stringify(contract), ...sources.flatMap(({ lines }) => lines)];
  const found = texts.flatMap((text) => text.match(/\/docs\/guides\/[a-z][\w#-]*/g) ?? []);
  assert.ok(found.length > 2);
  return found.map((link) => new URL(link, service.url));
}

test('guides: the build escapes code, links guides and drops links to other files', () => {
  const page = renderGuide(
    ['options', 'Options', '"<i>"'],
    '# Options\n\nA `<i>`.\n\n```\n</code><i>\n```\n' +
      '\n[A](access.md#keys), [B](../../../SECURITY.md), [C](https://x.org/)\n',
  );
  assert.ok(page.includes('<p><a href="access#keys">A</a>, B, <a href="https://x.org/">C</a></p>'));
  assert.ok(page.includes('content="&#34;&#60;i&#62;&#34;"'));
  assert.ok(page.includes('A <code>&#60;i&#62;</code>.'));
  assert.ok(page.includes('<code>&#60;/code&#62;&#60;i&#62;</code>'));
});
