// Random databases through export and import.
import { test } from 'node:test';
import { checkRoundTrips } from '../commands/round-trip.ts';

test('records: sixty random databases exported and imported', (t) => checkRoundTrips(t, 60));
