import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../lab/layout.mjs';
import { goEnvironment, newerGo, quickly } from '../go.ts';

const folder = join(projectRoot, 'test/protocol/client');

/**
 * Builds the client of real libraries (test/protocol/client) from the Go modules of go.sum. Needs
 * root, and the network when it runs for the first time.
 *
 * @returns the path of the program; undefined where Go's module proxy cannot be reached
 */
export function buildClient(): string | undefined {
  const built = join(projectRoot, '.lab/protocol/client');
  mkdirSync(join(projectRoot, '.lab/protocol'), { recursive: true });
  const env = { ...process.env, ...goEnvironment, GOFLAGS: '-mod=readonly -buildvcs=false' };
  try {
    execFileSync(newerGo(), ['build', ...quickly, '-o', built, '.'], { cwd: folder, env, stdio: 'pipe' });
  } catch (error) {
    // Go says so of a module that it cannot fetch; all else is a fault of ours.
    if (/ (dial tcp|i\/o timeout|TLS handshake timeout)/.test(String(error))) return undefined;
    throw error;
  }
  return built;
}
