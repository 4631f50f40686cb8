import type { Completed } from '../../engine/command-line/command.ts';

/** The data of the scripts. */
export interface Completions {
  /** By name: commands that are not playbooks, and playbooks with options of their own. */
  readonly commands: Readonly<Record<string, Completed>>;
  /** All other playbooks. */
  readonly run: Completed;
  /** Names of variables, for `--set`: `ports.rpc_http`. */
  readonly variables: readonly string[];
}
