// What the cluster reports of a statement is what SQLite returns. Long runs are in the endurance
// tests.
import { test } from 'node:test';
import { foretellTaggings, foretellWrites } from './foretold-rows.ts';

test('foretold rows: random batches of all kinds of writes', (t) => foretellWrites(t, 20));

test('foretold rows: random batches of writes with tags on notes', (t) => foretellTaggings(t, 4));
