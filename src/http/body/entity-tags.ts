// Entity tags and the conditions on them (RFC 9110, sections 8.8.3 and 13.1).

/** An entity tag: its opaque part, without the quotes. */
export interface EntityTag {
  readonly text: string;
  readonly isWeak: boolean;
}

/** The value of if-match or if-none-match; `*` means any tag. */
export type EntityTags = '*' | readonly EntityTag[];

/** One element of the list: a tag with the comma or the end after it, or a lone comma. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,|$)|,)/y;

/** Parses a trimmed field; returns undefined unless it is `*` or a list of at least one tag. */
export function parseEntityTags(field: string): EntityTags | undefined {
  if (field === '*') return '*';
  const tags: EntityTag[] = [];
  ELEMENT.lastIndex = 0;
  while (ELEMENT.lastIndex < field.length) {
    const element = ELEMENT.exec(field);
    if (!element) return undefined;
    const [, weak, text] = element;
    if (text !== undefined) tags.push({ text, isWeak: weak !== undefined });
  }
  return tags.length > 0 ? tags : undefined;
}

/** Whether one of the tags is `text`, compared weakly (RFC 9110, section 8.8.3.2). */
export function matchesWeakly(tags: EntityTags, text: string): boolean {
  return tags === '*' || tags.some((tag) => tag.text === text);
}

/** Whether one of the tags is `text`, compared strongly. */
export function matchesStrongly(tags: EntityTags, text: string): boolean {
  return tags === '*' || tags.some((tag) => !tag.isWeak && tag.text === text);
}
