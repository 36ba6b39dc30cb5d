// Notes and comments as texts: Markdown or plain text in requests, and in answers to clients that
// prefer it to JSON.
import { preferredType } from '../http/accept.ts';
import { isText } from '../http/body/formats.ts';
import { jsonReply } from '../http/reply.ts';
import type { RecordFeature } from '../records/feature.ts';
import { checkRead, stateHeaders } from '../records/preconditions.ts';
import type { Texts } from '../records/route.ts';
import { comments } from '../resources/comments.ts';
import { notes } from '../resources/notes.ts';
import type { Members } from '../resources/resource.ts';
import { bodyInMarkdown, markdownOf, noteIn } from './members.ts';

/** The media types of texts, and what follows the tag of a record in that of its text. */
const ENDINGS: Readonly<Record<string, string>> = { 'text/markdown': '.md', 'text/plain': '.txt' };
const TYPES = Object.keys(ENDINGS);

/** The texts of notes and of comments, which are their bodies alone. */
export function texts(): RecordFeature {
  return {
    texts: new Map([
      [notes, textsOf(readNote, markdownOf)],
      [comments, textsOf((body) => ({ body }), bodyInMarkdown)],
    ]),
  };
}

function textsOf(
  readText: (text: string, parameters: Members) => Members,
  writeMarkdown: (record: Members) => string,
): Texts {
  return {
    readBody({ format, body }, parameters, violations) {
      if (isText(format)) return readText(String(body), parameters);
      for (const field of ['title', 'tags', 'name']) {
        const detail = 'belongs to a text; in JSON, send it as a member of the body';
        if (field in parameters) violations.push({ field, in: 'query', code: 'unknown', detail });
      }
      return body;
    },
    answerRead({ headers, call }, { tag: recordTag, text }) {
      const type = preferredType(call.headers.accept, TYPES);
      const tag = type === undefined ? recordTag : `${recordTag}${ENDINGS[type]}`;
      const state = [...stateHeaders(tag), 'vary', 'accept'];
      const known = checkRead(headers, tag, 'vary', 'accept');
      if (known) return known;
      if (type === undefined) return jsonReply(200, text, state);
      const record = JSON.parse(text);
      const body = type === 'text/markdown' ? writeMarkdown(record) : String(record.body);
      return { status: 200, headers: ['content-type', `${type}; charset=utf-8`, ...state], body };
    },
  };
}

/** The parameters have been checked. */
function readNote(text: string, { title, tags, name }: Members): Members {
  return { ...noteIn(text, title as string | undefined), tags, name };
}
