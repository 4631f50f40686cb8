#!/usr/bin/env zx
// Shows who changed the hosts, what check mode found, and the releases. It only reads.
import { command } from '../lib/start/program.mjs';

await command('history');
