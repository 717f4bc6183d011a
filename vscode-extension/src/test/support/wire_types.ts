// Holds our types of messages against the server's schema, property by property, as the compiler knows them.
import { join } from "node:path";
import ts from "typescript";
import { golden } from "./golden";

export interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Sides {
  readonly params: Schema;
  readonly result: Schema;
}

export const schema = golden("schema.json") as {
  readonly methods: Readonly<Record<string, Sides>>;
  readonly clientRequests: Readonly<Record<string, Sides>>;
  readonly $defs: Readonly<Record<string, Schema>>;
};

/** One property, of all the forms that an object may have. */
interface Property<T> {
  readonly of: T[];
  isOptional: boolean;
}

type Properties<T> = Map<string, Property<T>>;

/** What may be in one place, by what it is: words for plain values, the others apart. */
interface Forms<T> {
  readonly words: Set<string>;
  readonly lists: T[];
  readonly tuples: (readonly T[])[];
  readonly objects: T[];
  isAnything: boolean;
}

const noForms = <T>(): Forms<T> => ({ words: new Set(), lists: [], tuples: [], objects: [], isAnything: false });

/** An event is told by its kind, and kinds of another version are skipped: the data of each kind is compared by itself. */
const OPEN: Readonly<Record<string, readonly string[]>> = { AgentEvent: ["kind", "data"] };

const FEW = 10; // so many numbers may be a type of their own

export function resolved(one: Schema): Schema {
  if (one.$ref === undefined) return one;
  const found = schema.$defs[one.$ref.replace("#/$defs/", "")];
  if (!found) throw new Error(`${one.$ref} is not in schema.json`);
  return found;
}

function schemaForms(all: readonly Schema[], into = noForms<Schema>()): Forms<Schema> {
  for (const one of all.map(resolved)) {
    if (one.anyOf) schemaForms(one.anyOf, into);
    else if ("const" in one) into.words.add(JSON.stringify(one.const));
    else if (one.enum) for (const word of one.enum) into.words.add(JSON.stringify(word));
    else if (one.prefixItems) into.tuples.push(one.prefixItems);
    else if (one.type === "array") into.lists.push(one.items ?? {});
    else if (one.properties) into.objects.push(one);
    else if (one.type === undefined || one.type === "object") into.isAnything = true;
    else if (one.type === "integer" && (one.maximum ?? Infinity) - (one.minimum ?? 0) < FEW) {
      for (let n = one.minimum ?? 0; n <= (one.maximum ?? 0); n += 1) into.words.add(String(n));
    } else into.words.add(one.type === "integer" ? "number" : one.type);
  }
  return into;
}

function schemaProperties(objects: readonly Schema[]): Properties<Schema> {
  const all: Properties<Schema> = new Map();
  for (const { properties = {} } of objects) for (const [name, one] of Object.entries(properties)) {
    const known = all.get(name) ?? { of: [], isOptional: false };
    known.of.push(one);
    all.set(name, known);
  }
  for (const [name, property] of all) property.isOptional = !objects.every(({ required = [] }) => required.includes(name));
  return all;
}

/** Types of messages in the extension's own source, and what the compiler finds in more source. */
export class WireTypes {
  private readonly program: ts.Program;
  private readonly checker: ts.TypeChecker;

  /** `extra` is the text of a file that stands beside those of src. */
  constructor(private readonly files: readonly string[], extra: string) {
    const config = ts.readConfigFile("tsconfig.json", (path) => ts.sys.readFile(path)).config as { compilerOptions: object };
    const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: [], noUnusedLocals: false }, process.cwd());
    const host = ts.createCompilerHost(options);
    const onDisk = { ...host };
    host.fileExists = (path) => path === this.extraPath || onDisk.fileExists(path);
    host.getSourceFile = (path, target, ...rest) => path === this.extraPath
      ? ts.createSourceFile(path, extra, target)
      : onDisk.getSourceFile(path, target, ...rest);
    this.program = ts.createProgram([...files.map((name) => join(process.cwd(), "src", name)), this.extraPath], options, host);
    this.checker = this.program.getTypeChecker();
  }

  private get extraPath(): string {
    return join(process.cwd(), "src/golden_messages.ts");
  }

  /** What the compiler says of the extra source: the number of the line, from 0, and the words. */
  problems(): { line: number; text: string }[] {
    const source = this.program.getSourceFile(this.extraPath);
    return [...this.program.getSyntacticDiagnostics(source), ...this.program.getSemanticDiagnostics(source)].map((found) => ({
      line: source?.getLineAndCharacterOfPosition(found.start ?? 0).line ?? 0,
      text: ts.flattenDiagnosticMessageText(found.messageText, " "),
    }));
  }

  /** The exported type of one of our files. */
  exported(name: string): ts.Type {
    for (const file of this.files) {
      const source = this.program.getSourceFile(join(process.cwd(), "src", file));
      const module = source && this.checker.getSymbolAtLocation(source);
      const symbol = module && this.checker.getExportsOfModule(module).find((each) => each.name === name);
      if (symbol) return this.checker.getDeclaredTypeOfSymbol(symbol);
    }
    throw new Error(`${name} is exported by none of ${this.files.join(", ")}`);
  }

  /** The members of an interface by name. */
  members(type: ts.Type): Map<string, ts.Type> {
    return new Map(this.checker.getPropertiesOfType(type).map((symbol) => [symbol.name, this.checker.getTypeOfSymbol(symbol)]));
  }

  member(type: ts.Type, name: string): ts.Type {
    const found = this.members(type).get(name);
    if (!found) throw new Error(`${this.checker.typeToString(type)} has no ${name}`);
    return found;
  }

  /** Where the types and the schemas do not say the same, in words. */
  misfits(types: readonly ts.Type[], schemas: readonly Schema[], place: string): string[] {
    const [ours, theirs] = [this.forms(types), schemaForms(schemas)];
    if (ours.isAnything && theirs.isAnything) return [];
    const found: string[] = [];
    const say = (text: string) => found.push(`${place}: ${text}`);
    if (ours.isAnything !== theirs.isAnything) say(ours.isAnything ? "it may be anything here" : "the server takes or gives anything");
    for (const word of theirs.words) if (!ours.words.has(word)) say(`${word} is missing`);
    for (const word of ours.words) if (!theirs.words.has(word)) say(`the server knows no ${word}`);
    for (const shape of ["lists", "tuples", "objects"] as const) {
      if (ours[shape].length > 0 !== theirs[shape].length > 0) say(`${shape} are ${ours[shape].length > 0 ? "not of the server" : "missing"}`);
    }
    if (ours.lists.length > 0 && theirs.lists.length > 0) found.push(...this.misfits(ours.lists, theirs.lists, `${place}[]`));
    const [our, their] = [ours.tuples[0], theirs.tuples[0]];
    if (our?.length !== their?.length) say("the tuples have other lengths");
    their?.forEach((one, at) => found.push(...this.misfits([...our?.slice(at, at + 1) ?? []], [one], `${place}[${at}]`)));
    if (ours.objects.length > 0 && theirs.objects.length > 0) found.push(...this.objectMisfits(ours.objects, theirs.objects, place));
    return found;
  }

  private objectMisfits(ours: readonly ts.Type[], theirs: readonly Schema[], place: string): string[] {
    const told = ours.length > 1 && theirs.length > 1 && ["kind", "type"].find((name) => theirs.every((one) => one.properties?.[name]?.const !== undefined));
    if (told === undefined || told === false) return this.propertyMisfits(ours, theirs, place);
    const of = (word: unknown) => ours.filter((type) => this.forms([this.member(type, told)]).words.has(JSON.stringify(word)));
    const words = theirs.map((one) => one.properties?.[told]?.const);
    const strange = ours.filter((type) => ![...this.forms([this.member(type, told)]).words].every((word) => words.some((each) => JSON.stringify(each) === word)));
    return [
      ...strange.map((type) => `${place}: the server knows no ${this.checker.typeToString(type)}`),
      ...theirs.flatMap((one, at) => {
        const word = String(words[at]);
        const same = of(words[at]);
        return same.length === 0 ? [`${place}: ${word} is missing`] : this.propertyMisfits(same, [one], `${place}<${word}>`, told);
      }),
    ];
  }

  private propertyMisfits(ours: readonly ts.Type[], theirs: readonly Schema[], place: string, told = ""): string[] {
    const [our, their] = [this.properties(ours), schemaProperties(theirs)];
    const found: string[] = [];
    const open = OPEN[ours.map((type) => this.checker.typeToString(type)).join()] ?? [];
    for (const name of our.keys()) if (!their.has(name)) found.push(`${place}.${name}: the server knows no such field`);
    for (const [name, { of, isOptional }] of their) {
      const known = our.get(name);
      if (!known) found.push(`${place}.${name}: it is missing`);
      else if (known.isOptional !== isOptional) found.push(`${place}.${name}: it is ${isOptional ? "optional" : "always there"}`);
      // A field that may be left out need not be null.
      const forms = isOptional ? of.map((one) => ({ anyOf: (one.anyOf ?? [one]).filter(({ type }) => type !== "null") })) : of;
      if (known && name !== told && !open.includes(name)) found.push(...this.misfits(known.of, forms, `${place}.${name}`));
    }
    return found;
  }

  private properties(types: readonly ts.Type[]): Properties<ts.Type> {
    const all: Properties<ts.Type> = new Map();
    for (const type of types) for (const symbol of this.checker.getPropertiesOfType(type)) {
      const known = all.get(symbol.name) ?? { of: [], isOptional: false };
      known.of.push(this.checker.getTypeOfSymbol(symbol));
      all.set(symbol.name, known);
    }
    const isOptional = (type: ts.Type, name: string) => ((this.checker.getPropertyOfType(type, name)?.flags ?? ts.SymbolFlags.Optional) & ts.SymbolFlags.Optional) !== 0;
    for (const [name, property] of all) property.isOptional = types.some((type) => isOptional(type, name));
    return all;
  }

  private forms(types: readonly ts.Type[], into = noForms<ts.Type>()): Forms<ts.Type> {
    for (const type of types) {
      const { flags } = type;
      if ((flags & ts.TypeFlags.Boolean) !== 0) into.words.add("boolean");
      else if (type.isUnion()) this.forms(type.types, into);
      else if (type.isStringLiteral() || type.isNumberLiteral()) into.words.add(JSON.stringify(type.value));
      else if ((flags & ts.TypeFlags.Undefined) !== 0) continue; // of an optional property
      else if (this.checker.isTupleType(type)) into.tuples.push(this.checker.getTypeArguments(type as ts.TypeReference));
      else if (this.checker.isArrayType(type)) into.lists.push(...this.checker.getTypeArguments(type as ts.TypeReference));
      else if ((flags & (ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive)) !== 0) into.isAnything = true;
      else if ((flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0) into.objects.push(type);
      else into.words.add(this.checker.typeToString(type));
    }
    if (into.words.has("true") && into.words.has("false")) {
      into.words.delete("true");
      into.words.delete("false");
      into.words.add("boolean");
    }
    return into;
  }
}
