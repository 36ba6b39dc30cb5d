// Random characters for fast-check, whose own unit `binary` takes a second to build in a process.
import fc from 'fast-check';

/** Any character, but no half of a surrogate pair. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
