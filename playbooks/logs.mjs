#!/usr/bin/env zx
// Shows the log of one component on every host that runs it. It only reads.
import { command } from '../lib/start/program.mjs';

await command('logs');
