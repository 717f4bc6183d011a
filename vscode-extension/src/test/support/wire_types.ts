// Compiles further source against the types of protocol messages, and returns the compiler's errors.
import { join } from "node:path";
import ts from "typescript";

/** Compiles the text `extra` as a file in src, so that it can import the protocol types. */
export class WireTypes {
  private readonly program: ts.Program;

  constructor(extra: string) {
    const config = ts.readConfigFile("tsconfig.json", (path) => ts.sys.readFile(path)).config as { compilerOptions: object };
    const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: [], noUnusedLocals: false }, process.cwd());
    const host = ts.createCompilerHost(options);
    const onDisk = { ...host };
    host.fileExists = (path) => path === this.extraPath || onDisk.fileExists(path);
    host.getSourceFile = (path, target, ...rest) => path === this.extraPath
      ? ts.createSourceFile(path, extra, target)
      : onDisk.getSourceFile(path, target, ...rest);
    this.program = ts.createProgram([this.extraPath], options, host);
  }

  private get extraPath(): string {
    return join(process.cwd(), "src/golden_messages.ts");
  }

  /** The compiler's errors in the extra source. Lines count from 0. */
  problems(): { line: number; text: string }[] {
    const source = this.program.getSourceFile(this.extraPath);
    return [...this.program.getSyntacticDiagnostics(source), ...this.program.getSemanticDiagnostics(source)].map((found) => ({
      line: source?.getLineAndCharacterOfPosition(found.start ?? 0).line ?? 0,
      text: ts.flattenDiagnosticMessageText(found.messageText, " "),
    }));
  }
}
