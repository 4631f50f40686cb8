import type { Reader } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { editedText } from '../file/edited-text.ts';
import { drift, driftOf, type Resource, unknownUntil } from '../resource.ts';
import { type FstabEntry, fstabLine, parseFstabLine, sameEntry, withEntry } from './fstab.ts';

const table = '/etc/fstab';
/** Nothing is ever formatted: the device has to have a file system of this type. */
const type = 'ext4';
/** A lost disk does not stop the boot. */
const options = ['defaults', 'nofail'];

/**
 * An ext4 file system that is mounted, now and at every boot.
 *
 * @param target the directory, made where it is missing
 * @param device block device. /etc/fstab gets the UUID of its file system, as device names change
 */
export function mount(target: string, device: string): Resource {
  const file = editedText(table);
  const read = async (host: Reader) => {
    const [number, uuid, typeOnDevice, mounted, text = ''] = await Promise.all([
      host.$`mountpoint -x ${device}`,
      // -p asks the device itself; otherwise blkid keeps a cache, and a check must not write one.
      host.$`blkid -p -o value -s UUID ${device}`,
      host.$`blkid -p -o value -s TYPE ${device}`,
      host.$`mountpoint -d ${target}`,
      file.read(host),
    ]);
    const entry: FstabEntry = { source: `UUID=${uuid.text()}`, target, type, options };
    const present = text
      .split('\n')
      .map(parseFstabLine)
      .find((line) => line?.target === target);
    return {
      until: !number.ok
        ? `the block device ${device} is there`
        : !uuid.text()
          ? `there is a file system on ${device}`
          : '',
      refusal: refusal(typeOnDevice.text(), number.text(), mounted.ok ? mounted.text() : '', entry, present),
      entry,
      isInTable: present !== undefined && sameEntry(present, entry),
      isMounted: mounted.ok,
      present,
    };
  };
  /** Why nothing is changed, if a change could lose something. */
  const refusal = (typeOnDevice: string, own: string, mounted: string, entry: FstabEntry, present?: FstabEntry) => {
    if (typeOnDevice !== type) return `${device} holds ${typeOnDevice}, not ${type}`;
    if (mounted !== '' && mounted !== own) {
      return `another file system (device ${mounted}) is mounted at ${target} already`;
    }
    if (present === undefined || [device, entry.source].includes(present.source)) return undefined;
    return `${table} has ${present.source} for ${target} already`;
  };

  return {
    name: `${target} is mounted from ${device}`,

    async check(host) {
      const { until, refusal, entry, present, isInTable, isMounted } = await read(host);
      if (until) return unknownUntil(until);
      if (refusal) return drift(refusal);
      const was = present ? fstabLine(present) : '';
      return driftOf([
        ...(isInTable ? [] : [{ what: table, was, wanted: fstabLine(entry) }]),
        ...(isMounted ? [] : [{ what: target, was: 'not mounted', wanted: `${device} mounted` }]),
      ]);
    },

    async apply(host) {
      const { refusal, entry, isInTable, isMounted } = await read(host);
      const wrong = refusal ?? (isMounted ? undefined : await hiddenFiles(host, target));
      if (wrong) {
        throw new Problem(wrong, { hint: 'nothing was changed; check both, and decide', code: exitCode.failed });
      }
      if (!isInTable) {
        if (!(await file.change(host, (was) => withEntry(was, entry)))) {
          await host.write(table, withEntry('', entry), { mode: 0o644, owner: 'root', group: 'root' });
        }
        // systemd makes its mount units from the table.
        await host.run`systemctl daemon-reload`;
      }
      if (isMounted) return;
      await host.run`mkdir -p ${target}`;
      await host.run`mount -t ${type} -o ${options.join(',')} ${device} ${target}`;
    },
  };
}

/** Why nothing is mounted over existing files. */
async function hiddenFiles(host: Reader, target: string): Promise<string | undefined> {
  const inside = (await host.$`find ${target} -mindepth 1 -maxdepth 1 -print -quit`).text();
  return inside === '' ? undefined : `${target} is not empty: mounting there would hide ${inside} and what is with it`;
}
