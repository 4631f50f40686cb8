import type { OptionTable } from '../../engine/command-line/command-line.ts';

/** What may follow a playbook on the command line. */
export interface Completed {
  readonly options: OptionTable;
  /** What may stand without dashes. */
  readonly words?: readonly string[] | 'file';
}

/** What the scripts are made of. */
export interface Completions {
  /** Where the project is. */
  readonly root: string;
  /** Playbooks by name that are no runs. */
  readonly commands: Readonly<Record<string, Completed>>;
  /** All other playbooks. */
  readonly run: Completed;
  /** Names of variables, for `--set`: `ports.rpc_http`. */
  readonly variables: readonly string[];
}
