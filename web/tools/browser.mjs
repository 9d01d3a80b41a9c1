import { chromium } from 'playwright-core';

/** What runs WebGPU: nothing, Chromium's own software adapter, or the machine's GPU. */
const GPU = {
  none: ['--disable-gpu'],
  software: ['--disable-gpu', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
  hardware: ['--enable-unsafe-webgpu', '--enable-features=Vulkan', '--ignore-gpu-blocklist'],
};

/**
 * Starts the Chromium that the tests, the bench and the screenshots use. TABIA_CHROMIUM names another one.
 *
 * @param {keyof typeof GPU} gpu
 */
export function launchBrowser(gpu = 'none') {
  return chromium.launch({
    executablePath: process.env['TABIA_CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', ...GPU[gpu], '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}
