#!/usr/bin/env zx
// Shows the state of every host, once or repeatedly. It only reads.
import { command } from '../lib/start/program.mjs';

await command('status');
