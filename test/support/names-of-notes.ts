// Names of notes as people choose them, texts that are none, and the forms of their paths.

/** Names in NFC, from many languages and with all that a URL, a shell or SQL could mistake. */
export const BEAUTIFUL = [
  ...['Projekte/Küche.md', 'Протокол совещания рабочей группы.md', '日本語/メモ/買い物.md'],
  ...['ملاحظات/قائمة التسوق.md', 'हिन्दी/नोट.md', 'Việt/Ghi chú.md', 'Å/ñ/ç.md'],
  ...['👩‍👩‍👧‍👦/🛒 list.md', 'no extension', '.hidden/...three dots/..a/a..', '-a', '_'],
  ...[
    '100%',
    '%2F',
    'a%2Fb',
    '%252e%252e',
    'a+b',
    'a b ',
    ' a',
    'x?y=1&z',
    'q#fragment',
    'a:b;c=d',
  ],
  ...['*"<>|', "it's `$HOME` & !", "x'6162'", "'; DROP TABLE notes; --", '{name}', '[a]', '~', '@'],
  ...['append', 'edit', 'a/append', 'edit/append/edit', 'a/b/c/d/e/f/g', '1/notes/2', '__proto__'],
  ...[
    '\u200f\u202e',
    '\ufeff',
    '\u00a0',
    '\ufffd',
    '\u{10ffff}',
    'x'.repeat(512),
    '😀'.repeat(512),
  ],
] as const;

/** Texts that are no names, with the code of their fault and what its detail says. */
export const HOSTILE: Readonly<Record<string, readonly [code: string, detail: RegExp]>> = {
  '': ['minLength', /^must not be empty$/],
  '.': ['pattern', /dot segments, but segment 1 of 1 is one$/],
  '..': ['pattern', /dot segments, but segment 1 of 1 is one$/],
  'a/..': ['pattern', /dot segments, but segment 2 of 2 is one$/],
  '../notes/1': ['pattern', /dot segments, but segment 1 of 3 is one$/],
  'a/./b': ['pattern', /dot segments, but segment 2 of 3 is one$/],
  'a/../../../etc/passwd': ['pattern', /dot segments, but segment 2 of 6 is one$/],
  '/': ['pattern', /empty segments, but segment 1 of 2 is empty$/],
  '/a': ['pattern', /empty segments, but segment 1 of 2 is empty$/],
  'a/': ['pattern', /empty segments, but segment 2 of 2 is empty$/],
  'a//b': ['pattern', /empty segments, but segment 2 of 3 is empty$/],
  'a\\b': ['pattern', /backslashes, but segment 1 of 1 has U\+005C$/],
  'a/..\\..\\b': ['pattern', /backslashes, but segment 2 of 2 has U\+005C$/],
  'a\0': ['pattern', /control characters, .* has U\+0000$/],
  'a/b\r\nset-cookie: c=d': ['pattern', /control characters, .* segment 2 of 2 has U\+000D$/],
  '\x1b[2J': ['pattern', /control characters, .* has U\+001B$/],
  '\x7f': ['pattern', /control characters, .* has U\+007F$/],
  '\x85': ['pattern', /control characters, .* has U\+0085$/],
  'a\u2028b': ['pattern', /line separators .* has U\+2028$/],
  'a\u2029b': ['pattern', /line separators .* has U\+2029$/],
  ['x'.repeat(513)]: ['maxLength', /^must have at most 512 characters$/],
  ['😀'.repeat(513)]: ['maxLength', /^must have at most 512 characters$/],
};

const encodeAll = (text: string) =>
  `${Buffer.from(text).toString('hex')}`.replace(/../g, (byte) => `%${byte}`);

/** The forms of a name in a path that clients and proxies send. */
export const FORMS: Readonly<Record<string, (name: string) => string>> = {
  'raw slashes': (name) => name.split('/').map(encodeURIComponent).join('/'),
  'encoded slashes': encodeURIComponent,
  'every byte encoded': encodeAll,
  'another normalization form': (name) =>
    name.normalize('NFD').split('/').map(encodeURIComponent).join('/'),
};
