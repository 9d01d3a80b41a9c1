import { EngineClient } from './client';

let client: EngineClient | undefined;

/** The client for quick answers, shared by the pages that play and analyse, so that models are loaded once. */
export function sharedEngine(): EngineClient {
  client ??= new EngineClient();
  return client;
}
