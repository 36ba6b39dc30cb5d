// What a text says of a note, and the texts of notes: what was read as Markdown is the same note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_TITLE_LENGTH } from '../../src/contract/generated.js';
import { markdownOf, noteIn } from '../../src/text/members.ts';
import { filledText } from './texts.ts';

const LONG = 'a'.repeat(MAX_TITLE_LENGTH);
const ASTRAL = '𝒂'.repeat(MAX_TITLE_LENGTH);

/** Texts by rule: each with its title and, unless it is the text itself, its body. */
const TEXTS: Readonly<Record<string, readonly (readonly [string, string, string?])[]>> = {
  'a first line # TITLE': [
    ['# Milk\n\nOat milk', 'Milk', 'Oat milk'],
    ['# Milk\nOat milk', 'Milk', 'Oat milk'],
    ['#\tMilk \t\nOat milk', 'Milk', 'Oat milk'],
    ['#  \u00a0Milk\u2003\nOat', 'Milk', 'Oat'],
    ['# # Milk #\nOat', '# Milk #', 'Oat'],
    ['# Milk\n\n# Oat\n', 'Milk', '# Oat\n'],
    ['# Milk\u2028Oat\u0085\vx\fy\nz', 'Milk\u2028Oat\u0085\vx\fy', 'z'],
    ['# \0\n\0', '\0', '\0'],
    [`# ${LONG}b\nOat`, `${LONG}b`, 'Oat'],
  ],
  'one empty line after it is left out': [
    ['# Milk\n\n\nOat', 'Milk', '\nOat'],
    ['# Milk\n \nOat', 'Milk', ' \nOat'],
    ['# Milk\n\n  Oat\n\n', 'Milk', '  Oat\n\n'],
    ['# Milk\n\u2028Oat', 'Milk', '\u2028Oat'],
  ],
  'lines end with LF, CR LF or CR': [
    ['# Milk\r\n\r\nOat\r\n', 'Milk', 'Oat\r\n'],
    ['# Milk\r\rOat', 'Milk', 'Oat'],
    ['# Milk\r\n\rOat', 'Milk', 'Oat'],
    ['# Milk\n\r\nOat', 'Milk', 'Oat'],
    ['# Milk\n\n\r\nOat', 'Milk', '\r\nOat'],
    ['Milk\rOat', 'Milk'],
    ['\r\n\r\n Milk \r\nOat', 'Milk'],
  ],
  'without more, the body is the text': [
    ['# Milk', 'Milk'],
    ['# Milk\n', 'Milk'],
    ['# # Milk\r\n\r\n \t\n', '# Milk'],
    ['# Milk\n\n\ufeff', 'Milk'],
  ],
  'the title of front matter': [
    ['---\ntitle: Milk\n---', 'Milk'],
    ['---\r\ntags: [a]\r\ntitle: \t Oat milk \r\n---\r\n\r\n# Bread\r\n', 'Oat milk'],
    ['---\rtitle: Milk\r---\rBread', 'Milk'],
    ['---\ntitle: "Milk: \'Oat\'"\n---\n# Bread', "Milk: 'Oat'"],
    ["---\ntitle: 'Milk'\ntitle: Bread\n---\n", 'Milk'],
    ['---\ntitle: "\n---\n', '"'],
    ['---\ntitle: "Milk\'\n---\n', '"Milk\''],
    ['---\ntitle: >2 litres\n---\n# Bread', '>2 litres'],
    ['---\ntitle: a\u2028b\n---\n', 'a\u2028b'],
    [`---\ntitle: ${LONG}b\n---\n`, `${LONG}b`],
  ],
  'front matter without a title: the first heading, or line, after it': [
    ['---\ntags: [a]\n---\nMilk\n\n# Bread\n# Oat', 'Bread'],
    ['---\n---\n## Milk\nBread', 'Milk'],
    ['---\n# Milk\n---\n\n \n#\tBread \n', 'Bread'],
    ['---\ntags: [a]\n---\r\r# \u00a0Milk\u2003\rBread', 'Milk'],
    ...[
      'title:',
      'title: ""',
      'title: " "',
      'title:Milk',
      ' title: Milk',
      'Title: Milk',
      'title:  >-2 ',
    ].map((line) => [`---\n${line}\n  Milk\n---\n# \nBread`, 'Bread'] as const),
    [`---\n---\n${LONG}b`, LONG],
    [`---\n---\n# ${LONG}b`, `${LONG}b`],
    ['---\ntags: [a]\n---\n', 'tags: [a]'],
    ['---\ntags: [a]\n---\n# Milk\n---\ntitle: Bread\n---', 'Milk'],
    ['---\n---', '-'],
    ['---\n\n---\n#\n', '-'],
  ],
  'what only resembles front matter is none': [
    ['---\ntitle: Milk\n--- \n# Bread', '---'],
    ['--- \ntitle: Milk\n---\n# Bread', '---'],
    ['\n---\ntitle: Milk\n---\n# Bread', '---'],
    ['---\ntitle: Milk\n ---\n# Bread', '---'],
    ['---\ntitle: Milk\n----\n# Bread', '---'],
    ['---\ntitle: Milk', '---'],
    ['# Milk\n---\ntitle: Bread\n---', 'Milk', '---\ntitle: Bread\n---'],
  ],
  'otherwise the first line with text, up to the bound': [
    ['Milk', 'Milk'],
    ['\n \n\t\nMilk\nOat', 'Milk'],
    ['#Milk', 'Milk'],
    ['## Milk ##\nOat', 'Milk ##'],
    ['\n# Milk\nOat', 'Milk'],
    [' # Milk\nOat', 'Milk'],
    ['# \nMilk', 'Milk'],
    ['#\u00a0Milk\nOat', 'Milk'],
    ['###\n\nMilk', 'Milk'],
    ['\n # \n#', '-'],
    ['{"title":"Milk"}', '{"title":"Milk"}'],
    ['\u2028Milk\u2028Oat', 'Milk\u2028Oat'],
    [`${LONG}b`, LONG],
    [`${ASTRAL}𝒃`, ASTRAL],
    [`b${ASTRAL}`, `b${'𝒂'.repeat(MAX_TITLE_LENGTH - 1)}`],
    [`${'a'.repeat(MAX_TITLE_LENGTH - 1)}𝒃c`, `${'a'.repeat(MAX_TITLE_LENGTH - 1)}𝒃`],
    [`${'a'.repeat(MAX_TITLE_LENGTH - 1)} b`, 'a'.repeat(MAX_TITLE_LENGTH - 1)],
  ],
};

for (const [rule, texts] of Object.entries(TEXTS)) {
  test(`texts: ${rule}`, () => {
    for (const [text, title, body = text] of texts)
      assert.deepEqual(noteIn(text), { title, body }, JSON.stringify(text));
  });
}

test('texts: a given title leaves the whole text to the body', () => {
  assert.deepEqual(noteIn('# Milk\n\nOat', 'Bread'), { title: 'Bread', body: '# Milk\n\nOat' });
  assert.deepEqual(noteIn('# Milk\n\nOat', ''), { title: '', body: '# Milk\n\nOat' });
});

test('texts: large ones of every kind are read', () => {
  const length = 1_048_576;
  for (const part of [
    'a',
    ' ',
    '#',
    '\n',
    '\r',
    '\r\n',
    '# ',
    '# a\n',
    '𝒂',
    '\ufeff',
    '\u2028',
    '---\n',
    'title: \n',
  ]) {
    const many = part.repeat(length / part.length);
    const front = [`---\n${many}`, `---\n${many}\n---\n${many}`, `---\n---\n# ${many}`];
    for (const text of [many, `# ${many}`, `# a\n${many}`, `# a\n${many}b`, `${many}a`, ...front]) {
      const { title, body } = noteIn(text);
      assert.ok(text.endsWith(body) && title.length > 0, text.slice(0, 9));
      assert.ok(markdownOf({ title, body }).endsWith(body));
    }
  }
});

test('texts: a note in Markdown is the same note, except for line breaks and outer spaces', () => {
  fc.assert(
    fc.property(filledText, filledText, (title, body) => {
      const shown = title.replace(/\r\n|[\r\n]/g, ' ').trim();
      assert.deepEqual(noteIn(markdownOf({ title, body })), { title: shown, body });
    }),
    { numRuns: 1_000 },
  );
});

test('texts: every text that is not blank is a note, and stays it in Markdown', () => {
  fc.assert(
    fc.property(filledText, (each) => {
      const { title, body } = noteIn(each);
      assert.equal(title, title.trim());
      assert.ok(title !== '' && body.trim() !== '' && each.endsWith(body));
      assert.deepEqual(noteIn(markdownOf({ title, body })), { title, body });
    }),
    { numRuns: 2_000 },
  );
});
