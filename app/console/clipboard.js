/** Copying for people. */

import { announce } from "./dom.js";

/** Put a text into the clipboard, and say so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    announce("The browser does not let this page copy.");
  }
}
