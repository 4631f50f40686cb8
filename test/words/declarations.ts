import ts from '@typescript/typescript6';

/** A function-like declaration: it has parameters and returns a value. */
export type Made =
  | ts.FunctionDeclaration
  | ts.FunctionExpression
  | ts.ArrowFunction
  | ts.ConstructorDeclaration
  | ts.MethodDeclaration;

export type Declared =
  | ts.VariableDeclaration
  | ts.BindingElement
  | ts.ParameterDeclaration
  | ts.FunctionDeclaration
  | ts.ClassDeclaration;

/** Where an error is made: what is given to it, and what its parameters are called. */
interface MadeError {
  readonly given: readonly ts.Expression[];
  readonly parameters: readonly string[];
}

/**
 * Resolves names and calls by scope and import alone: the compiler's own checker takes seconds.
 */
export interface Declarations {
  declared(name: ts.Identifier): Declared | undefined;
  /** Arguments of every call of a named function or constructor. */
  callsOf(owner: Made): readonly (readonly ts.Expression[])[];
  /** Values that are assigned to properties of a name, anywhere. */
  assigned(property: string): readonly ts.Expression[];
  /** Every error of these classes, or of a subclass. */
  errors(classes: readonly string[]): readonly MadeError[];
}

type Call = ts.CallExpression | ts.NewExpression;

/**
 * @param isLeftOut objects with properties that do not count as assigned
 */
export function declarations(
  files: readonly ts.SourceFile[],
  isLeftOut: (node: ts.ObjectLiteralExpression) => boolean,
): Declarations {
  const scopes = new Map<ts.Node, Map<string, Declared>>();
  const top = new Map<string, Declared>();
  const imports = new Map<string, string>();
  const properties = new Map<string, ts.Expression[]>();
  const classes = new Map<string, ts.ClassDeclaration>();
  const calls = new Map<string, Call[]>();

  const declare = (name: ts.BindingName, declared: Declared, scope: ts.Node): void => {
    if (!ts.isIdentifier(name)) {
      for (const element of name.elements)
        if (ts.isBindingElement(element)) declare(element.name, element, scope);
      return;
    }
    scopes.set(scope, (scopes.get(scope) ?? new Map()).set(name.text, declared));
    if (ts.isSourceFile(scope)) top.set(`${scope.fileName} ${name.text}`, declared);
  };
  const see = (node: ts.Node, scope: ts.Node): void => {
    if (ts.isVariableDeclaration(node) || (ts.isFunctionDeclaration(node) && node.name)) {
      declare(node.name as ts.BindingName, node, scope);
    } else if (ts.isClassDeclaration(node) && node.name) {
      declare(node.name, node, scope);
      classes.set(node.name.text, node);
    } else if (ts.isPropertyAssignment(node) && !isLeftOut(node.parent))
      add(properties, node.name.getText(), node.initializer);
    else if (ts.isShorthandPropertyAssignment(node) && !isLeftOut(node.parent))
      add(properties, node.name.text, node.name);
    else if (ts.isImportDeclaration(node))
      for (const [here, there] of importsOf(node)) imports.set(here, there);
    else if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const { expression } = node;
      if (ts.isIdentifier(expression) || expression.kind === ts.SyntaxKind.SuperKeyword)
        add(calls, expression.getText(), node);
    }
    if (ts.isFunctionLike(node)) {
      for (const parameter of node.parameters)
        if (ts.isParameter(parameter)) declare(parameter.name, parameter, node);
    }
    const isScope =
      ts.isFunctionLike(node) || ts.isBlock(node) || ts.isForOfStatement(node) || ts.isSourceFile(node);
    ts.forEachChild(node, (child) => see(child, isScope ? node : scope));
  };
  for (const file of files) see(file, file);

  const declared = (name: ts.Identifier): Declared | undefined => {
    for (let node: ts.Node = name; node; node = node.parent) {
      const here = scopes.get(node)?.get(name.text);
      if (here) return here;
    }
    return top.get(imports.get(`${name.getSourceFile().fileName} ${name.text}`) ?? '');
  };
  const parentOf = (name: string): string =>
    classes.get(name)?.heritageClauses?.[0]?.types[0]?.expression.getText() ?? '';
  const comesFrom = (name: string, bases: readonly string[]): boolean =>
    name !== '' && (bases.includes(name) || comesFrom(parentOf(name), bases));
  const parametersOf = (name: string): string[] => {
    const own = classes.get(name);
    const maker = own?.members.find(ts.isConstructorDeclaration);
    if (maker) return maker.parameters.map((parameter) => parameter.name.getText());
    return own ? parametersOf(parentOf(name)) : [];
  };
  return {
    declared,
    assigned: (property) => properties.get(property) ?? [],
    callsOf(owner) {
      const target = ts.isFunctionDeclaration(owner) ? owner : owner.parent;
      const name = 'name' in target ? (target.name as ts.Node | undefined)?.getText() : undefined;
      return (calls.get(name ?? '') ?? [])
        .filter(({ expression }) => ts.isIdentifier(expression) && declared(expression) === target)
        .map((call) => [...(call.arguments ?? [])]);
    },
    errors(bases) {
      const thrown = [...calls].flatMap(([name, all]) =>
        all.flatMap((call): MadeError[] => {
          const given = [...(call.arguments ?? [])];
          if (ts.isNewExpression(call))
            return comesFrom(name, bases) ? [{ given, parameters: parametersOf(name) }] : [];
          const within = name === 'super' ? classAround(call) : '';
          return comesFrom(within, bases) ? [{ given, parameters: parametersOf(parentOf(within)) }] : [];
        }),
      );
      const kept = [...classes].flatMap(([name, { members }]) =>
        comesFrom(name, bases) ? members.filter(ts.isPropertyDeclaration) : [],
      );
      const members = kept.flatMap(({ name, initializer }): MadeError[] =>
        initializer ? [{ given: [initializer], parameters: [name.getText()] }] : [],
      );
      return [...thrown, ...members];
    },
  };
}

function add<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name);
  if (list) list.push(value);
  else lists.set(name, [value]);
}

/** `FILE NAME` of both sides, for each import between these files. */
function importsOf(node: ts.ImportDeclaration): [string, string][] {
  const from = (node.moduleSpecifier as ts.StringLiteral).text;
  const named = node.importClause?.namedBindings;
  if (!from.startsWith('.') || !named || !ts.isNamedImports(named)) return [];
  const here = node.getSourceFile().fileName;
  const there = new URL(from, `file:///${here}`).pathname.slice(1);
  return named.elements.map(({ name, propertyName }) => [
    `${here} ${name.text}`,
    `${there} ${(propertyName ?? name).text}`,
  ]);
}

function classAround(node: ts.Node): string {
  for (let at = node; at; at = at.parent) if (ts.isClassDeclaration(at)) return at.name?.text ?? '';
  return '';
}
