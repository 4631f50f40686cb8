import { exitCode, Problem } from '../../problem/problem.ts';
import { type LockAnswer, silence } from './lock.ts';

/** Another run has the lock of a host. */
export class LockRefused extends Problem {
  readonly host: string;
  /** Who has it, what it runs, and since when. */
  readonly holder: string;

  constructor(host: string, { holder, silent }: LockAnswer & { taken: false }) {
    const owner = holder
      ? `${holder.who} (process ${holder.process.pid}), which runs ${holder.playbook} on ${holder.inventory} since ${holder.since}`
      : 'another run that is just beginning';
    const isSilent = silent > silence;
    super(`${host} is locked by ${owner}${isSilent ? `, without a heartbeat for ${silent} s` : ''}`, {
      code: exitCode.locked,
      hint: isSilent
        ? 'if that run is dead, take the lock from it: --break-lock'
        : 'wait for it to end, as a playbook does with --wait 10m; --check and status need no lock',
    });
    this.host = host;
    this.holder = isSilent ? `${owner}, without a heartbeat for more than ${silence} s` : owner;
  }
}
