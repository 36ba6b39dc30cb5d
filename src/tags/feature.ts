// The tags on notes.
import { endpoint, type Input } from '../contract/endpoint.ts';
import type { Core } from '../feature.ts';
import { type Ids, notFound } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { RecordFeature } from '../records/feature.ts';
import { inLists } from './in-lists.ts';
import { createNoteTags } from './note-tags.ts';
import { tagsOfNotes } from './tagged-notes.ts';

const NO_ENTITY_TAG = 'A tag on a note has no entity tag to match. Leave out if-match.';

/** The tags on notes, each at its path and in lists. */
export function tags({ database, write }: Core): RecordFeature {
  const noteTags = createNoteTags(database, write);
  const path = '/notes/{note_id}/tags/{tag_id}';
  const routes = [
    endpoint<Ids>('PUT', path, (input) => perform('add', input)),
    endpoint<Ids>('DELETE', path, (input) => perform('remove', input)),
  ];
  return { routes: () => routes, inLists, inWrites: tagsOfNotes };

  async function perform(
    method: 'add' | 'remove',
    { parameters, headers, call }: Input<Ids, unknown>,
  ): Promise<Reply> {
    const { note_id = 0, tag_id = 0 } = parameters;
    // There is no entity tag to match. But a missing record takes precedence (RFC 9110, 13.2.1).
    const isRefused = headers['if-match'] !== undefined;
    const before = await noteTags[isRefused ? 'read' : method]([note_id, tag_id]);
    const [note, tag] = call.pathValues;
    if (before === 'no note') throw notFound('Note', note);
    if (before === 'no tag') throw notFound('Tag', tag);
    if (method === 'remove' && before === 'untagged')
      throw new Problem('not-found', `Note ${note} has no tag ${tag}.`);
    if (isRefused) throw new Problem('precondition-failed', NO_ENTITY_TAG);
    return { status: 204 };
  }
}
