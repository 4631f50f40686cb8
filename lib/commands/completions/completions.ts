import type { OptionTable } from '../../engine/command-line/command-line.ts';

/** The words that may follow a playbook on the command line. */
export interface Completed {
  readonly options: OptionTable;
  /** Words without dashes. */
  readonly words?: readonly string[] | 'file';
}

/** The data of the scripts. */
export interface Completions {
  /** The project's folder. */
  readonly root: string;
  /** Commands by name, which are not playbooks. */
  readonly commands: Readonly<Record<string, Completed>>;
  /** All other playbooks. */
  readonly run: Completed;
  /** Names of variables, for `--set`: `ports.rpc_http`. */
  readonly variables: readonly string[];
}
