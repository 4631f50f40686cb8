import { onHost } from '../../deploy/lab-host.ts';

/** Programs that a script of ours may call: before each of them stands one of ours, first on the path of a unit. */
const programs =
  'awk cat cp curl cut df dirname docker du find grep head ls mkdir mv pg_restore readlink rm rsync sed sha256sum sort stat sync systemctl tail umount wc xargs';

/**
 * Lets a host count the programs that scripts of a unit call, and run a fault right before the one of a certain number.
 *
 * @param unit name of the systemd unit, without `.service`
 */
export async function watchCommands(host: string, unit: string): Promise<void> {
  await onHost(
    host,
    `cat >/usr/local/sbin/counting <<'END'
#!/bin/sh
name=\${0##*/}
PATH=/usr/sbin:/usr/bin:/sbin:/bin
if grep -q /${unit}.service /proc/self/cgroup && [ -e /run/fault ]; then
  echo "$name $*" >>/run/counted
  number=$(wc -l </run/counted)
  if [ "$number" = "$(cat /run/fault.at)" ]; then sh /run/fault; fi
fi
exec "$name" "$@"
END
    chmod 755 /usr/local/sbin/counting
    for program in ${programs}; do ln -sf counting /usr/local/sbin/$program; done`,
  );
}

/** @param at number of the command before which it comes, from 1; 0 for none, so that commands are only counted */
export async function setFault(host: string, at: number, fault: string): Promise<void> {
  await onHost(host, `rm -f /run/counted; echo ${at} >/run/fault.at; cat >/run/fault <<'END'\n${fault}\nEND`);
}

/** From now on nothing is counted and no fault comes. @returns the commands that were called, in order */
export async function clearFault(host: string): Promise<string[]> {
  const counted = await onHost(host, 'cat /run/counted 2>/dev/null; rm -f /run/fault /run/counted');
  return counted.split('\n').filter(Boolean);
}
