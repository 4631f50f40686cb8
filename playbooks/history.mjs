#!/usr/bin/env zx
// Shows who changed the hosts, and their releases. It only reads.
import { command } from '../lib/start/program.mjs';

await command('history');
