#!/usr/bin/env zx
// Checks an inventory without a connection: values, secrets, templates.
import { command } from '../lib/start/program.mjs';

await command('validate');
