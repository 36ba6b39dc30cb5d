// The texts of --help, of the whole command and of each sub-command.
import { RESOURCE_NAMES } from '../resources/resources.ts';
import { type Flag, HELP_FLAG, usageOf } from './arguments.ts';
import { findCommand, VERSION_FLAG } from './command-line.ts';
import { SUB_COMMANDS, type SubCommand } from './commands.ts';
import { OPTIONS } from './option-table.ts';

type Row = readonly [left: string, right: string];

/** Returns the text of --help for `command`, or for the service. Throws UsageError. */
export function helpText(command?: string): string {
  if (command !== undefined) return commandHelp(findCommand(command));
  const commands = SUB_COMMANDS.map(({ name, help }): Row => [name, help]);
  const options = [...Object.values(OPTIONS), HELP_FLAG, VERSION_FLAG].map(rowOf);
  return `Usage: notes-server [OPTIONS]
       notes-server COMMAND [ARGUMENTS]

Keeps ${RESOURCE_NAMES} in SQLite and serves them as JSON over HTTP.

Examples:
  notes-server --db /var/lib/notes.db --port 8080
  notes-server --host 0.0.0.0 --api-keys-file keys
  notes-server backup notes-backup.db --db /var/lib/notes.db

Commands ("notes-server help COMMAND" describes one):
${formatRows(commands)}

Options:
${formatRows(options)}

Each option can also be set in the environment: --body-limit as NOTES_BODY_LIMIT and so on; several
values are separated by commas. PORT and HOST count if NOTES_PORT and NOTES_HOST are not set. The
keys in NOTES_API_KEYS, separated by commas, count in addition to those of the file; clients send
"authorization: Bearer KEY". The log warns of other variables that begin with NOTES_, and of those
that Kubernetes sets for a Service called notes, which are ignored.

For a cluster of rqlite nodes, use --db rqlite://HOST:PORT,HOST:PORT (rqlites:// for TLS).
Parameters may follow: ?level=linearizable (the default) or ?level=weak, and &user=NAME, whose
password is in NOTES_DB_PASSWORD or in the file of --db-password-file.

The guides are at /docs of a running service; /docs/guides/deployment has examples for systemd,
nginx, Caddy and containers.
`;
}

function commandHelp({ name, operand, flags, help, example }: SubCommand): string {
  const usages = flags.map((flag) => `[${usageOf(flag)}]`);
  return `Usage: notes-server ${[name, operand, ...usages].filter(Boolean).join(' ')}

${help.replace(/^./, (first) => first.toUpperCase())}.

Options:
${formatRows([...flags, HELP_FLAG].map(rowOf))}

Example:
  notes-server ${example}
`;
}

function rowOf(flag: Flag): Row {
  const { short, value, help, default: byDefault } = flag;
  const left = short ? `-${short}, ${usageOf(flag)}` : usageOf(flag);
  return [left, value && byDefault ? `${help} (default: ${byDefault})` : help];
}

function formatRows(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
