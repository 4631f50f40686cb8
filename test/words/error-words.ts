import ts from '@typescript/typescript6';
import { type Declared, declarations, type Made } from './declarations.ts';

/**
 * A message at the place where an error is made. Values that are known only when it is thrown are
 * between two pieces.
 */
export interface Words {
  readonly file: string;
  readonly line: number;
  readonly pieces: readonly string[];
}

/**
 * Errors of the language are our own mistakes: their messages are for us. A parser throws
 * SyntaxError for a user's text.
 */
const made = ['Error', 'SyntaxError'];

/**
 * Properties that hold messages for users. Others are not followed: they also hold too much else.
 */
const spoken = new Set(['what', 'why', 'note', 'error', 'reason', 'message', 'fault']);

/** Parameters and properties of errors that are not part of its message. */
const silent = new Set(['hint', 'name', 'where', 'until', 'code', 'cause', 'host', 'command']);

/**
 * The messages of all errors in these files: those that are written where the error is made, and
 * those that come from constants, parameters, properties and return values. Single words are left
 * out.
 *
 * @param texts source by file name, relative to one folder
 */
export function errorWords(texts: ReadonlyMap<string, string>): Words[] {
  const files = [...texts].map(([file, text]) =>
    ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true),
  );
  const code = declarations(files, isNoError);
  const found: Words[] = [];
  const followed = new Set<ts.Node | string>();
  const isNew = (key: ts.Node | string): boolean => !followed.has(key) && Boolean(followed.add(key));

  const note = (node: ts.Node, pieces: readonly string[]): void => {
    if (!/[a-z]{2}[,;:]? +\S|\S +[a-z]{2}/i.test(pieces.join('…'))) return;
    const file = node.getSourceFile();
    found.push({
      file: file.fileName,
      line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1,
      pieces,
    });
  };

  const say = (node: ts.Expression | undefined): void => {
    if (!node || !isNew(node)) return;
    if (ts.isStringLiteralLike(node)) note(node, [node.text]);
    else if (ts.isTemplateExpression(node)) {
      note(node, [node.head.text, ...node.templateSpans.map((span) => span.literal.text)]);
      for (const span of node.templateSpans) say(span.expression);
    } else if (ts.isConditionalExpression(node))
      for (const branch of [node.whenTrue, node.whenFalse]) say(branch);
    else if (ts.isBinaryExpression(node)) for (const side of [node.left, node.right]) say(side);
    else if (ts.isArrayLiteralExpression(node)) for (const element of node.elements) say(element);
    else if (ts.isObjectLiteralExpression(node)) sayObject(node);
    else if (ts.isIdentifier(node)) sayName(node);
    else if (ts.isPropertyAccessExpression(node)) sayProperty(node.name.text);
    else if (ts.isElementAccessExpression(node)) say(node.expression);
    else if (ts.isCallExpression(node)) sayCall(node);
    else if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) sayReturns(node);
    else if (isWrapped(node)) say(node.expression);
  };

  const sayObject = (node: ts.ObjectLiteralExpression): void => {
    if (isNoError(node)) return;
    for (const property of node.properties) {
      if (silent.has(property.name?.getText() ?? '')) continue;
      if (ts.isPropertyAssignment(property)) say(property.initializer);
      else if (ts.isShorthandPropertyAssignment(property)) say(property.name);
      else if (ts.isSpreadAssignment(property)) say(property.expression);
    }
  };

  const sayCall = ({ expression: callee, arguments: given }: ts.CallExpression): void => {
    if (ts.isPropertyAccessExpression(callee)) {
      say(callee.expression);
      if (/^(map|flatMap|concat)$/.test(callee.name.text)) for (const one of given) say(one);
      return;
    }
    const called = ts.isIdentifier(callee) ? functionOf(code.declared(callee)) : undefined;
    if (called && isNew(called)) sayReturns(called);
  };

  const sayReturns = ({ body }: Made): void => {
    if (!body) return;
    if (!ts.isBlock(body)) say(body);
    else eachWithin(body, (node) => ts.isReturnStatement(node) && say(node.expression));
  };

  const sayName = (node: ts.Identifier): void => {
    const declared = code.declared(node);
    if (!declared) return;
    if (ts.isVariableDeclaration(declared)) say(declared.initializer);
    else if (ts.isBindingElement(declared)) sayProperty((declared.propertyName ?? declared.name).getText());
    else if (ts.isParameter(declared)) sayArguments(declared);
  };

  /** The arguments of callers for a parameter. */
  const sayArguments = (parameter: ts.ParameterDeclaration): void => {
    if (silent.has(parameter.name.getText()) || !isNew(parameter)) return;
    const owner = parameter.parent as Made;
    const at = owner.parameters.indexOf(parameter);
    say(parameter.initializer);
    for (const given of code.callsOf(owner)) {
      for (const one of given.slice(at, parameter.dotDotDotToken ? undefined : at + 1)) say(one);
    }
  };

  const sayProperty = (name: string): void => {
    if (!spoken.has(name) || !isNew(name)) return;
    for (const assigned of code.assigned(name)) say(assigned);
  };

  for (const { given, parameters } of code.errors(made)) {
    for (const [at, one] of given.entries()) if (!silent.has(parameters[at] ?? '')) say(one);
  }
  return found;
}

/** Differences on a host, progress of work, consequences of a change, or cells of a report. */
function isNoError({ properties }: ts.ObjectLiteralExpression): boolean {
  const names = properties.map((property) => property.name?.getText() ?? '');
  return (
    names.join() === 'what' ||
    names.some((name) => ['wanted', 'done', 'total', 'effect', 'seconds'].includes(name))
  );
}

function isWrapped(node: ts.Expression): node is ts.ParenthesizedExpression {
  return (
    ts.isParenthesizedExpression(node) ||
    ts.isAwaitExpression(node) ||
    ts.isSpreadElement(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node)
  );
}

/** Visits the statements of a function, without functions in it. */
function eachWithin(node: ts.Node, see: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    if (ts.isFunctionLike(child)) return;
    see(child);
    eachWithin(child, see);
  });
}

function functionOf(declared: Declared | undefined): Made | undefined {
  if (!declared || ts.isFunctionDeclaration(declared)) return declared;
  const value = ts.isVariableDeclaration(declared) ? declared.initializer : undefined;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) ? value : undefined;
}
