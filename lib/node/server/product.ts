/**
 * Begins the names of files, units and labels on the hosts. It never changes: an upgrade would
 * leave the files of the old name.
 */
export const product = 'rpc-node';
