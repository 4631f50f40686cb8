#!/usr/bin/env zx
// Runs a shell command on every host.
import { command } from '../lib/start/program.mjs';

await command('run');
