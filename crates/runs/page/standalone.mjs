// The page outside the app: standalone with embedded data, or served at /runs. Its choices are in the fragment of its address.
import { byId } from "./dom.mjs";
import { open } from "./main.mjs";

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyTheme = () => { document.documentElement.dataset.theme = dark.matches ? "dark" : "light"; };
dark.addEventListener("change", applyTheme);
applyTheme();

open(JSON.parse(byId("data").textContent), new URLSearchParams(location.hash.slice(1)), query => {
  try { history.replaceState(null, "", `#${query}`); } catch { /* not kept across reloads */ }
});
