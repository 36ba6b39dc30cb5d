// Appends to notes, and edits of them in one place: clients need neither read nor send the body.
import { endpoint, type Input, type ReadBody, validationFailed } from '../contract/endpoint.ts';
import { MAX_BODY_LENGTH, MAX_REPETITIONS } from '../contract/generated.js';
import { violationAt } from '../contract/violations.ts';
import type { Core } from '../feature.ts';
import { isText } from '../http/body/formats.ts';
import { fillTemplate, type Ids, notFound } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { preconditionFailed, stateHeaders, writeCondition } from '../records/preconditions.ts';
import { readKey } from '../retries/feature.ts';
import { repetitionsIn } from './repetition.ts';
import { rewrite } from './rewrites.ts';

type Append = Input<Ids, { readonly text: string }>;
type Edit = Input<Ids, { readonly old_text: string; readonly new_text: string }>;

/** A name can lead to another note than at the first request. */
const DELETED = 'The note of the first request with this idempotency key was deleted.';

/** Why a text is refused: a code and a detail. The first two are about the text to replace. */
const REFUSALS: Readonly<Record<string, readonly [code: string, detail: string]>> = {
  absent: ['exists', 'must be in the body of the note, but is not'],
  several: ['exists', 'must be in the body of the note once, but is there more than once'],
  long: ['maxLength', `must leave the body with at most ${MAX_BODY_LENGTH} characters`],
  blank: ['pattern', 'must not leave the body blank'],
  repetitive: [
    'maxItems',
    `must not begin with more than ${MAX_REPETITIONS} repetitions of a text: begin it elsewhere`,
  ],
};

/**
 * The appends and the edits at the paths of notes. `append` and `edit` serve another `path` of the
 * note `note_id`, to which keys belong; they resolve with undefined if there is no such note.
 */
export function edits({ write }: Core) {
  async function perform(
    input: Append | Edit,
    path: string,
    ...texts: [text: string, oldText?: string]
  ): Promise<Reply | undefined> {
    const { parameters, headers, call } = input;
    const once = headers['idempotency-key'] === undefined ? undefined : readKey(input, path);
    const condition = writeCondition(headers);
    const note = await rewrite(write, parameters.note_id ?? 0, condition, once, ...texts);
    if (!note) return undefined;
    const { state, tag, known } = note;
    if (state === 'unmatched') throw preconditionFailed(tag, headers);
    const isOld = state === 'absent' || state === 'several';
    refuse(state, call, texts.length === 1 ? 'text' : isOld ? 'old_text' : 'new_text');
    const { refusal, headers: added = [] } = once?.settle({ fingerprint: known }) ?? {};
    if (refusal) throw refusal;
    if (note.isOther) throw new Problem('not-found', DELETED);
    return jsonReply(200, note.text, [...stateHeaders(tag), ...added]);
  }

  const append = (input: Append, path: string) => perform(input, path, input.body.text);

  async function edit(input: Edit, path: string) {
    const { old_text: oldText, new_text: newText } = input.body;
    if (repetitionsIn(oldText) > MAX_REPETITIONS) refuse('repetitive', input.call, 'old_text');
    return perform(input, path, newText, oldText);
  }

  const routes = () => [
    routeOf('/notes/{note_id}/append', append, readText),
    routeOf('/notes/{note_id}/edit', edit),
  ];
  return { routes, append, edit, readText, refuseBlank };
}

/** Returns the members of a body; a text is one of them. */
function readText({ format, body }: Call): unknown {
  return isText(format) ? { text: body } : body;
}

function refuseBlank(text: string, call: Call): void {
  if (!/\S/.test(text)) refuse('blank', call, 'text');
}

/** Throws 422 if `state` is a reason to refuse the text in `field`. */
function refuse(state: string, { format }: Call, field: string): void {
  const [code, detail = ''] = REFUSALS[state] ?? [];
  if (!code) return;
  throw validationFailed([violationAt(`/${field}`, code, detail, !isText(format))]);
}

function routeOf<Body>(
  template: string,
  perform: (input: Input<Ids, Body>, path: string) => Promise<Reply | undefined>,
  readBody?: ReadBody,
): Route {
  async function answer(input: Input<Ids, Body>): Promise<Reply> {
    const reply = await perform(input, fillTemplate(template, input.parameters));
    if (!reply) throw notFound('Note', input.call.pathValues[0]);
    return reply;
  }
  return endpoint('POST', template, answer, readBody);
}
