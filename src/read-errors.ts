// Why a file that the user has named cannot be read.

/** The reason by the code of the error. */
export const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  EIO: 'the system reports an I/O error',
};
