import { chromium } from 'playwright-core';

/** Starts the Chromium that the tests, the bench and the screenshots use. TABIA_CHROMIUM names another one. */
export function launchBrowser() {
  return chromium.launch({
    executablePath: process.env['TABIA_CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}
