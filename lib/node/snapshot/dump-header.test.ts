import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readDumpHeader } from './dump-header.ts';

/** Made by pg_dump 15 from databases of a few rows. */
const state = readFileSync(new URL('testdata/state.dump', import.meta.url));
const prover = readFileSync(new URL('testdata/prover.dump', import.meta.url));

test('a dump tells its day, database, versions and tables', () => {
  expect(readDumpHeader(state)).toEqual({
    format: 'custom',
    date: '2026-11-21',
    database: 's2',
    serverMajor: 15,
    dumpMajor: 15,
    tables: ['public.gorp_migrations', 'state.l2block'],
    complete: true,
  });
  expect(readDumpHeader(prover)).toMatchObject({ database: 'p2', tables: ['state.nodes'], complete: true });
});

test('what the bytes do not reach is not claimed', () => {
  const beginning = readDumpHeader(state.subarray(0, 1000));
  expect(beginning).toMatchObject({ format: 'custom', date: '2026-11-21', complete: false });
  expect(readDumpHeader(state.subarray(0, 40))).toEqual({
    format: 'other',
    description: 'a PostgreSQL dump that ends within its header',
  });
});

test('every shorter beginning is read without an error', () => {
  for (let length = 0; length < state.length; length += 7)
    expect(() => readDumpHeader(state.subarray(0, length))).not.toThrow();
});

test.each([
  [Buffer.alloc(0), 'empty'],
  [gzipSync('x'), 'a gzip file (a real .tar.gz)'],
  [Buffer.from('PK\x03\x04'), 'a zip file'],
  [Buffer.from('28b52ffd', 'hex'), 'a zstd file'],
  [Buffer.from('fd377a585a00', 'hex'), 'an xz file'],
  [Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar')]), 'a tar file'],
  [Buffer.from('PGDMP\x01\x0e\x00\x04\x08\x03'), 'a PostgreSQL dump in another than the custom format'],
  [Buffer.from('\n<!DOCTYPE html><html>not found</html>'), 'a web page (HTML)'],
  [Buffer.from('<?xml version="1.0"?><Error>'), 'an XML document (often an error of the file store)'],
  [Buffer.from('{"error":"gone"}'), 'JSON'],
  [Buffer.from('--\n-- PostgreSQL database dump\n--\n'), 'a plain SQL script'],
  [Buffer.from([1, 2, 3, 4]), 'an unknown kind of file (it begins with 01020304)'],
])('something else is named as what it is: %#', (bytes, description) => {
  expect(readDumpHeader(bytes)).toEqual({ format: 'other', description });
});
