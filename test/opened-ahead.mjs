/**
 * Whether a channel was opened ahead (lib/engine/host/ssh/channel.ts): its shell reads the command that it runs.
 *
 * @param {string} line the command line of the channel
 */
export const isOpenedAhead = (line) => line.startsWith("sh -c 'IFS= read -r ");
