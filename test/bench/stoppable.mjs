/**
 * Runs a measurement that removes what it made at its end, also when a signal stops it. Prints its
 * result.
 *
 * @param {string[]} numbers megabytes and rounds, as given on the command line
 * @param {(megabytes: number, rounds: number, how: { say: (line: string) => void, stopped: AbortSignal }) => Promise<string>} measure
 * @throws Error for what is no number from 1 on
 */
export async function measureStoppably(numbers, measure) {
  const [megabytes = Number.NaN, rounds = Number.NaN] = numbers.map(Number);
  if (!(megabytes >= 1) || !(rounds >= 1))
    throw new Error('--megabytes and --rounds must be numbers from 1 on');
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopped.abort());
  const say = (/** @type {string} */ line) => console.error(line);
  try {
    console.log(await measure(megabytes, rounds, { say, stopped: stopped.signal }));
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    console.error('stopped; nothing is left behind');
    process.exitCode = 130;
  }
}
