// Draws the benchmark as an SVG bar chart: the requests per second of each server, for each kind of
// work at 64 connections.
import { median } from './figures.mjs';

const WIDTH = 760;
const LABEL = 90;
const BAR = 14;
const COLOURS = { ours: '#0b7285', bare: '#adb5bd' };

/** Returns the `results` of bench.mjs as SVG. Each kind of work has its own scale. */
export function chart(results, connections = 64) {
  const rows = results.filter((row) => row.connections === connections);
  const parts = [];
  let y = 8;
  for (const work of new Set(rows.map((row) => row.work))) {
    const ofWork = rows.filter((row) => row.work === work);
    const most = Math.max(...ofWork.map(({ rate }) => median(rate)));
    parts.push(
      `<text x="0" y="${y + 12}" font-weight="bold">${work}, ${connections} connections, requests/s</text>`,
    );
    y += 20;
    for (const { server, rate } of ofWork) {
      const width = Math.max(1, ((WIDTH - LABEL - 90) * median(rate)) / most);
      parts.push(
        `<text x="${LABEL - 8}" y="${y + 11}" text-anchor="end">${server}</text>`,
        `<rect x="${LABEL}" y="${y}" width="${width.toFixed(0)}" height="${BAR}" fill="${COLOURS[server] ?? '#ced4da'}"/>`,
        `<text x="${LABEL + width + 6}" y="${y + 11}">${Math.round(median(rate)).toLocaleString('en')}</text>`,
      );
      y += BAR + 4;
    }
    y += 12;
  }
  const style = 'font: 12px system-ui, sans-serif; fill: currentColor';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="Requests a second of each server"><style>text { ${style} } svg { color: #212529 } @media (prefers-color-scheme: dark) { svg { color: #dee2e6 } }</style>${parts.join('')}</svg>\n`;
}
