import type { Reader } from '../../engine/host/host.ts';
import { seconds } from '../../engine/output/units.ts';
import { resultsFolder } from '../backup/folders.ts';
import { missingData } from '../server/data-disks.ts';
import { type Finding, fault, judgeMissing, note } from './judge.ts';

/**
 * The check of the repository runs each minute: results of an earlier time say nothing. Seconds.
 */
const oldest = 600;

/** The check of the repository begins so what is wrong with the copy in a storage. */
const ofCopy = 'copy off the site';

/** The kind of a finding about that copy: the repository itself is whole. */
export const copyFault = 'backup-copy-fault';

/** What is wrong with the backups, by the last check of the repository on its host. */
export async function readBackups(host: Reader): Promise<readonly Finding[]> {
  const path = `${resultsFolder}/problems`;
  const [content, stat, clock, missing, copied] = await Promise.all([
    host.read(path),
    host.stat(path),
    host.$`date +%s`,
    missingData(host),
    host.read(`${resultsFolder}/copied`),
  ]);
  const ofDisks = judgeMissing(missing);
  if (!content || !stat)
    return [...ofDisks, fault('backup-unchecked', 'backup', 'was not checked yet: a deploy sets it up')];
  const now = Number(clock.text());
  const age = now - stat.modified;
  const lines = content.toString().split('\n').filter(Boolean);
  return [
    ...ofDisks,
    ...(age > oldest ? [fault('backup-unchecked', 'backup', `was last checked ${seconds(age)} ago`)] : []),
    ...lines.map((line) => fault(line.startsWith(ofCopy) ? copyFault : 'backup-fault', 'backup', line)),
    ...(copied ? ageOfCopy(copied.toString(), now) : []),
  ];
}

/**
 * How old the copy in a storage is.
 *
 * @param noted by the check: until when the log is there, and the end of the newest base backup
 * there; 0 for none. Seconds since 1970
 * @param now seconds since 1970
 */
function ageOfCopy(noted: string, now: number): Finding[] {
  const [log = 0, base = 0] = noted.trim().split(' ').map(Number);
  const old = (at: number) => (at > 0 ? `of ${seconds(Math.max(0, now - at))} ago` : 'none yet');
  const words = `copy off the site: write-ahead log ${old(log)}, base backup ${old(base)}`;
  return [note('backup-copied', 'backup', words, { log, base })];
}
