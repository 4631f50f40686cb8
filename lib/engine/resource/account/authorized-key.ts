import { command } from '../../host/step.ts';
import { inTheWay, isFileOrLink, kindOf } from '../file/attributes.ts';
import { drift, ok, type Resource, unknownUntil } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { localUsers } from './accounts-file.ts';

/** To append a line takes no time. */
const seconds = 10;

/**
 * A user may log in with a key. Other keys stay; so do the options and the comment of a line that
 * has this key already.
 *
 * @param key a line of a `.pub` file, options before it included
 * @throws TypeError where the line has no key
 * @example authorizedKey('deploy', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ… deploy@example.org')
 */
export function authorizedKey(user: string, key: string): Resource {
  refuseNoText('authorizedKey', { user, key });
  const [, body] = /(?:^|\s)(AAAA[A-Za-z0-9+/]{16,}={0,2})(?:\s|$)/.exec(key) ?? [];
  if (body === undefined || key.includes('\n')) throw new TypeError('a key is one line of a .pub file');
  return {
    name: `${user} may log in with the key …${body.slice(-12)}`,

    async check(host) {
      const found = (await localUsers(host)).find(({ name }) => name === user);
      if (!found) return unknownUntil(`user ${user} exists`);
      const path = `${found.home}/.ssh/authorized_keys`;
      const [there, bytes] = await Promise.all([host.stat(path), host.read(path)]);
      const lines = bytes?.toString().split('\n') ?? [];
      if (lines.some((line) => !line.startsWith('#') && line.split(/\s+/).includes(body))) return ok;
      const difference = [{ what: path, was: 'without the key', wanted: 'with it' }];
      if (there && !isFileOrLink(there)) return drift(difference, inTheWay(path, kindOf(there), 'file'));
      // As the user: root would follow a link that the user puts there. OpenSSH ignores a file
      // that others may write to. The user can put a pipe there at any time, or stop the
      // processes, so there is a time limit.
      const add = command`
        printf '%s\\n' ${key} | timeout -k 2 ${seconds} runuser -u ${user} -- sh -c 'umask 077
        cd -- "$1" && mkdir -p .ssh && cd .ssh || exit
        if [ -e authorized_keys ] && [ ! -f authorized_keys ]; then echo "$2 is not a regular file" >&2; exit 1; fi
        [ -z "$(tail -c 1 authorized_keys 2>/dev/null)" ] || echo >> authorized_keys
        cat >> authorized_keys' sh ${found.home} ${path}
        code=$?
        case $code in 124 | 137) echo ${`${path} could not be written within ${seconds} s`} >&2 ;; esac
        exit $code`;
      return drift(difference, [add]);
    },
  };
}
