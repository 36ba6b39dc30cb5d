// Statistics over several rounds.

/** Returns the quantile: the fraction `share` of `figures` is below it. */
export const quantile = (figures, share) =>
  figures.toSorted((one, other) => one - other)[Math.floor(share * (figures.length - 1))];

/** Returns the median. */
export const median = (figures) => quantile(figures, 0.5);

/**
 * Returns the Markdown table of the guide: for each kind of work and number of connections, the
 * requests per second of the service and its ratio to each of the other servers.
 */
export function ratioTable(results) {
  const others = [...new Set(results.map(({ server }) => server))].filter(
    (server) => server !== 'ours',
  );
  const rows = results
    .filter(({ server }) => server === 'ours')
    .map(({ work, connections, rate }) => {
      const ratios = others.map((other) => {
        const peer = results.find(
          (row) => row.work === work && row.connections === connections && row.server === other,
        );
        return (median(rate) / median(peer.rate)).toFixed(2);
      });
      return [work, String(connections), Math.round(median(rate)).toLocaleString('en'), ...ratios];
    });
  const table = [['work', 'connections', 'requests/s', ...others], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(table[0]), rule, ...table.slice(1).map(line)].join('\n');
}
