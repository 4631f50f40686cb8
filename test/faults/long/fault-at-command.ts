import { onHost } from '../../deploy/lab-host.ts';

/**
 * Programs that our script may call: each is wrapped by one of ours, which is first on the path of
 * a unit.
 */
const programs =
  'awk cat cp curl cut df dirname docker du find grep head ls mkdir mv pg_restore readlink rm rsync sed sha256sum sort stat sync systemctl tail umount wc xargs';

/**
 * A command of a script, and its occurrence with that text, from 1: the commands between may
 * differ from run to run.
 */
export interface CommandAt {
  readonly command: string;
  readonly time: number;
}

/**
 * Lets a host record the programs that scripts of a unit call, and injects a fault right before
 * one of them.
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
  # A name of mktemp and the number of a process differ from run to run.
  line=$(printf '%s\\n' "$name $*" | sed -E 's/(-trial)\\.[[:alnum:]]{6}/\\1/g; s|/proc/[0-9]+/|/proc/N/|g')
  printf '%s\n' "$line" >>/run/counted
  if [ "$line" = "$(cat /run/fault.before)" ] && [ "$(grep -cxF -- "$line" /run/counted)" = "$(cat /run/fault.time)" ]; then
    sh /run/fault
  fi
fi
exec "$name" "$@"
END
    chmod 755 /usr/local/sbin/counting
    for program in ${programs}; do ln -sf counting /usr/local/sbin/$program; done`,
  );
}

/**
 * @param before the command with the fault; undefined for none, so that commands are only recorded
 */
export async function setFault(host: string, before: CommandAt | undefined, fault: string): Promise<void> {
  const { command, time } = before ?? { command: '', time: 0 };
  await onHost(
    host,
    `rm -f /run/counted
     echo ${time} >/run/fault.time
     cat >/run/fault.before <<'END'\n${command}\nEND
     cat >/run/fault <<'END'\n${fault}\nEND`,
  );
}

/**
 * Ends recording and faults.
 *
 * @returns the commands that were called, in order
 */
export async function clearFault(host: string): Promise<CommandAt[]> {
  const counted = await onHost(host, 'cat /run/counted 2>/dev/null; rm -f /run/fault /run/counted');
  const commands = counted.split('\n').filter(Boolean);
  return commands.map((command, at) => ({
    command,
    time: commands.slice(0, at + 1).filter((each) => each === command).length,
  }));
}
