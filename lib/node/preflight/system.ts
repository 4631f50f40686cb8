import { drift, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { requiredCpuFlags } from '../server/hardware.ts';
import type { Variables } from '../variables/variables.ts';
import { known } from './known.ts';

/** Supported and tested. */
const distributions = ['debian 12', 'debian 13', 'ubuntu 22.04', 'ubuntu 24.04'];

/**
 * time-sync fixes small differences. With hours of difference, packages and certificates are not
 * valid. Seconds.
 */
const largestOffset = 3600;

/**
 * A host has a supported system, a clock that is nearly right, and a processor that runs the
 * prover. A replica runs no prover.
 */
export function systemIsSupported(context: Context<Variables>): Resource[] {
  const { facts, host } = context;
  const { id, version, title } = facts.distribution;
  return [
    known(
      'distribution is Debian 12 or 13, or Ubuntu 22.04 or 24.04',
      distributions.includes(`${id} ${version}`) ? ok : drift(`it is ${title || 'unknown'}`),
      { hint: 'install one of these on the host' },
    ),
    known(
      'processor is x86_64',
      facts.architecture === 'x86_64' ? ok : drift(`it is ${facts.architecture}`),
      {
        hint: 'the images of the node and the prover are for x86_64 only',
      },
    ),
    known('systemd is the first process', facts.systemd ? ok : drift('it is not'), {
      hint: 'the deployment needs systemd units: use a host that boots with systemd',
    }),
    clockIsRight(context),
    ...(host.groups.includes('replica') ? [] : requiredCpuFlags).map((flag) =>
      known(
        `processor has ${flag}`,
        facts.cpu.flags.includes(flag) ? ok : drift(`${facts.cpu.model || 'it'} has no ${flag}`),
        {
          hint: 'the prover crashes at its start without it; on a virtual machine, pass through the processor of its host',
        },
      ),
    ),
  ];
}

function clockIsRight({ facts: { clockOffset }, host }: Context<Variables>): Resource {
  const hours = (Math.abs(clockOffset) / 3600).toFixed(1);
  const seen = `it is ${hours} h ${clockOffset < 0 ? 'behind' : 'ahead of'} this machine's`;
  return known('clock is right to the hour', Math.abs(clockOffset) <= largestOffset ? ok : drift(seen), {
    hint: `set it once, role time-sync then keeps it: ssh ${host.connection.address} sudo date -u -s @$(date +%s)`,
  });
}
