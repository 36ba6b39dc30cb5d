// Hazard W6: a database with an unfinished import, on which no service starts.
import { runCommand, startCommand, stop } from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import type { Ends } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import { exported } from '../../support/in-process-command.ts';

/** How many notes there are: more than an import adds in one transaction. */
const NOTES = 5_000;

/** Exit statuses (0 is success), and a number of lines. */
export interface UnfinishedImportFigures {
  readonly [figure: string]: number;
  /** Of an import whose input breaks off. */
  readonly importStatus: number;
  /** Of a service on that file, which must not start. */
  readonly serviceStatus: number;
  /** Of `check`, which must find the unfinished import. */
  readonly checkStatus: number;
  /** How many lines of `check` name it. */
  readonly checkLines: number;
  /** Of `check --repair`, which must refuse it. */
  readonly repairStatus: number;
  /** Of the whole import, and then of `check` and of a service, which is stopped. */
  readonly secondImportStatus: number;
  readonly secondCheckStatus: number;
  readonly secondServiceStatus: number;
}

/** Interrupts an import, asks `check` and a service about the file, and finishes the import. */
export async function runUnfinishedImport(
  test: Ends & Parameters<typeof filledFile>[0],
): Promise<UnfinishedImportFigures> {
  const whole = await exported(await filledFile(test, NOTES));
  const db = newFile(test);
  const statusOf = async (args: string[], input = '') =>
    (await runCommand(test, args, { input })).status ?? -1;
  const serve = ['--port', '0', '--log-level', 'silent', '--db', db];
  const importStatus = await statusOf(['import', '--db', db], whole.slice(0, -1_000));
  const serviceStatus = await statusOf(serve);
  const check = await runCommand(test, ['check', db]);
  const repairStatus = await statusOf(['check', '--repair', db]);
  const secondImportStatus = await statusOf(['import', '--db', db], whole);
  const secondCheckStatus = await statusOf(['check', db]);
  const service = startCommand(test, serve);
  await service.ready();
  return {
    importStatus,
    serviceStatus,
    checkStatus: check.status ?? -1,
    checkLines: check.stdout.split('it holds an unfinished import').length - 1,
    repairStatus,
    secondImportStatus,
    secondCheckStatus,
    secondServiceStatus: (await stop(service)).status ?? -1,
  };
}
