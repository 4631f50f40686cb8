#!/usr/bin/env zx
// Makes a folder for a team's own inventories, roles and playbooks.
import { command } from '../lib/start/program.mjs';

await command('init');
