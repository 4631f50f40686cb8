import { quote } from '../../engine/host/quote.ts';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import type { Variables } from '../variables/variables.ts';
import { product } from './product.ts';

/**
 * The settings file of templates/host/disk-alert.sh.
 *
 * @param paths folders on the file systems to look at; their names hold no spaces (see `absolutePath` in the variables)
 */
export function diskAlertSettings(paths: readonly string[], wanted: Variables['disk_alert']): Content {
  const settings = {
    PATHS: [...new Set(paths)].join(' '),
    WARN: String(wanted.warn_percent),
    CLEAR: String(wanted.clear_percent),
    STATE: `/var/lib/${product}/disk-alert`,
    // Chat services put a token into the address.
    WEBHOOK: wanted.webhook ?? '',
  };
  const text = Object.entries(settings).map(([name, value]) => `${name}=${quote(value)}\n`);
  return secretContent(text.join(''), /^WEBHOOK=/);
}
