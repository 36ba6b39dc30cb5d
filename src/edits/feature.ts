// Appends to notes, and edits of them in one place: clients need neither read nor send the body.
import { sliceCharacters } from '../characters.ts';
import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import { BOUNDS, MAX_BODY_LENGTH, MAX_TITLE_LENGTH } from '../contract/generated.js';
import { violationAt } from '../contract/violations.ts';
import type { Core } from '../feature.ts';
import { isText } from '../http/body/formats.ts';
import { notFound } from '../http/paths.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call } from '../http/route.ts';
import type { RecordInput } from '../records/parts.ts';
import { preconditionFailed, stateHeaders, writeCondition } from '../records/preconditions.ts';
import { notes } from '../resources/notes.ts';
import { createKeyFinder, readKey, settleKey } from '../retries/feature.ts';
import type { Write } from '../storage/writer.ts';
import { describeLookAlike } from './look-alike.ts';
import { rewrite } from './rewrites.ts';

/** The members of bodies: an append has `text`, an edit the others. */
type EditBody = {
  readonly text: string;
  readonly old_text?: string;
  readonly new_text: string;
};

type AtId = Input<{ readonly note_id: number }, EditBody> & Pick<RecordInput, 'at' | 'keyPath'>;

/** How many places of a text are counted. */
const MAX_COUNT = 100;

/** The longest part that a text can repeat too often, in units of UTF-16. */
const MAX_PART = Math.floor((2 * MAX_BODY_LENGTH) / BOUNDS.repetitions);

/**
 * Matches a text that begins with too many repetitions of a part. To find it takes long, and
 * meanwhile no other write is carried out.
 */
const REPETITIVE = new RegExp(`^((.).{0,${MAX_PART - 1}}?)\\1{${BOUNDS.repetitions - 1}}\\2`, 's');

/** Why a text is refused: a code and a detail. The first two are about the text to replace. */
const REFUSALS: Readonly<Record<string, readonly [code: string, detail: string]>> = {
  absent: ['exists', 'must be in the body of the note, but is not'],
  several: ['exists', 'must be in the body of the note once, but is there more than once'],
  long: ['maxLength', `must leave the body with at most ${MAX_BODY_LENGTH} characters`],
  blank: ['pattern', 'must not leave the body blank'],
  repetitive: [
    'maxItems',
    `must not begin with more than ${BOUNDS.repetitions} repetitions of a text: begin it elsewhere`,
  ],
};

/** The appends and the edits of notes, what names have of them, and what finds those of keys. */
export function edits(core: Core) {
  async function perform(suffix: string, input: AtId): Promise<Reply> {
    const { parameters, headers, call, at, keyPath } = input;
    const { old_text: oldText, new_text: newText, text = newText } = input.body;
    if (oldText && REPETITIVE.test(oldText)) refuse('repetitive', call, 'old_text');
    const once = readKey(input, keyPath ?? `/notes/${parameters.note_id}${suffix}`);
    const condition = writeCondition(headers);
    const write: Write = (kind, content) => core.write(kind, content, call);
    const note = await rewrite(write, parameters.note_id, condition, once, text, oldText, at);
    if (!note) throw notFound(notes.label, call.pathValues[0]);
    const { state, tag, known } = note;
    if (state === 'unmatched') throw preconditionFailed(tag, headers);
    const isOld = oldText !== undefined && (state === 'absent' || state === 'several');
    const field = oldText === undefined ? 'text' : isOld ? 'old_text' : 'new_text';
    refuse(state, call, field, isOld ? describePlaces(JSON.parse(note.text).body, oldText) : '');
    const { refusal, headers: added = [] } = once ? settleKey(once.fingerprint, known) : {};
    if (refusal) throw refusal;
    return jsonReply(200, note.text, [...stateHeaders(tag), ...added]);
  }

  const operationAt = (suffix: string) =>
    ({ method: 'POST', suffix, readBody, perform: perform.bind(undefined, suffix) }) as const;
  const operations = [{ ...operationAt('/append'), newNote }, operationAt('/edit')];
  return {
    operations,
    findAnswered: createKeyFinder(core),
    routes: () =>
      operations.map((each) =>
        endpoint(each.method, `/notes/{note_id}${each.suffix}`, each.perform, readBody),
      ),
  };
}

/** Returns the members of a body; a text is one of them. */
function readBody({ format, body }: Call): unknown {
  return isText(format) ? { text: body } : body;
}

/** Returns the note that an append creates. Throws 422. */
function newNote({ parameters, body, call }: Input<{ readonly name: string }, EditBody>) {
  if (!/\S/.test(body.text)) refuse('blank', call, 'text');
  const title = sliceCharacters(parameters.name, 0, MAX_TITLE_LENGTH);
  return { title: /\S/.test(title) ? title : '-', body: body.text };
}

/** Says how often a text is in a body, or how a passage that looks alike differs. */
function describePlaces(body: string, text: string): string {
  let count = 0;
  for (let at = body.indexOf(text); at !== -1 && count < MAX_COUNT; at = body.indexOf(text, at + 1))
    count += 1;
  if (count === 0) return describeLookAlike(body, text);
  return `: ${count < MAX_COUNT ? count : `at least ${MAX_COUNT}`} times`;
}

/** Throws 422 if `state` is a reason to refuse the text in `field`. */
function refuse(state: string, { format }: Call, field: string, hint = ''): void {
  const [code, detail = ''] = REFUSALS[state] ?? [];
  if (!code) return;
  throw validationFailed([violationAt(`/${field}`, code, detail + hint, !isText(format))]);
}
