/** Paths as arguments. @throws TypeError for what is no absolute path on one line: the answers are lines that end in the path */
export function checkPath(path: string): string {
  if (!path.startsWith('/')) throw new TypeError(`a path on a host has to be absolute: ${path}`);
  if (/[\n\0]/.test(path)) throw new TypeError(`a path on a host cannot hold a line break: ${JSON.stringify(path)}`);
  return path;
}

/** Thrown where the program that should have looked is not there or cannot run: nothing can be said of any key then. */
export function programMissing(exitCode: number): boolean {
  return exitCode === 126 || exitCode === 127;
}

/** What was said of a path, where it is more than that nothing is there: a stale mount, a broken disk. */
export function troubleWith(path: string, stderr: string): Error | undefined {
  const line = stderr.split('\n').find((text) => text.includes(path));
  if (line === undefined || /No such file or directory|Not a directory|Is a directory/.test(line)) return undefined;
  return new Error(line.trim());
}
