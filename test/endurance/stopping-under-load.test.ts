// SIGTERM under load, ten times on one file, with one process and with two.
import { test } from 'node:test';
import { stopUnderLoad } from '../support/stops.ts';

for (const processes of [1, 2]) {
  test(`stop: ten times under load, processes: ${processes}`, (t) =>
    stopUnderLoad(t, { stops: 10, clients: 64, answers: 1_000, processes }));
}
