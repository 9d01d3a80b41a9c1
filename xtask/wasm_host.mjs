// Runs one wasm32-wasip1 test binary: node --no-warnings wasm_host.mjs FILE.wasm [arguments of the test harness]
//
// On wasm32 a panic cannot be caught, so the first failing test ends the program, and its captured message is
// lost with it. This host starts the program again for that test alone, showing its output, and again for the
// tests that had not run yet, so that every test runs and every failure is named.
//
// Where TABIA_WASM_COUNTS names a file, a line `package passed` is added to it.
import { appendFileSync, readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [file, ...harness] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(file));

/** One run of the program: what it printed, its exit code, and the trap that ended it, if one did. */
async function run(args) {
  const wasi = new WASI({ version: 'preview1', args: [file, ...args], env: {}, returnOnExit: true });
  const imports = wasi.getImportObject();
  let printed = '';
  let memory;
  imports.wasi_snapshot_preview1.fd_write = (fd, vectors, count, written) => {
    const view = new DataView(memory.buffer);
    const decoder = new TextDecoder();
    let bytes = 0;
    let text = '';
    for (let i = 0; i < count; i += 1) {
      const start = view.getUint32(vectors + 8 * i, true);
      const length = view.getUint32(vectors + 8 * i + 4, true);
      text += decoder.decode(new Uint8Array(memory.buffer, start, length), { stream: true });
      bytes += length;
    }
    text += decoder.decode();
    (fd === 2 ? process.stderr : process.stdout).write(text);
    printed += text;
    view.setUint32(written, bytes, true);
    return 0;
  };
  // Making a thread is not supported, here as in the browser; a library that can do without is told so.
  const NOT_SUPPORTED = 58;
  imports.env = {
    pthread_attr_init: () => 0,
    pthread_attr_setstacksize: () => 0,
    pthread_attr_destroy: () => 0,
    pthread_create: () => NOT_SUPPORTED,
  };
  // Libraries also name functions that only a browser has; no test may get to one.
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] ??= () => {
      throw new Error(`a test called ${from}.${name}, which is not there on wasm32 in Node`);
    };
  }
  const instance = await WebAssembly.instantiate(module, imports);
  memory = instance.exports.memory;
  try {
    return { code: wasi.start(instance), text: printed };
  } catch (trap) {
    return { code: 1, trap, text: printed };
  }
}

const results = /^test (.+?)(?: - should panic)? \.\.\. (ok|ignored.*|FAILED)$/gm;
let passed = 0;
const ran = [];
const failed = [];
for (;;) {
  const skip = ran.flatMap((name) => ['--skip', name]);
  const { text, code, trap } = await run([...harness, ...(skip.length ? ['--exact', ...skip] : [])]);
  for (const [, name, result] of text.matchAll(results)) {
    ran.push(name);
    if (result === 'ok') passed += 1;
    if (result === 'FAILED') failed.push(name);
  }
  if (!trap) {
    if (code !== 0 && failed.length === 0) failed.push(`exit code ${code}`);
    break;
  }
  const name = /^test (.+) \.\.\. $/m.exec(text.slice(text.lastIndexOf('\ntest ') + 1))?.[1];
  console.log('FAILED');
  if (name === undefined) {
    console.log(trap.stack);
    failed.push('the program itself');
    break;
  }
  ran.push(name);
  failed.push(name);
  console.log(`\n---- ${name} ----`);
  const { trap: again } = await run([name, '--exact', '--nocapture']);
  console.log(`${again ?? 'it passes when it runs alone'}\n---- the tests after it ----`);
}

if (process.env.TABIA_WASM_COUNTS) {
  appendFileSync(process.env.TABIA_WASM_COUNTS, `${process.env.CARGO_PKG_NAME} ${passed}\n`);
}
if (failed.length > 0) {
  console.log(`\nfailed on wasm32:\n    ${failed.join('\n    ')}\n${passed} passed, ${failed.length} failed`);
  process.exitCode = 101;
}
