// Random batches of writes in numbers: on every engine as in a model, and with their rows foretold.
import { describe, test } from 'node:test';
import { foretellLinks, foretellWrites } from '../storage/foretold-rows.ts';
import { testLinkGames } from '../storage/link-suite.ts';
import { ENGINES, MEMORY } from '../support/engines.ts';

test('foretold rows: random batches of all kinds of writes', (t) => foretellWrites(t, 300));

test('foretold rows: random batches of writes with links', (t) => foretellLinks(t, 100));

for (const engine of [...ENGINES, MEMORY]) describe(engine.name, () => testLinkGames(engine, 50));
