import { command } from '../../host/action.ts';
import { drift, ok, type Resource, unknownUntil } from '../resource.ts';
import { localUsers } from './accounts-file.ts';

/**
 * A user may log in with a key. Other keys stay; so do the options and the comment of a line that has this key already.
 *
 * @param key a line of a `.pub` file, options before it included
 * @throws TypeError where the line has no key
 * @example authorizedKey('deploy', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ… deploy@example.org')
 */
export function authorizedKey(user: string, key: string): Resource {
  const [, body] = /(?:^|\s)(AAAA[A-Za-z0-9+/]{16,}={0,2})(?:\s|$)/.exec(key) ?? [];
  if (body === undefined || key.includes('\n')) throw new TypeError('a key is one line of a .pub file');
  return {
    name: `${user} may log in with the key …${body.slice(-12)}`,

    async check(host) {
      const found = (await localUsers(host)).find(({ name }) => name === user);
      if (!found) return unknownUntil(`user ${user} exists`);
      const path = `${found.home}/.ssh/authorized_keys`;
      const lines = (await host.read(path))?.toString().split('\n') ?? [];
      if (lines.some((line) => !line.startsWith('#') && line.split(/\s+/).includes(body))) return ok;
      // As the user: root would follow a link that the user puts there. OpenSSH ignores a file that others may write to.
      const add = command`
        printf '%s\\n' ${key} | runuser -u ${user} -- sh -c 'umask 077; cd -- "$1" && mkdir -p .ssh && cd .ssh || exit
        [ -z "$(tail -c 1 authorized_keys 2>/dev/null)" ] || echo >> authorized_keys
        cat >> authorized_keys' sh ${found.home}`;
      return drift([{ what: path, was: 'without the key', wanted: 'with it' }], [add]);
    },
  };
}
