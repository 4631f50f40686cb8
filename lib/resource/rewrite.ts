import type { Writer } from '../host/host.ts';
import { exitCode, Problem } from '../problem.ts';
import { asText } from './content.ts';

/** Puts new text into a file that is there: mode, owner and group stay, and of a link it is the target that changes. */
export async function rewrite(host: Writer, path: string, text: string): Promise<void> {
  const real = (await host.run`readlink -f ${path}`).text();
  const stat = await host.stat(real);
  if (stat?.type !== 'file') {
    throw new Problem(`${path} is no file that could be changed`, {
      hint: `look at what it is: ls -ld ${path}`,
      code: exitCode.failed,
    });
  }
  // A file that is a mount point of its own, as a container's /etc/hosts is, cannot be replaced by rename.
  if ((await host.$`mountpoint -q ${real}`).ok) {
    await host.run({ stdin: text })`cat > ${real}`;
    return;
  }
  await host.write(real, text, { mode: stat.mode, owner: String(stat.uid), group: String(stat.gid) });
}

/**
 * The text of a file that is to be changed in part.
 *
 * @throws Problem where it is not text: to write it back could damage it
 */
export function editableText(path: string, bytes: Buffer): string {
  const text = asText(bytes);
  if (text !== undefined) return text;
  throw new Problem(`${path} is not UTF-8 text; it is left as it is`, {
    hint: 'save it as UTF-8 there, then run again',
    code: exitCode.failed,
  });
}
