import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { thisMachine } from '../../inventory/testing/this-machine.ts';
import { type Connection, connect } from '../connection.ts';

/** A connection to the machine that the tests run on. */
export async function connectLocally(): Promise<Connection> {
  return connect('here', thisMachine);
}

/** A temporary directory for the test. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'host-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A temporary directory for all tests of a file. */
export function directoryForAll(): string {
  const path = mkdtempSync(join(tmpdir(), 'host-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/**
 * Puts a program before all others, for connections made in this test.
 *
 * @returns the first directory of their PATH
 */
export function standInFor(program: string, script: string): string {
  const directory = temporaryDirectory();
  const path = join(directory, program);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${directory}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  return directory;
}

/** Processes of this machine that have the text in their command line or environment. */
export function processesWith(text: string): string[] {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'latin1').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  const has = (pid: string) =>
    ['cmdline', 'environ'].some((file) => read(`/proc/${pid}/${file}`).includes(text));
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && has(pid));
}
