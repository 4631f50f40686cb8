import type { Reader } from '../../engine/host/host.ts';
import { readScript } from '../../engine/host/script.ts';

const script = readScript(
  ...['base-backups', 'newest-base'].map(
    (name) => new URL(`../../../templates/host/${name}.sh`, import.meta.url),
  ),
);

/**
 * @param repository Barman's folder of the server
 * @returns when the newest whole base backup ended, in UTC: `2026-11-26T03:12:45Z`; empty without one
 */
export async function newestBase(host: Reader, repository: string): Promise<string> {
  return (await host.$`sh -c ${script} newest-base ${repository}`).text().trim();
}
