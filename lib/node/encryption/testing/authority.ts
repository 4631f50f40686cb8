import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Changes } from '../../testing/lab-deployment.ts';
import { newAuthority, newKey } from '../openssl.ts';

/** A folder with files of an authority, for the test. */
export async function authorityFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const key = newKey();
  const certificate = await newAuthority('lab', key);
  /** Writes a file of mode 0600. */
  const put = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const [ca, keyFile] = [put('ca.pem', certificate), put('ca.key', key.reveal())];
  const changes: Changes = [[['vars', 'tls'], { ca, key: `file:${keyFile}` }]];
  return { folder, key, certificate, put, ca, keyFile, changes };
}
