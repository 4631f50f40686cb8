#!/usr/bin/env zx
// Shows the facts of every host. It only reads.
import { command } from '../lib/start/program.mjs';

await command('facts');
