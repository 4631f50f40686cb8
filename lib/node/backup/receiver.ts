import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';

/** Ends processes, and waits until they have ended. */
const endAll = `for pid; do
  kill "$pid" 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.5; done
done
:`;

/**
 * No receiver of write-ahead log is left of a former Database+Sync server. Its connection may hang
 * for a quarter of an hour where that server, or its firewall, does not answer any more, and Barman
 * starts no other one beside it.
 *
 * @param address of the Database+Sync server, as Barman's settings have it. `barman cron` starts a
 * receiver of it within a minute
 */
export function noReceiverIsLeft(address: string): Resource {
  return task('write-ahead log is received from no other server', {
    check: async (host) => {
      const running = (await host.$`pgrep -u barman -x -a pg_receivewal`).lines();
      // One that has just ended has no words.
      const others = running.flatMap((line) => {
        const [, pid = '', server = address] = /^(\d+) .*\bhost=(\S+)/.exec(line) ?? [];
        return server === address ? [] : [{ pid, server }];
      });
      if (others.length === 0) return ok;
      return drift(
        [{ what: 'receiver', was: others.map(({ server }) => server).join(', '), wanted: address }],
        [command`sh -c ${endAll} end-receivers ${others.map(({ pid }) => pid)}`],
      );
    },
  });
}
