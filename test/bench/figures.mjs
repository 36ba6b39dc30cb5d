// Figures of several rounds.

/** The share of `figures` that lies below the one returned is `share`. */
export const quantile = (figures, share) =>
  figures.toSorted((one, other) => one - other)[Math.floor(share * (figures.length - 1))];

/** The middle one. */
export const median = (figures) => quantile(figures, 0.5);

/**
 * The table of the guide in Markdown: for each work and number of connections in `results`, what
 * the service does in a second and how many times what each of the others does.
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
