// What the guide to releasing promises beside the contract, as lines: options, commands, metrics.

import { SUB_COMMANDS } from '../../src/cli/commands.ts';
import type { Declaration } from '../../src/cli/option-table.ts';
import { OPTIONS } from '../../src/cli/option-table.ts';
import type { Service } from './service.ts';

/** Resolves with a line for each promise; a later version has all lines of an earlier one. */
export async function promisesOf(service: Service): Promise<string[]> {
  const options = Object.values<Declaration>(OPTIONS).map(
    ({ flag, default: byDefault = 'none', variable = 'no other variable' }) =>
      `option --${flag}, default ${byDefault}, ${variable}`,
  );
  const commands = SUB_COMMANDS.flatMap(({ name, operand, flags }) => [
    `command ${name} ${operand}`.trim(),
    ...flags.map(({ flag }) => `command ${name} --${flag}`),
  ]);
  const { text } = await service.request('GET', '/metrics');
  const metrics = [...text.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(
    ([, metric]) => `metric ${metric}`,
  );
  return [...options, ...commands, ...metrics];
}
