import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import type { Variables } from '../variables/variables.ts';
import { product } from './product.ts';

/** The units that look at the disks. */
export const diskAlertUnit = `${product}-disk-alert`;

/** What was reported last. */
export const diskAlertState = `/var/lib/${product}/disk-alert`;

/**
 * The settings file of templates/host/disk-alert.sh.
 *
 * @param paths folders on the file systems to watch; their names hold no spaces (see
 * `absolutePath` in the variables)
 */
export function diskAlertSettings(paths: readonly string[], wanted: Variables['disk_alert']): Content {
  const settings = shellSettings({
    PATHS: [...new Set(paths)].join(' '),
    WARN: wanted.warn_percent,
    CLEAR: wanted.clear_percent,
    STATE: diskAlertState,
    // Chat services put a token into the address.
    WEBHOOK: wanted.webhook === 'journal' ? '' : (wanted.webhook ?? ''),
  });
  return secretContent(settings, /^WEBHOOK=/);
}

/**
 * Why the last look at the disks failed: nobody hears of a full disk then, as with a webhook that
 * refuses messages.
 *
 * @returns the last words of templates/host/disk-alert.sh; undefined where the look did not fail, or
 * no deploy has set it up yet
 */
export async function diskAlertFault(host: Reader): Promise<string | undefined> {
  if ((await host.unit(`${diskAlertUnit}.service`)).active !== 'failed') return undefined;
  const said = await host.$({
    timeoutSeconds: 15,
  })`journalctl --unit=${diskAlertUnit} --output=cat --lines=20 --no-pager _TRANSPORT=stdout`;
  const lines = said.lines();
  // Another disk may have been reported since.
  const failure = lines.findLast((line) => /^(cannot read the use|the message on) /.test(line));
  return failure ?? lines.at(-1) ?? 'its journal is empty';
}
