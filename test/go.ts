import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { installMissing } from './install-missing.ts';

const debians = '/usr/lib/go-1.19/bin/go';

/**
 * How tests build a program: to make its code fast would take a third of the time. All are built by
 * the same Go with these words, so its own packages are compiled once.
 */
export const quickly = ['-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w'];
/** The environment that goes with them. */
export const goEnvironment = { CGO_ENABLED: '0', GOTOOLCHAIN: 'local' };

/** Debian 12's Go. Needs root. */
function debiansGo(): string {
  installMissing([
    [debians, 'golang-1.19-go'],
    ['/etc/ssl/certs/ca-certificates.crt', 'ca-certificates'],
  ]);
  return debians;
}

/**
 * A Go that builds programs of today, which Debian's is too old for. Go's module proxy has it as a
 * module; its checksum is verified by Go. Needs the network when it runs for the first time.
 *
 * @returns the path of the program
 */
export function newerGo(): string {
  const toolchain = `golang.org/toolchain@v0.0.1-go1.26.8.linux-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  const got = execFileSync(debiansGo(), ['mod', 'download', '-json', toolchain], {
    env: { ...process.env, GOFLAGS: '-mod=mod' },
    encoding: 'utf8',
  });
  const { Dir: folder } = JSON.parse(got) as { Dir: string };
  // A module's files are not executable.
  execFileSync('chmod', ['-R', '+x', join(folder, 'bin'), join(folder, 'pkg/tool')]);
  return join(folder, 'bin/go');
}
