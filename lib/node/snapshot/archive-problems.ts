import { withoutQuery } from '../../engine/resource/network/http.ts';
import { postgresVersion } from '../variables/generation.ts';
import type { Archive } from './archive.ts';
import type { DumpHeader, NotADump } from './dump-header.ts';

/** An archive and what its beginning holds. */
interface Opened {
  readonly archive: Archive;
  readonly header: DumpHeader | NotADump;
}

/**
 * What is wrong with two archives, by their beginnings; nothing where they fit each other and the
 * inventory.
 */
export function archiveProblems(state: Opened, prover: Opened, date: string): readonly string[] {
  const [first, second] = [state.header, prover.header];
  if (first.format === 'other' || second.format === 'other') {
    const wanted = 'the restore tool takes PostgreSQL dumps in the custom format';
    return [state, prover].flatMap(({ archive, header }) =>
      header.format === 'other' ? [`${withoutQuery(archive.url)} is ${header.description}; ${wanted}`] : [],
    );
  }
  if (first.tables.includes(prover.archive.table) && second.tables.includes(state.archive.table)) {
    return [
      `the two archives are swapped: the state archive holds ${prover.archive.table} (database ${first.database})`,
    ];
  }
  return [
    ...tableProblems(state.archive, first),
    ...tableProblems(prover.archive, second),
    ...versionProblems(state.archive, first),
    ...versionProblems(prover.archive, second),
    ...dayProblems(first.date, second.date, date),
  ];
}

function tableProblems(archive: Archive, header: DumpHeader): string[] {
  if (!header.complete || header.tables.includes(archive.table)) return [];
  return [
    `${withoutQuery(archive.url)} holds no table ${archive.table} (it is of database ${header.database})`,
  ];
}

function versionProblems({ url }: Archive, { serverMajor, dumpMajor }: DumpHeader): string[] {
  if (serverMajor === postgresVersion && dumpMajor === postgresVersion) return [];
  return [
    `${withoutQuery(url)} was made from PostgreSQL ${serverMajor} by pg_dump ${dumpMajor}, and both versions have to be ${postgresVersion}`,
  ];
}

function dayProblems(state: string, prover: string, date: string): string[] {
  if (state !== prover) return [`the archives are of different days: state of ${state}, prover of ${prover}`];
  return state === date ? [] : [`the archives are of ${state}, and the inventory says ${date}`];
}
