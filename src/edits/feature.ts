// Appends to notes, and edits of them in one place: clients need neither read nor send the body.
import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import { MAX_BODY_LENGTH } from '../contract/generated.js';
import type { Core } from '../feature.ts';
import { isText } from '../http/body/formats.ts';
import { fillTemplate, type Ids, notFound } from '../http/paths.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call } from '../http/route.ts';
import { preconditionFailed, stateHeaders, writeCondition } from '../records/preconditions.ts';
import { readKey } from '../retries/feature.ts';
import { rewrite } from './rewrites.ts';

type Append = Input<Ids, { readonly text: string }>;
type Edit = Input<Ids, { readonly old_text: string; readonly new_text: string }>;

/** A note to change. */
interface Target {
  readonly id: number;
  /** The path of the request, to which its key belongs. */
  readonly path: string;
  /** Answers if there is no such note. */
  readonly otherwise: () => Reply | Promise<Reply>;
}

const APPEND = '/notes/{note_id}/append';
const EDIT = '/notes/{note_id}/edit';

/** An edit counts as one request, plus one for this many characters to be found. */
const CHARACTERS_PER_REQUEST = 1_000;

/** Why a text is refused: a code and a detail. The first two are about the text to replace. */
const REFUSALS: Readonly<Record<string, readonly [code: string, detail: string]>> = {
  absent: ['exists', 'must be in the body of the note, but is not'],
  several: ['exists', 'must be in the body of the note once, but is there more than once'],
  long: ['maxLength', `must leave the body with at most ${MAX_BODY_LENGTH} characters`],
  blank: ['pattern', 'must not leave the body blank'],
};

/** The appends and the edits at the paths of notes; `append` and `edit` serve other paths. */
export function edits({ write }: Core) {
  async function perform(input: Append | Edit, target: Target, text: string, oldText?: string) {
    const { headers, call } = input;
    const once = headers['idempotency-key'] === undefined ? undefined : readKey(input, target.path);
    const note = await rewrite(write, target.id, writeCondition(headers), once, text, oldText);
    if (!note) return target.otherwise();
    const { state, tag, known } = note;
    if (state === 'unmatched') throw preconditionFailed(tag, headers);
    const [code, detail = ''] = REFUSALS[state] ?? [];
    if (code) {
      const isOld = state === 'absent' || state === 'several';
      const field = oldText === undefined ? 'text' : isOld ? 'old_text' : 'new_text';
      const pointer = isText(call.format) ? {} : { pointer: `#/${field}` };
      throw validationFailed([{ field, in: 'body', ...pointer, code, detail }]);
    }
    const { refusal, headers: added = [] } = once?.settle({ fingerprint: known }) ?? {};
    if (refusal) throw refusal;
    return jsonReply(200, note.text, [...stateHeaders(tag), ...added]);
  }

  const append = (input: Append, target: Target) => perform(input, target, input.body.text);

  async function edit(input: Edit, target: Target) {
    const { old_text: oldText, new_text: newText } = input.body;
    const charge = Math.floor(oldText.length / CHARACTERS_PER_REQUEST);
    if (charge > 0) await input.call.charge(charge);
    return perform(input, target, newText, oldText);
  }

  const routes = () => [
    endpoint('POST', APPEND, (input: Append) => append(input, targetOf(input, APPEND)), readText),
    endpoint('POST', EDIT, (input: Edit) => edit(input, targetOf(input, EDIT))),
  ];
  return { routes, append, edit };
}

function targetOf({ parameters, call }: Input<Ids, unknown>, path: string): Target {
  return {
    id: parameters.note_id ?? 0,
    path: fillTemplate(path, parameters),
    otherwise() {
      throw notFound('Note', call.pathValues[0]);
    },
  };
}

/** Returns the members of a body; a text is one of them. */
function readText({ format, body }: Call): unknown {
  return isText(format) ? { text: body } : body;
}
