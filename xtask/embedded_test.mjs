// Opens the model inside a built module in Node, and lets it play if it can. Arguments: the module's script and its wasm file.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [script, wasm] = process.argv.slice(2);
const tabia = await import(pathToFileURL(script).href);
tabia.initSync({ module: readFileSync(wasm) });
try {
  const engine = new tabia.Engine(1);
  const { name, format, parameters, plays } = engine.loadEmbedded();
  if (name !== tabia.embeddedModel()) throw new Error(`the model is named ${name}`);
  const spec = `${plays ? 'maia' : 'net'}:${name}`;
  const { san } = engine.choose(spec, { moves: [], white: {}, black: {} }, {});
  console.log(`${spec} plays ${san} from inside the module (${format}, ${parameters} parameters)`);
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}
