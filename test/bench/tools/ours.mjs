#!/usr/bin/env zx
import { argumentsOf } from '../../../lib/arguments.mjs';
import { compiled } from '../../../lib/program/compiled.mjs';

const entry = 'test/bench/tools/ours-command.ts';
const { run } = await (await compiled([[entry]]))(entry);
await run(argumentsOf('ours.mjs'));
