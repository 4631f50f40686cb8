import { describe, expect, test } from 'vitest';
import { Problem, Problems } from '../../engine/problem/problem.ts';
import { chooseHosts } from './choose-hosts.ts';
import { parseOptions } from './options.ts';

/** Chooses hosts of the lab before its first start, when the files that it makes are missing. */
async function choose(args: readonly string[], refuse?: () => void) {
  const loaded: string[] = [];
  let starts = 0;
  const choosing = chooseHosts(
    parseOptions(args, []),
    undefined,
    {
      load: async (name) => {
        loaded.push(name);
        throw new Problems([new Problem('.lab/vars.yaml does not exist')]);
      },
      embedded: 'lab',
      ...(refuse && { refuse }),
      prepareEmbedded: async () => void starts++,
    },
    () => {},
  );
  const message = await choosing.then(
    () => '',
    (error: Error & { hint?: string }) => [error.message, error.hint].join('\n'),
  );
  return { message, starts, loaded };
}

test.each([[[]], [['--check']], [['--inventory', '']]])(
  'without an inventory nothing is loaded or started: %j',
  async (args) => {
    expect(await choose(args)).toEqual({
      message:
        'no --inventory given\n--inventory NAME, one of lab, lab-fleet, lab-single, lab-week, mainnet, testnet; or the path of a file',
      starts: 0,
      loaded: [],
    });
  },
);

describe('a host that the lab does not have is refused before the lab is started', () => {
  test.each([
    ['--limit', 'rpc-l', 'no host or group is called "rpc-l"\ndid you mean rpc-1?'],
    ['--assume-stopped', 'rpc-l', '--assume-stopped: lab has no host "rpc-l"\ndid you mean rpc-1?'],
  ])('%s %s', async (option, host, message) => {
    expect(await choose(['--inventory', 'lab', option, host])).toMatchObject({ message, starts: 0 });
  });

  test('hosts that it has start it', async () => {
    expect(await choose(['--inventory', 'lab', '--limit', 'rpc'])).toMatchObject({ starts: 1 });
  });

  test("a host that the playbook's own option may not name", async () => {
    const refused = await choose(['--inventory', 'lab'], () => {
      throw new Problem('--host: lab has no host "db-1" in group rpc');
    });
    expect(refused).toMatchObject({ message: expect.stringContaining('no host "db-1"'), starts: 0 });
  });
});
