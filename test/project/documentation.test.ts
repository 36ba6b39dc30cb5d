// How the files of src/ are written, as far as a machine can tell.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { codeOf, sources } from '../support/sources.ts';

/** The lines, numbered from 1, for which `breaks` is true, as `src/path:line: text`. */
function linesWhere(
  breaks: (line: string, number: number, lines: readonly string[]) => boolean,
): string[] {
  return sources.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) =>
      breaks(line, index + 1, lines) ? [`src/${path}:${index + 1}: ${line.trim()}`] : [],
    ),
  );
}

const codeWith = (pattern: RegExp) => linesWhere((line) => pattern.test(codeOf(line)));
const textWith = (pattern: RegExp) => linesWhere((line) => pattern.test(line));

/** An export that is called. Types and constants may say all by their names. */
const CALLED =
  /^export (?:(?:async |abstract )*(?:function|class)\b|const \w+ = (?:async )?(?:<.*>)?\()/;

/** Each rule with a function that returns where it is broken. */
const RULES: Readonly<Record<string, () => readonly string[]>> = {
  'every file starts with a comment that says what it is': () =>
    linesWhere((line, number) => number === 1 && !/^\/\/ [A-Z]/.test(line)),

  'every exported function and class has its contract in a comment right above': () =>
    linesWhere((line, number, lines) => {
      const hasContract = /^(?:\/\*\*.*| )\*\/$/.test(lines[number - 2] ?? '');
      return CALLED.test(line) && !hasContract;
    }),

  'no default exports and no re-exports': () => codeWith(/^export (?:default|\*|\{|type \{)/),

  'no any': () => codeWith(/(?:[:|&<]|\bas|=>) any\b|\bany\[\]|<any\b/),

  'no non-null assertions': () => codeWith(/[\w\])]!(?:[.;,)[\]]|$)/),

  'no directives that silence the type checker or the linter': () =>
    textWith(/@ts-(?:ignore|expect-error|nocheck)|biome-ignore/),

  'nothing is left to do': () => textWith(/\b(?:TODO|FIXME|XXX|HACK)\b/),

  'files and folders are named in full words, in kebab case': () => {
    const name = /^(?:[a-z]+(?:-[a-z]+)*\/)*[a-z]+(?:-[a-z]+)*(?:\.d)?\.ts$/;
    const vague = /^(?:index|utils?|helpers?|common|misc)\b/;
    const bad = sources.filter(({ path }) => !name.test(path) || vague.test(basename(path)));
    return bad.map(({ path }) => `src/${path}`);
  },
};

for (const [rule, findBroken] of Object.entries(RULES)) {
  test(`style: ${rule}`, () => {
    const broken = findBroken();
    assert.ok(broken.length === 0, `the rule "${rule}" is broken:\n${broken.join('\n')}`);
  });
}

test('style: the rules see the files of the service', () => {
  assert.ok(sources.length > 30);
  assert.ok(textWith(CALLED).length > 50);
});
