import { expect, test } from 'vitest';
import { databaseSettings, disagreements, type NamedText } from './same-databases.ts';

function files(change: Readonly<Record<string, [string, string]>> = {}): NamedText[] {
  const texts: Record<string, string> = {
    'docker-compose.yml': `services:
  state-db: { environment: { POSTGRES_USER: su, POSTGRES_PASSWORD: "s3", POSTGRES_DB: sd } }
  pool-db: { environment: { POSTGRES_USER: pu, POSTGRES_PASSWORD: "p3", POSTGRES_DB: pd } }
  sync: {}
`,
    'init_prover_db.sql': `CREATE DATABASE "hd";\nCREATE USER "hu" WITH PASSWORD 'h3';\n`,
    'node.config.toml': `[State]\nX = 1\n[State.DB]\nUser = "su"\nPassword = "s3"\nName = "sd"\nHost = "state-db"\nPort = "5432"
[Pool]\nY = 1\n[Pool.DB]\nUser = "pu"\nPassword = "p3"\nName = "pd"\nHost = "pool-db"\nPort = "5432"\n`,
    'snapshot_restore.toml': `[State.DB]\nUser = "su"\nPassword = "s3"\nName = "sd"\nHost = "127.0.0.1"\nPort = "5432"
[HashDB]\nUser = "hu"\nPassword = "h3"\nName = "hd"\nHost = "127.0.0.1"\nPort = "5432"\n`,
    'prover.config.json': '{"databaseURL":"postgresql://hu:h3@state-db:5432/hd"}',
  };
  return Object.entries(texts).map(([name, text]) => {
    const [from, to] = change[name] ?? ['', ''];
    return { name, text: text.replace(from, to) };
  });
}

const addresses = ['state-db:5432', '127.0.0.1:5432'] as const;

function found(change?: Readonly<Record<string, [string, string]>>): string[] {
  const settings = databaseSettings(files(change));
  return disagreements(settings, settings, addresses);
}

test('files that agree', () => {
  expect(databaseSettings(files())).toHaveLength(8);
  expect(found()).toEqual([]);
});

test.each<[string, [string, string], string]>([
  [
    'node.config.toml',
    ['User = "su"', 'User = "other"'],
    "the state database's user differs in node.config.toml and docker-compose.yml (other and su)",
  ],
  [
    'node.config.toml',
    ['Name = "pd"', 'Name = "other"'],
    "the pool database's name differs in node.config.toml and docker-compose.yml (other and pd)",
  ],
  [
    'snapshot_restore.toml',
    ['"h3"', '"hush"'],
    "the prover database's password differs in snapshot_restore.toml and init_prover_db.sql",
  ],
  [
    'prover.config.json',
    ['h3@', 'hush@'],
    "the prover database's password differs in prover.config.json and init_prover_db.sql",
  ],
  [
    'prover.config.json',
    ['state-db', 'db.example'],
    'prover.config.json reaches the prover database at db.example:5432, which is not state-db:5432 or 127.0.0.1:5432',
  ],
  [
    'snapshot_restore.toml',
    ['Port = "5432"', 'Port = "5433"'],
    'snapshot_restore.toml reaches the state database at 127.0.0.1:5433, which is not state-db:5432 or 127.0.0.1:5432',
  ],
  [
    'node.config.toml',
    ['"pool-db"', '"127.0.0.1"'],
    'node.config.toml reaches the pool database at 127.0.0.1:5432, which is not pool-db:5432',
  ],
])('%s: %j', (file, change, message) => {
  const messages = found({ [file]: change });
  expect(messages).toEqual([message]);
  expect(messages.join()).not.toContain('hush');
});

test('the older section names are read as well', () => {
  const older = {
    name: 'node.config.toml',
    text: '[StateDB]\nUser = "x"\nPassword = "s3"\nName = "sd"\nHost = "10.0.0.1"\nPort = "5432"\n',
  };
  expect(disagreements(databaseSettings([older]), databaseSettings(files()), ['10.0.0.1:5432'])).toEqual([
    "the state database's user differs in node.config.toml and docker-compose.yml (x and su)",
  ]);
});
