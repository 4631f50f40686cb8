/**
 * Words of `sh` before those of a program, which then runs as on a full disk: it can make files and
 * rename them, and write nothing to them.
 */
export const onFullDisk = ['-c', `trap '' XFSZ; ulimit -f 0; exec "$@"`, 'sh'] as const;
