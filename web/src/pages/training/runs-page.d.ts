declare module '#runs/main.mjs' {
  /** Starts the page in the elements of view.html; returns a function that stops it. Without data it follows the server's runs. */
  export function open(data: null, chosen: URLSearchParams, remember: (chosen: URLSearchParams) => void): () => void;
}
