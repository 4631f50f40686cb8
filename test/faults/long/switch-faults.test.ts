import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { onHost } from '../../deploy/lab-host.ts';
import { runPlaybook, startPlaybook } from '../../deploy/playbook.ts';
import {
  address,
  deployWithReplica,
  expectConverged,
  other,
  type Server,
  servedBy,
  switchTo,
  watchWriters,
} from '../../deploy/switched-lab.ts';
import { measured } from '../measured.ts';
import { randomFrom } from '../random.mjs';
import { seed } from '../seed.ts';

const wanted = Number(process.env.SWITCH_FAULTS ?? 200);
/** A switch is over after this time, but for the replica's last steps. Seconds. */
const longest = 45;

deployWithReplica();

/** The packets that a fault drops, and on which host. */
const partitions = {
  'the controller and the former server': (to: Server) => [other(to), '-p tcp --dport 22'],
  'the controller and the new server': (to: Server) => [to, '-p tcp --dport 22'],
  'both servers': (to: Server) => [to, `-s ${address[other(to)]}`],
} as const;

describe('a switch of the Database+Sync server, killed and cut off at random', () => {
  test(
    'the next run goes on: never two synchronizers, never two servers that accept writes',
    async ({ task }) => {
      const random = randomFrom(seed);
      const end = watchWriters();
      let server: Server = 'db-1';
      const counts = { kills: 0, partitions: 0, switches: 0 };
      while (counts.kills + counts.partitions < wanted) {
        const to = other(server);
        const run = startPlaybook(
          'switch',
          '--inventory',
          await servedBy(to),
          '--to',
          to,
          '--yes',
          '--break-lock',
        );
        const over = run.ended.then(({ exitCode }) => exitCode);
        const isOver = await Promise.race([over, sleep(random.below(longest * 1000))]);
        if (isOver === 0) {
          server = to;
          counts.switches += 1;
          continue;
        }
        const cut = random.of([...Object.values(partitions), undefined, undefined, undefined]);
        if (cut) {
          const [host = '', rule] = cut(to);
          await onHost(host, `iptables -I INPUT ${rule} -j DROP`);
          await Promise.race([over, sleep(5000 + random.below(10_000))]);
          run.child.kill('SIGKILL');
          await onHost(host, `iptables -D INPUT ${rule} -j DROP`);
          counts.partitions += 1;
        } else {
          run.child.kill('SIGKILL');
          counts.kills += 1;
        }
        await over;
      }
      expectConverged(await switchTo(other(server), '--break-lock'));
      const seen = await end();
      measured(
        task,
        `${counts.kills} runs killed, ${counts.partitions} partitions, ${counts.switches + 1} switches; at most ${seen.sync} synchronizer, ${seen.writes} server that accepts writes`,
      );
      expect(seen).toMatchObject({ sync: 1, writes: 1 });
      expectConverged(await runPlaybook('deploy', '--inventory', await servedBy(other(server)), '--check'));
    },
    4 * 3_600_000,
  );
});
