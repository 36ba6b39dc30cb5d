// What a statement returns of the records that it has written: one text for each.
import type { Row } from '../database.ts';

/** What a statement returns of a record that it has written. */
export interface Written {
  readonly id: number;
  readonly tag: string;
  /** The id of the owner of a new record, the text of one that was patched. */
  readonly rest: string;
}

/** Returns the SQL of a {@link Written} as one text, because the package is slow for each value. */
export function writtenSql(id: string, tag = "''", rest = "''"): string {
  return `${id} || ' ' || ${tag} || ' ' || ${rest}`;
}

/** Returns what a row with {@link writtenSql} as its column `written` says. */
export function writtenIn({ written }: Row): Written {
  const text = String(written);
  const idEnd = text.indexOf(' ');
  const tagEnd = text.indexOf(' ', idEnd + 1);
  return {
    id: Number(text.slice(0, idEnd)),
    tag: text.slice(idEnd + 1, tagEnd),
    rest: text.slice(tagEnd + 1),
  };
}
