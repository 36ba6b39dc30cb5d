// The documents of the project as text: the README and the guides.
import { type ExecFileOptions, execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { GUIDES } from '../../src/docs/guides.ts';
import { root } from '../support/sources.ts';

/** Returns the text of a file of the project. */
export function textOf(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** The paths of the README and of all guides. */
export const DOCUMENTS = ['README.md', ...GUIDES.map(([name]) => guidePath(name))];

/** Returns the text of the guide with this name. */
export function guide(name: string): string {
  return textOf(guidePath(name));
}

/** Returns the text with each line break and its indentation as one space. */
export function proseOf(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/** Returns the section under a heading of the second level. */
export function sectionOf(text: string, heading: string): string {
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  return section.split('\n## ')[0] ?? '';
}

/** Returns the tables of a text: the rows of each below its head, each row as its cells. */
export function tablesIn(text: string): string[][][] {
  const tables = [...text.matchAll(/(?:^\|.*\n)+/gm)].map(([table]) => table.trimEnd().split('\n'));
  return tables.map((lines) =>
    lines.slice(2).map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ),
  );
}

/** A block of code in a document. */
export interface Block {
  readonly heading: string;
  readonly code: string;
  /** Where the block belongs, if a comment in one of its first two lines is a path. */
  readonly file: string | undefined;
}

/** Returns the blocks of code of a text, in order. */
export function blocksIn(text: string): Block[] {
  const blocks = text.matchAll(/^## (.*)$|^```\w+\n([\s\S]*?)^```$/gm);
  let heading = '';
  return [...blocks].flatMap(([, next, code = '']) => {
    heading = next ?? heading;
    const [, file] = /^(?:#!.*\n)?# (\/\S+)\n/.exec(code) ?? [];
    return next === undefined ? [{ heading, code, file }] : [];
  });
}

/** Returns the code of all blocks of a text in this language, a regular expression, in order. */
export function codeBlocks(text: string, language: string): string[] {
  const blocks = text.matchAll(new RegExp(`\`\`\`(?:${language})\\n([\\s\\S]*?)\`\`\``, 'g'));
  return [...blocks].map(([, code = '']) => code);
}

/** Returns a text in which the address of the service is `url`. */
export function addressed(text: string, url: string): string {
  return text.replaceAll('http://127.0.0.1:3000', url);
}

/** Runs commands in a shell; resolves with what they print, and rejects if the last one fails. */
export function inShell(
  shell: string,
  commands: string,
  options: ExecFileOptions = {},
  ...args: string[]
) {
  return promisify(execFile)(shell, ['-c', commands, ...args], { ...options, encoding: 'utf8' });
}

/** Returns what is written as code in a cell. */
export function codeIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

function guidePath(name: string): string {
  return `src/docs/guides/${name}.md`;
}
