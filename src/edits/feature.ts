// Appends to notes, and edits of them in one place: clients need neither read nor send the body.
import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import { MAX_BODY_LENGTH } from '../contract/generated.js';
import type { Core, Feature } from '../feature.ts';
import { isText } from '../http/body/formats.ts';
import { fillTemplate, type Ids, notFound } from '../http/paths.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import { preconditionFailed, stateHeaders, writeCondition } from '../records/preconditions.ts';
import { readKey } from '../retries/feature.ts';
import { createRewriter } from './rewrites.ts';

type Append = Input<Ids, { readonly text: string }>;
type Edit = Input<Ids, { readonly old_text: string; readonly new_text: string }>;

const APPEND = '/notes/{note_id}/append';
const EDIT = '/notes/{note_id}/edit';

/** An edit counts as one request, plus one for this many characters to be found. */
const CHARACTERS_PER_REQUEST = 500;

/** Why a text is refused: a code and a detail. The first two are about the text to replace. */
const REFUSALS: Readonly<Record<string, readonly [code: string, detail: string]>> = {
  absent: ['exists', 'must be in the body of the note, but is not'],
  several: ['exists', 'must be in the body of the note once, but is there more than once'],
  long: ['maxLength', `must leave the body with at most ${MAX_BODY_LENGTH} characters`],
  blank: ['pattern', 'must not leave the body blank'],
};

/** The appends and the edits, each at its path. */
export function edits({ write }: Core): Feature {
  const rewrite = createRewriter(write);

  async function perform(
    input: Append | Edit,
    path: string,
    text: string,
    oldText?: string,
  ): Promise<Reply> {
    const { parameters, headers, call } = input;
    const hasKey = headers['idempotency-key'] !== undefined;
    const once = hasKey ? readKey(input, fillTemplate(path, parameters)) : undefined;
    const condition = writeCondition(headers);
    const note = await rewrite(parameters.note_id ?? 0, condition, once, text, oldText);
    if (!note) throw notFound('Note', call.pathValues[0]);
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

  return {
    routes: () => [
      endpoint(
        'POST',
        APPEND,
        (input: Append) => perform(input, APPEND, input.body.text),
        ({ format, body }) => (isText(format) ? { text: body } : body),
      ),
      endpoint('POST', EDIT, async (input: Edit) => {
        const { old_text: oldText, new_text: newText } = input.body;
        const charge = Math.floor(oldText.length / CHARACTERS_PER_REQUEST);
        if (charge > 0) await input.call.charge(charge);
        return perform(input, EDIT, newText, oldText);
      }),
    ],
  };
}
