// Prints the statements that the service sends to SQLite, for `npm run sql`. They can be pasted
// into its shell on a database of the service. With `-- --cluster`, the query for the rows that a
// cluster stores follows each statement that returns some.
import { layOut } from './sql-layout.ts';
import { collectStatements } from './statements.ts';

const isForCluster = process.argv.includes('--cluster');
const releases: (() => unknown)[] = [];
const statements = await collectStatements({ after: (release) => releases.unshift(release) });
for (const { name, statement } of statements) {
  const { sql, rows, parameter } = statement;
  const setting = parameter === undefined ? '' : `.parameter set ?1 '${parameter}'\n`;
  console.log(`-- ${name}\n${setting}${layOut(sql)};\n`);
  if (rows && isForCluster) console.log(`-- ${name}: its rows\nSELECT ${layOut(rows)};\n`);
}
for (const release of releases) await release();
