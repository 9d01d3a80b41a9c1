import init, { GpuProgram, type GpuOutline } from '../wasm/tabia_gpu.js';
import module from '../wasm/tabia_gpu_bg.wasm?url';

// A network on WebGPU. What it computes is said by its program (crates/webgpu): buffers, shaders and the order of dispatches.

/** Positions evaluated at once; larger batches are evaluated in parts. */
const MOST_ROWS = 16;
/** A device that takes longer for one batch is given up, unless it is emulated and slow as such. */
const MOST_MS = 10_000;

/** Constants of the browser that TypeScript's library leaves out. */
declare const GPUBufferUsage: Record<'MAP_READ' | 'COPY_SRC' | 'COPY_DST' | 'STORAGE', number>;
declare const GPUMapMode: Record<'READ', number>;

interface Step {
  pipeline: GPUComputePipeline;
  bindings: GPUBindGroup;
  groups: readonly [number, number];
}

/** Starts loading what every network needs. Throws if it is not there. */
async function programOf(bytes: Uint8Array): Promise<GpuProgram | undefined> {
  await init({ module_or_path: module });
  return GpuProgram.open(bytes, navigator.gpu.wgslLanguageFeatures.has('packed_4x8_integer_dot_product'));
}

/** A network of a model file, ready to evaluate positions on a device of its own. */
export class GpuNetwork {
  readonly #device: GPUDevice;
  readonly #outline: GpuOutline;
  readonly #buffers: GPUBuffer[];
  readonly #steps: Step[];
  readonly #mostMs: number | undefined;
  /** Where outputs are copied to be read. */
  readonly #read: GPUBuffer;
  /** Runs wait for each other. */
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when the device is lost, or destroyed because the network was closed. */
  readonly lost: Promise<GPUDeviceLostInfo>;

  private constructor(device: GPUDevice, outline: GpuOutline, buffers: GPUBuffer[], steps: Step[], mostMs: number | undefined) {
    this.#device = device;
    this.#outline = outline;
    this.#buffers = buffers;
    this.#steps = steps;
    this.#mostMs = mostMs;
    this.lost = device.lost;
    this.#read = device.createBuffer({ size: this.#offsets().end, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  /** Undefined if there is no program for this network. Throws if the device cannot run it. */
  static async open(adapter: GPUAdapter, bytes: Uint8Array): Promise<GpuNetwork | undefined> {
    const program = await programOf(bytes);
    if (!program) return undefined;
    const outline = program.outline();
    const sizes = outline.buffers.map(({ bytes, perPosition }) => (perPosition ? bytes * MOST_ROWS : bytes));
    const largest = Math.max(...sizes);
    // The defaults are less than many devices have. A device that has too little refuses.
    const limit = (least: number) => Math.max(largest, least);
    const requiredLimits = {
      maxBufferSize: limit(256 * 2 ** 20),
      maxStorageBufferBindingSize: limit(128 * 2 ** 20),
    };
    const device = await adapter.requestDevice({ requiredLimits });
    try {
      device.pushErrorScope('out-of-memory');
      device.pushErrorScope('validation');
      const buffers = sizes.map((size, at) => {
        const buffer = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
        if (!outline.buffers[at]?.perPosition) device.queue.writeBuffer(buffer, 0, program.weights(at));
        return buffer;
      });
      const pipelines = await Promise.all(
        outline.shaders.map((code) => device.createComputePipelineAsync({ layout: 'auto', compute: { module: device.createShaderModule({ code }), entryPoint: 'main' } })),
      );
      const steps = outline.dispatches.map(({ shader, bindings, groups }): Step => {
        const pipeline = pipelines[shader]!;
        const entries = bindings.map((buffer, binding) => ({ binding, resource: { buffer: buffers[buffer]! } }));
        return { pipeline, groups, bindings: device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }) };
      });
      const network = new GpuNetwork(device, outline, buffers, steps, adapter.info.isFallbackAdapter ? undefined : MOST_MS);
      for (const problem of [await device.popErrorScope(), await device.popErrorScope()]) if (problem) throw new Error(problem.message);
      return network;
    } catch (error) {
      device.destroy();
      throw error;
    } finally {
      program.free();
    }
  }

  /** Evaluates positions: `inputs` have a row for each, and so have the outputs. Throws if the device is lost. */
  run(rows: number, inputs: Float32Array[]): Promise<Float32Array[]> {
    const done = this.#last.then(() => this.#run(rows, inputs));
    this.#last = done.catch(() => {});
    return done;
  }

  close(): void {
    this.#device.destroy();
  }

  async #run(rows: number, inputs: Float32Array[]): Promise<Float32Array[]> {
    const outputs = this.#outline.outputs.map(({ width }) => new Float32Array(rows * width));
    for (let first = 0; first < rows; first += MOST_ROWS) {
      const count = Math.min(MOST_ROWS, rows - first);
      const parts = await this.#batch(
        count,
        inputs.map((values, at) => {
          const { width } = this.#outline.inputs[at]!;
          return values.subarray(first * width, (first + count) * width);
        }),
      );
      parts.forEach((part, at) => outputs[at]?.set(part, first * this.#outline.outputs[at]!.width));
    }
    return outputs;
  }

  /** Where each output is in the buffer that is read. */
  #offsets(): { at: number[]; end: number } {
    let end = 0;
    const at = this.#outline.outputs.map(({ width }) => {
      const start = end;
      end += 4 * width * MOST_ROWS;
      return start;
    });
    return { at, end };
  }

  async #batch(rows: number, inputs: Float32Array[]): Promise<Float32Array[]> {
    const { at } = this.#offsets();
    this.#outline.inputs.forEach(({ buffer }, index) => {
      const values = inputs[index]!;
      this.#device.queue.writeBuffer(this.#buffers[buffer]!, 0, values.buffer, values.byteOffset, values.byteLength);
    });
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const { pipeline, bindings, groups } of this.#steps) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(groups[0], groups[1], rows);
    }
    pass.end();
    this.#outline.outputs.forEach(({ buffer, width }, index) => {
      encoder.copyBufferToBuffer(this.#buffers[buffer]!, 0, this.#read, at[index]!, 4 * width * rows);
    });
    this.#device.queue.submit([encoder.finish()]);
    await this.#unlessLost(this.#read.mapAsync(GPUMapMode.READ));
    const mapped = this.#read.getMappedRange();
    const outputs = this.#outline.outputs.map(({ width }, index) => new Float32Array(mapped, at[index], width * rows).slice());
    this.#read.unmap();
    return outputs;
  }

  /** The result, unless the device is lost or hangs first. */
  async #unlessLost<T>(result: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hung = new Promise<string>((resolve) => {
      if (this.#mostMs !== undefined) timer = setTimeout(() => resolve('the GPU does not answer'), this.#mostMs);
    });
    const failed = Promise.race([this.lost.then(({ message }) => message), hung]).then((reason) => {
      this.close();
      throw new Error(reason);
    });
    try {
      return await Promise.race([result, failed]);
    } finally {
      clearTimeout(timer);
      failed.catch(() => {});
    }
  }
}
