import type { Reader } from '../../engine/host/host.ts';

const numbered = (last: number) =>
  Array.from({ length: last }, (_, at) => `${String(at + 1).padStart(4, '0')}.sql`);

/** The migrations that each version of the node leaves, as in the lab's databases. */
export const migrationsOf = {
  'v1.2.3': { state: numbered(8), pool: [...numbered(10), 'supernets-0001.sql'] },
  'v3.1.0': {
    state: [...numbered(21), 'validium-001.sql'],
    pool: [
      ...numbered(10),
      '00011.sql',
      '0011.sql',
      '00012.sql',
      '0012.sql',
      '0013.sql',
      'specialed-001.sql',
      'validium-001.sql',
    ],
  },
} as const;

/** The migrations of both databases; null for a database without a table of them. */
export interface Recorded {
  readonly state?: readonly string[] | null;
  readonly pool?: readonly string[] | null;
  /** Whether the pool database has the tables of the renamed migration. Default true. */
  readonly hasTables?: boolean;
}

/** How both databases answer what is asked about their migrations. */
export function answering({ state = null, pool = null, hasTables = true }: Recorded): Pick<Reader, 'sql'> {
  return {
    sql: async ({ container }, query) => {
      const names = container === 'pool-db' ? pool : state;
      if (query.includes('to_regclass'))
        return { ok: true, rows: [[names ? 't' : 'f', hasTables ? 't' : 'f']] };
      if (!query.includes('gorp_migrations')) return { ok: false, error: `no answer to ${query}` };
      if (!names) return { ok: false, error: 'relation "public.gorp_migrations" does not exist' };
      return {
        ok: true,
        rows: query.includes('count') ? [[String(names.length)]] : names.map((name) => [name]),
      };
    },
  };
}
