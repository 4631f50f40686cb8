import { shellSettings } from '../../engine/host/shell-settings.ts';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import type { Variables } from '../variables/variables.ts';
import { product } from './product.ts';

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
