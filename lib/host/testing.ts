import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';

/** A connection to the machine that the tests run on. */
export async function connectLocally(): Promise<Connection> {
  return connect('here', {
    type: 'local',
    address: 'localhost',
    port: undefined,
    user: undefined,
    hostKeys: [],
    identityFile: undefined,
    knownHostsFile: undefined,
    jump: [],
    becomePassword: undefined,
  });
}

/** A directory that goes when the test ends. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'host-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Puts a program before all others, for connections made in this test. */
export function standInFor(program: string, script: string): void {
  const directory = temporaryDirectory();
  const path = join(directory, program);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${directory}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
}
