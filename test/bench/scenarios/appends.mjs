// Compares appends of many clients to one note with creations of notes. Now and then, a client
// makes the note short again.
import { least, median } from '../figures.mjs';
import { generate } from '../load.mjs';
import { SERVERS, withServers } from '../servers.mjs';

export const about = 'appends to one note, beside POST /notes';

export const defaults = { connections: 64, rounds: 10, seconds: 1, lines: [60, 600] };

export async function run({ connections, rounds, seconds, lines }) {
  await withServers({ ours: SERVERS.ours }, { notes: 1 }, async ([{ url, cpu }]) => {
    for (const notes of lines) {
      const figures = { post: { rate: [], cpuUs: [] }, append: { rate: [], cpuUs: [] } };
      for (let round = 0; round < rounds; round += 1) {
        for (const [work, { rate, cpuUs }] of Object.entries(figures)) {
          const before = cpu();
          const measured = await generate(url, work, { connections, seconds, notes });
          const { 200: appended = 0, 201: created = 0, ...others } = measured.statuses;
          if (Object.keys(others).length > 0) throw new Error(JSON.stringify(others));
          rate.push((appended + created) / measured.seconds);
          cpuUs.push((1e6 * (cpu() - before)) / (appended + created));
        }
      }
      const { post, append } = figures;
      const ratios = append.rate.map((rate, round) => rate / post.rate[round]);
      console.log(
        `a note of up to ${notes} lines: ${median(append.rate).toFixed(0)} appends/s, ` +
          `${median(ratios).toFixed(2)} of POST; CPU ${least(append.cpuUs).toFixed(1)} us, ` +
          `POST ${least(post.cpuUs).toFixed(1)} us`,
      );
    }
  });
}
