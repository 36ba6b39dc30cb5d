// What a command goes through that goes through all data.
import type { Collection } from '../collections/collection.ts';
import { comments } from '../collections/comments.ts';
import { notes } from '../collections/notes.ts';
import { tags } from '../collections/tags.ts';
import type { Counts } from '../storage/id-pages.ts';
import { inDigits } from './progress.ts';

/** All collections, parents before their children. */
export const COLLECTIONS: readonly Collection[] = [notes, tags, comments];

/** Their tables, in the same order. */
export const TABLES = COLLECTIONS.map(({ shape }) => shape);

/** Returns how many records there are of each table, in words. */
export function inWords(counts: Counts): string {
  return counts.map(({ name, count }) => `${inDigits(count)} ${name}`).join(', ');
}
