import type { Reader } from '../../engine/host/host.ts';
import { seconds } from '../../engine/output/units.ts';
import { resultsFolder } from '../backup/folders.ts';
import { missingData } from '../server/data-disks.ts';
import { type Finding, fault, judgeMissing } from './judge.ts';

/**
 * The check of the repository runs each minute: results of an earlier time say nothing. Seconds.
 */
const oldest = 600;

/** What is wrong with the backups, by the last check of the repository on its host. */
export async function readBackups(host: Reader): Promise<readonly Finding[]> {
  const path = `${resultsFolder}/problems`;
  const [content, stat, clock, missing] = await Promise.all([
    host.read(path),
    host.stat(path),
    host.$`date +%s`,
    missingData(host),
  ]);
  const ofDisks = judgeMissing(missing);
  if (!content || !stat)
    return [...ofDisks, fault('backup-unchecked', 'backup', 'was not checked yet: a deploy sets it up')];
  const age = Number(clock.text()) - stat.modified;
  const lines = content.toString().split('\n').filter(Boolean);
  return [
    ...ofDisks,
    ...(age > oldest ? [fault('backup-unchecked', 'backup', `was last checked ${seconds(age)} ago`)] : []),
    ...lines.map((line) => fault('backup-fault', 'backup', line)),
  ];
}
