#!/usr/bin/env zx
// Makes, edits, shows and rotates the passwords in an inventory's encrypted file of secrets.
import { command } from '../lib/start/program.mjs';

await command('secrets');
