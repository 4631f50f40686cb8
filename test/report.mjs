// A reporter of vitest: counts what passed, names its files and what failed, in the JSON file
// TEST_REPORT.
import { writeFileSync } from 'node:fs';

/**
 * @typedef {{ file?: string, text: string }} Failure `file`: of the tests; none for an error of no
 * test, such as a worker that crashed. `text`: the test's name and message
 * @typedef {{ passed: number, files: string[], failures: Failure[] }} Counts `files`: of which a test
 * passed
 */

export default class Report {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly import('vitest/node').SerializedError[]} errors of no test
   */
  onTestRunEnd(modules, errors) {
    const passed = modules.flatMap(({ moduleId, children }) =>
      [...children.allTests('passed')].map(() => moduleId),
    );
    /** @type {Counts} */
    const counts = {
      passed: passed.length,
      files: [...new Set(passed)],
      failures: [
        ...modules.flatMap(failuresOf),
        ...errors.map((error) => ({
          ...fileOf(error),
          text: `FAIL an error of no test\n${textOf([error])}`,
        })),
      ],
    };
    writeFileSync(process.env.TEST_REPORT ?? '/dev/stdout', JSON.stringify(counts));
  }
}

/**
 * @param {import('vitest/node').TestModule} module a file of tests
 * @returns {Failure[]}
 */
function failuresOf(module) {
  const file = module.moduleId;
  const parts = [module, ...module.children.allSuites()].filter((part) => part.errors().length > 0);
  return [
    ...parts.map((part) => ({ file, text: `FAIL ${file}\n${textOf(part.errors())}` })),
    ...[...module.children.allTests('failed')].map((test) => ({
      file,
      text: `FAIL ${file}: ${test.fullName}\n${textOf(test.result().errors ?? [])}`,
    })),
  ];
}

/**
 * The file whose tests ran at the time of an error, where there is one: such as a promise that
 * nobody awaits.
 *
 * @param {import('vitest/node').SerializedError & { VITEST_TEST_PATH?: string }} error
 */
const fileOf = ({ VITEST_TEST_PATH: file }) => (file === undefined ? {} : { file });

/** @param {readonly { message: string, stack?: string, diff?: string }[]} errors */
function textOf(errors) {
  const lines = errors.flatMap(({ message, stack, diff = '' }) => `${stack ?? message}\n${diff}`.split('\n'));
  return lines
    .filter((line) => line !== '' && !line.includes('/node_modules/'))
    .slice(0, 40)
    .join('\n');
}
