// Times as in RFC 3339. They are read exactly: the service stores ms, but a client may send more.

const FORM = /^(\d{4}-\d\d-(\d\d)T\d\d:\d\d:\d\d)(?:\.(\d{1,30}))?(?:Z|([+-])(\d\d):(\d\d))$/i;

/** Returns the ms since 1970 at and after which `text` lies, or undefined if it is no such time. */
export function parseTime(text: string): { floor: number; ceiling: number } | undefined {
  const [, local = '', day, fraction = '', sign, hours, minutes] = FORM.exec(text) ?? [];
  const seconds = Date.parse(`${local}Z`);
  // The parser of JavaScript takes 30 February for 2 March, and 24:00:00 for the next day.
  if (new Date(seconds).getUTCDate() !== Number(day)) return undefined;
  if (Number(hours ?? 0) > 23 || Number(minutes ?? 0) > 59) return undefined;
  const offset = sign ? Number(`${sign}60000`) * (60 * Number(hours) + Number(minutes)) : 0;
  const floor = seconds - offset + Number(fraction.slice(0, 3).padEnd(3, '0'));
  return { floor, ceiling: floor + (/[1-9]/.test(fraction.slice(3)) ? 1 : 0) };
}

/** Returns the SQL of a time in RFC 3339 (UTC, milliseconds) for the SQL of ms since 1970. */
export function timeSql(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}
