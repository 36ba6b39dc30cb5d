// Prints the statements that the service sends, for `npm run sql`. They can be pasted into the
// shell of SQLite on a database of the service. Where a cluster stores the rows of a statement, the
// query for them follows.
import { layOut } from './sql-layout.ts';
import { collectStatements } from './statements.ts';

const releases: (() => unknown)[] = [];
const statements = await collectStatements({ after: (release) => releases.unshift(release) });
for (const { name, statement } of statements) {
  const { sql, rows, parameter } = statement;
  const setting = parameter === undefined ? '' : `.parameter set ?1 '${parameter}'\n`;
  console.log(`-- ${name}\n${setting}${layOut(sql)};\n`);
  if (rows) console.log(`-- ${name}: its rows\nSELECT ${layOut(rows)};\n`);
}
for (const release of releases) await release();
