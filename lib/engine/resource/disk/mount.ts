import type { Reader } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { type EditedText, editedText } from '../file/edited-text.ts';
import { type Difference, drift, driftOf, ok, type Resource, unknownUntil } from '../resource.ts';
import { type FstabEntry, fstabLine, parseFstabLine, sameEntry, withEntry } from './fstab.ts';

const table = '/etc/fstab';
/** Nothing is ever formatted: the device has to have a file system of this type. */
const type = 'ext4';
/** A lost disk does not stop the boot. */
const options = ['defaults', 'nofail'];

interface Wanted {
  readonly target: string;
  readonly device: string;
}

/**
 * An ext4 file system that is mounted, now and at every boot.
 *
 * @param target the directory, made where it is missing
 * @param device block device. /etc/fstab gets the UUID of its file system, as device names change
 */
export function mount(target: string, device: string): Resource {
  const wanted = { target, device };
  const file = editedText(table);
  return {
    name: `${target} is mounted from ${device}`,

    async check(host) {
      const seen = await readState(host, file, wanted);
      if (seen.deviceNumber === '') return unknownUntil(`the block device ${device} is there`);
      if (seen.uuid === '') return unknownUntil(`there is a file system on ${device}`);
      const wrong = refusal(seen, wanted);
      if (wrong) return drift(wrong);
      return driftOf(differencesOf(seen, wanted));
    },

    async apply(host) {
      const seen = await readState(host, file, wanted);
      const wrong = refusal(seen, wanted) ?? (seen.mountedNumber === '' ? await hidden(host, target) : undefined);
      if (wrong)
        throw new Problem(wrong, { hint: 'nothing was changed; check both, and decide', code: exitCode.failed });
      if (!seen.entry || !sameEntry(seen.entry, entryFor(seen, wanted))) {
        const entry = entryFor(seen, wanted);
        if (!(await file.change(host, (was) => withEntry(was, entry))))
          await host.write(table, withEntry('', entry), { mode: 0o644, owner: 'root', group: 'root' });
        // systemd makes its mount units from the table.
        await host.run`systemctl daemon-reload`;
      }
      if (seen.mountedNumber !== '') return;
      await host.run`mkdir -p ${target}`;
      await host.run`mount -t ${type} -o ${options.join(',')} ${device} ${target}`;
    },
  };
}

interface State {
  /** Major and minor number; empty where there is no such block device. */
  readonly deviceNumber: string;
  /** Of the file system on it; empty where there is none. */
  readonly uuid: string;
  readonly typeOnDevice: string;
  /** Device number of what is mounted at the target; empty where nothing is. */
  readonly mountedNumber: string;
  /** The table's line for the target. */
  readonly entry: FstabEntry | undefined;
}

async function readState(host: Reader, file: EditedText, { target, device }: Wanted): Promise<State> {
  const [number, uuid, typeOnDevice, mounted, text = ''] = await Promise.all([
    host.$`mountpoint -x ${device}`,
    // -p asks the device itself; otherwise blkid keeps a cache, and a check must not write one.
    host.$`blkid -p -o value -s UUID ${device}`,
    host.$`blkid -p -o value -s TYPE ${device}`,
    host.$`mountpoint -d ${target}`,
    file.read(host),
  ]);
  return {
    deviceNumber: number.ok ? number.text() : '',
    uuid: uuid.text(),
    typeOnDevice: typeOnDevice.text(),
    mountedNumber: mounted.ok ? mounted.text() : '',
    entry: text
      .split('\n')
      .map(parseFstabLine)
      .find((entry) => entry?.target === target),
  };
}

/** Why nothing is changed, where a change could lose something. */
function refusal(seen: State, { target, device }: Wanted): string | undefined {
  if (seen.typeOnDevice !== type) return `${device} holds ${seen.typeOnDevice}, not ${type}`;
  if (seen.mountedNumber !== '' && seen.mountedNumber !== seen.deviceNumber) {
    return `another file system (device ${seen.mountedNumber}) is mounted at ${target} already`;
  }
  const source = seen.entry?.source;
  if (source !== undefined && source !== device && source !== `UUID=${seen.uuid}`) {
    return `${table} has ${source} for ${target} already`;
  }
  return undefined;
}

/** Refuses to mount over existing files. */
async function hidden(host: Reader, target: string): Promise<string | undefined> {
  const inside = await host.$`find ${target} -mindepth 1 -maxdepth 1 -print -quit`;
  return inside.text() === ''
    ? undefined
    : `${target} is not empty: mounting there would hide ${inside.text()} and what is with it`;
}

function differencesOf(seen: State, wanted: Wanted): Difference[] {
  const { target, device } = wanted;
  const entry = entryFor(seen, wanted);
  const differences: Difference[] = [];
  if (!seen.entry || !sameEntry(seen.entry, entry)) {
    differences.push({ what: table, was: seen.entry ? fstabLine(seen.entry) : '', wanted: fstabLine(entry) });
  }
  if (seen.mountedNumber === '') differences.push({ what: target, was: 'not mounted', wanted: `${device} mounted` });
  return differences;
}

function entryFor(seen: State, wanted: Wanted): FstabEntry {
  return { source: `UUID=${seen.uuid}`, target: wanted.target, type, options };
}
