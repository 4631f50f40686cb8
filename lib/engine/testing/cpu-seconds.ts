/**
 * The processor time of a piece of work in this process, in seconds. Other programs on the machine
 * lengthen the time that passes, but hardly this one.
 */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
