import ts from '@typescript/typescript6';
import type { Words } from './error-words.ts';

/**
 * A text in a test, in pieces: values that the test inserts, or variable parts of a pattern, are
 * between two pieces.
 */
export interface TestWords {
  readonly file: string;
  readonly pieces: readonly string[];
  readonly whole: string;
}

/** Fewer letters do not distinguish messages. */
const distinctive = 12;

/** Every text and pattern in a test, except imports and titles of tests: they assert nothing. */
export function testWords(file: string, text: string): TestWords[] {
  const found: TestWords[] = [];
  const add = (pieces: readonly string[]): void => {
    const said = pieces.map(even).filter((piece) => piece !== '');
    found.push({ file, pieces: said, whole: said.join('\0') });
  };
  const see = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isStringLiteralLike(node)) add([node.text]);
    else if (ts.isRegularExpressionLiteral(node)) add(piecesOf(node.text));
    else if (ts.isTemplateExpression(node)) {
      add([node.head.text, ...node.templateSpans.map((span) => span.literal.text)]);
      for (const span of node.templateSpans) see(span.expression);
    } else {
      const title = isTest(node) ? node.arguments[0] : undefined;
      ts.forEachChild(node, (child) => {
        if (child !== title) see(child);
      });
    }
  };
  see(ts.createSourceFile(file, text, ts.ScriptTarget.ES2023));
  return found;
}

function isTest(node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node)) return false;
  let callee: ts.Expression = node.expression;
  // The table of test.each(table)(title, …) is not a title.
  if (ts.isPropertyAccessExpression(callee) && callee.name.text === 'each') return false;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
  return ts.isIdentifier(callee) && ['test', 'it', 'describe'].includes(callee.text);
}

/** The fixed text of a pattern. */
function piecesOf(pattern: string): string[] {
  return pattern
    .slice(1, pattern.lastIndexOf('/'))
    .split(/(?<!\\)(?:\.[*+]\??|\\[dDwWsSbn][*+]?|[|()^$[\]{}*+?])/)
    .map((piece) => piece.replace(/\\(.)/g, '$1'));
}

/**
 * Whether a test states this message: all pieces, the longest piece, or enough of a piece that no
 * other message is meant. A shorter text counts only in a test of the same place.
 */
export function isSaid({ file, pieces }: Words, tests: readonly TestWords[]): boolean {
  const own = pieces.map(even).filter((piece) => /[a-z]{2}/i.test(piece));
  const longest = own.reduce((best, piece) => (piece.length > best.length ? piece : best), '');
  if (longest.length >= distinctive) {
    return (
      tests.some(({ whole }) => whole.includes(longest)) ||
      tests.some((test) => test.pieces.some((part) => own.some((piece) => isTelling(shared(part, piece)))))
    );
  }
  const inOrder = new RegExp(
    own.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[\\s\\S]{0,80}?'),
  );
  return tests.some((test) => inOrder.test(test.whole) && isNear(test.file, file));
}

/** In the same folder, or named after the file or one of its folders. */
function isNear(test: string, file: string): boolean {
  const room = (path: string) =>
    path
      .split('/')
      .slice(0, path.startsWith('lib/engine/') ? 3 : 2)
      .join('/');
  const name = /([^/]+)\.test\.\w+$/.exec(test)?.[1] ?? '';
  return (
    room(test) === room(file) ||
    file
      .replace(/\.\w+$/, '')
      .split('/')
      .includes(name)
  );
}

/**
 * The overlap of two texts where they can be pieces of one: one within the other, or the end of
 * one is the start of the other.
 */
function shared(a: string, b: string): string {
  if (a.includes(b)) return b;
  if (b.includes(a)) return a;
  // Nearly all have less in common.
  if (!a.includes(b.slice(0, distinctive)) && !b.includes(a.slice(0, distinctive))) return '';
  for (let length = Math.min(a.length, b.length) - 1; length >= distinctive; length -= 1) {
    if (a.endsWith(b.slice(0, length))) return b.slice(0, length);
    if (b.endsWith(a.slice(0, length))) return a.slice(0, length);
  }
  return '';
}

function isTelling(text: string): boolean {
  return text.length >= distinctive && text.trim().includes(' ');
}

function even(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
