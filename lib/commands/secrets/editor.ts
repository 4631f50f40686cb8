import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { constants as os, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { identityVariable, passphraseVariable } from '../../engine/secret/age/identities.ts';
import { errorCode } from '../../engine/text/error-code.ts';

/** In memory: a deleted file leaves nothing behind. */
const inMemory = '/dev/shm';

/**
 * Opens a text in the operator's editor, in a private folder that is removed at the end, also on
 * Ctrl-C, SIGTERM and SIGHUP, with the copies and swap files that the editor leaves there.
 *
 * @param name of the file; its ending shows editors the language
 * @returns the text as it was saved
 * @throws Problem where the editor cannot be started or fails; with the code of an interrupted run
 * on Ctrl-C
 */
export async function editPrivately(text: string, name: string, environment = process.env): Promise<string> {
  let folder: string | undefined;
  let editor: ChildProcess | undefined;
  const remove = () => {
    if (folder) rmSync(folder, { recursive: true, force: true });
  };
  const end = () => {
    editor?.kill('SIGTERM');
    process.exit(exitCode.interrupted);
  };
  // In the editor, Ctrl-C belongs to the editor.
  const interrupt = () => {
    if (!editor) end();
  };
  process.on('exit', remove).on('SIGINT', interrupt).on('SIGTERM', end).on('SIGHUP', end);
  try {
    folder = mkdtempSync(join(temporaryFolder(), 'rpc-playbooks-'));
    const file = join(folder, name);
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
    const { [identityVariable]: _, [passphraseVariable]: __, ...withoutKeys } = environment;
    const command = environment.VISUAL || environment.EDITOR || 'vi';
    // As git does: the command may have options in it.
    editor = spawn('/bin/sh', ['-c', `${command} "$1"`, 'sh', file], { stdio: 'inherit', env: withoutKeys });
    await ended(editor, command);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (error instanceof TypeError)
      throw new Problem('what was saved is not UTF-8 text: nothing was changed');
    throw new Problem(
      `the text cannot be edited (${errorCode(error) ?? 'unknown error'}): nothing was changed`,
    );
  } finally {
    remove();
    process.off('exit', remove).off('SIGINT', interrupt).off('SIGTERM', end).off('SIGHUP', end);
  }
}

/** In memory where possible, so that the plain text reaches no disk. */
function temporaryFolder(): string {
  try {
    accessSync(inMemory, constants.W_OK | constants.X_OK);
    return inMemory;
  } catch {
    return tmpdir();
  }
}

/**
 * Waits for an editor.
 *
 * @throws Problem where it failed
 */
async function ended(editor: ChildProcess, command: string): Promise<void> {
  const [code, signal] = (await once(editor, 'close')) as [number | null, string | null];
  if (code === 0) return;
  // A signal to both may reach the editor first. A shell exits with 128 and the signal's number.
  const ending = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  if (ending.some((name) => signal === name || code === 128 + os.signals[name])) {
    throw new Problem('interrupted: nothing was changed', { code: exitCode.interrupted });
  }
  throw new Problem(
    `the editor (${command}) ended with ${signal ?? `exit code ${code}`}: nothing was changed`,
    {
      hint: 'export EDITOR=nano, or another that waits until the file is closed',
    },
  );
}
