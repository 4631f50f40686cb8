import { dirname } from 'node:path/posix';
import { type FstabEntry, parseFstabLine } from '../../host/facts/fstab.ts';
import type { Reader } from '../../host/host.ts';
import { command, makeDirectory, type Step } from '../../host/step.ts';
import { newText, readText } from '../file/edited-text.ts';
import { driftOf, type Resource, refused, unknownUntil } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { fstabLine, sameEntry, withEntry } from './fstab.ts';

const table = '/etc/fstab';
/** Nothing is ever formatted: the device has to have a file system of this type. */
const type = 'ext4';
/** A lost disk does not stop the boot. */
const options = ['defaults', 'nofail'];
const decide = 'nothing was changed; check both, and decide';

/**
 * An ext4 file system that is mounted, now and at every boot.
 *
 * @param target the directory, made where it is missing
 * @param device block device. /etc/fstab gets the UUID of its file system, as device names change
 * @example mount('/data', '/dev/nvme1n1p1')
 */
export function mount(target: string, device: string): Resource {
  refuseNoText('mount', { target, device });
  return {
    name: `${target} is mounted from ${device}`,

    async check(host) {
      const { until, refusal, entry, present, isMounted, isThere, file } = await read(host, target, device);
      if (until) return unknownUntil(until);
      if (refusal) return refused(refusal, decide);
      const isInTable = present !== undefined && sameEntry(present, entry);
      const was = present ? fstabLine(present) : '';
      const edit = file ? file.to(withEntry(file.text, entry)) : newText(table, withEntry('', entry));
      // systemd makes its mount units from the table.
      const inTable = [edit, command`systemctl daemon-reload`];
      return driftOf(
        [
          ...(isInTable ? [] : [{ what: table, was, wanted: fstabLine(entry) }]),
          ...(isMounted ? [] : [{ what: target, was: 'not mounted', wanted: `${device} mounted` }]),
        ],
        [...(isInTable ? [] : inTable), ...(isMounted ? [] : mounting(target, device, isThere))],
      );
    },
  };
}

async function read(host: Reader, target: string, device: string) {
  const [number, uuid, typeOnDevice, mounted, inside, file] = await Promise.all([
    host.$`mountpoint -x ${device}`,
    // -p asks the device itself; otherwise blkid keeps a cache, and a check must not write one.
    host.$`blkid -p -o value -s UUID ${device}`,
    host.$`blkid -p -o value -s TYPE ${device}`,
    host.$`mountpoint -d ${target}`,
    host.$`find ${target} -mindepth 1 -maxdepth 1 -print -quit`,
    readText(host, table),
  ]);
  const entry: FstabEntry = { source: `UUID=${uuid.text()}`, target, type, options };
  const present = (file?.text ?? '')
    .split('\n')
    .map(parseFstabLine)
    .find((line) => line?.target === target);
  const withFileSystem = uuid.text() ? '' : `there is a file system on ${device}`;
  /** Why nothing is changed, if a change could lose something. */
  const refusal = () => {
    if (typeOnDevice.text() !== type) return `${device} holds ${typeOnDevice.text()}, not ${type}`;
    if (mounted.ok && mounted.text() !== number.text())
      return `another file system (device ${mounted.text()}) is mounted at ${target} already`;
    if (present && ![device, entry.source].includes(present.source))
      return `${table} has ${present.source} for ${target} already`;
    if (mounted.ok || inside.text() === '') return undefined;
    return `${target} is not empty: mounting there would hide ${inside.text()} and what is with it`;
  };
  return {
    until: number.ok ? withFileSystem : `the block device ${device} is there`,
    refusal: refusal(),
    entry,
    /** The line of the table for the target. */
    present,
    isMounted: mounted.ok,
    isThere: inside.ok,
    file,
  };
}

/** Root's folders alone: a mount follows links. */
function mounting(target: string, device: string, isThere: boolean): Step[] {
  return [
    ...(isThere ? [] : [makeDirectory(target)]),
    command({ rootsFolder: dirname(target) })`mount -t ${type} -o ${options.join(',')} ${device} ${target}`,
  ];
}
