import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';

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
      const others = running.filter((line) => !`${line} `.includes(` host=${address} `));
      if (others.length === 0) return ok;
      const pids = others.map((line) => line.split(' ')[0] ?? '');
      const servers = others.map((line) => / host=(\S+)/.exec(line)?.[1] ?? 'another server');
      return drift([{ what: 'receiver', was: servers.join(', '), wanted: address }], [command`kill ${pids}`]);
    },
  });
}
