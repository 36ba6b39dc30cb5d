// Statistics over several rounds.

/** Returns the quantile: the fraction `share` of `figures` is below it. */
export const quantile = (figures, share) =>
  figures.toSorted((one, other) => one - other)[Math.floor(share * (figures.length - 1))];

/** Returns the median. */
export const median = (figures) => quantile(figures, 0.5);

/** Returns the least figure. */
export const least = (figures) => Math.min(...figures);

/**
 * Returns the Markdown table of the guide: for each kind of work and number of connections, the
 * requests per second of the service, its least CPU time per request, and how many times as much
 * each of the other servers takes.
 */
export function ratioTable(results) {
  const others = [...new Set(results.map(({ server }) => server))].filter(
    (server) => server !== 'ours',
  );
  const rows = results
    .filter(({ server }) => server === 'ours')
    .map(({ work, connections, rate, cpuUs }) => {
      const ratios = others.map((other) => {
        const peer = results.find(
          (row) => row.work === work && row.connections === connections && row.server === other,
        );
        return (least(peer.cpuUs) / least(cpuUs)).toFixed(2);
      });
      const figures = [Math.round(median(rate)).toLocaleString('en'), least(cpuUs).toFixed(1)];
      return [work, String(connections), ...figures, ...ratios];
    });
  const table = [['work', 'connections', 'requests/s', 'CPU µs', ...others], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(table[0]), rule, ...table.slice(1).map(line)].join('\n');
}
