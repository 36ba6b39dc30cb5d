// Uses the types that openapi-typescript generates. The test is that this compiles strictly.
import type { components, operations, paths } from './notes.js';

type Note = components['schemas']['Note'];
type Page = paths['/notes']['get']['responses'][200]['content']['application/json'];
type GetNote = operations['getNote']['responses'];
type NotFound = GetNote[404]['content']['application/problem+json'];
type OtherProblem = GetNote['default']['content']['application/problem+json'];
type PatchHeaders = operations['patchNote']['parameters']['header'];
type NoteInput = operations['createNote']['requestBody']['content']['application/json'];

export async function titles(url: string): Promise<string[]> {
  const page = (await (await fetch(`${url}/notes`)).json()) as Page;
  // With `fields`, an answer may lack any member.
  return page.items.map(({ title = '' }) => title);
}

export function copy({ title, body }: Note): NoteInput {
  return { title, body };
}

/** The types say which headers a change may have. */
export function condition(tag: string): NonNullable<PatchHeaders> {
  return { 'if-match': tag };
}

export function explain(problem: NotFound | OtherProblem): string {
  return `${problem.status} ${problem.detail}: ${problem.type}`;
}

// @ts-expect-error A note needs a body.
export const incomplete: NoteInput = { title: 'a' };
