/**
 * What the exit code of a container means, by what Docker and a shell make of the end of a
 * process: 128 and the number of its signal. 132 is SIGILL: a program that is built for newer
 * processors ends without a message.
 */
const meanings: Readonly<Record<number, string>> = {
  125: 'Docker could not start it',
  126: 'its command cannot be run: no permission, or of another architecture',
  127: 'its command is not in the image',
  132: 'illegal instruction: the processor lacks what the program was built for, such as avx2, bmi2 or adx',
  134: 'the program aborted itself, as C++ does after an error that nothing handles',
  136: 'the program divided by zero, or a like fault',
  137: 'killed, most often because memory ran out',
  139: 'segmentation fault: the program read memory that is not its own',
  143: 'ended by SIGTERM, as docker stop and a shutdown send it',
};

/**
 * @param exitCode of a container
 * @returns its meaning, without a full stop; undefined for a code that is the program's own
 */
export function meaningOfExitCode(exitCode: number): string | undefined {
  return meanings[exitCode];
}
