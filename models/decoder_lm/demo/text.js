// Lets the model go on with a prompt: one call of its entry point `decode` for each character.
import { attempt, bars, cost, run, softmax } from "./common.js";

// As in training.py: the most tokens of a text. A token is an ASCII character.
const CONTEXT = 64;
const TOKENS = 128;
const LIKELIEST = 8;
const NAMES = { "\n": "line", " ": "space", "\t": "tab", "\r": "return" };

const prompt = document.getElementById("prompt");
const given = document.getElementById("given");
const written = document.getElementById("written");
const write = document.getElementById("write");
const stop = document.getElementById("stop");
const temperature = document.getElementById("temperature");
let stopped = false;

/** Returns the next token: the likeliest at temperature 0, else one by chance, likely ones more often. */
function choose(outputs) {
  const degrees = Number(temperature.value);
  if (!degrees) return outputs.output0[0];
  const shares = softmax(outputs.output1[0].map((logit) => logit / degrees));
  let left = Math.random();
  return Math.max(0, shares.findIndex((share) => (left -= share) < 0));
}

function showNext(logits) {
  const rows = softmax(logits)
    .map((share, token) => {
      const letter = String.fromCharCode(token);
      return { label: NAMES[letter] ?? letter, share };
    })
    .sort((a, b) => b.share - a.share);
  bars(document.getElementById("next"), rows.slice(0, LIKELIEST));
}

function showCount(count) {
  document.getElementById("used").style.width = `${(100 * count) / CONTEXT}%`;
  document.getElementById("count").textContent = `${count} of ${CONTEXT} characters of context`;
}

/**
 * Sends the prompt's tokens, then those that are chosen of the model's answers, until its context is full. `decode` takes a
 * `token` and gives the likeliest next one, `output0`, and all logits, `output1`.
 */
async function generate() {
  const tokens = Array.from(prompt.value, (letter) => letter.codePointAt(0));
  if (!tokens.length) throw new Error("Type at least one character to begin with.");
  if (tokens.some((token) => token >= TOKENS)) throw new Error("The model knows ASCII characters only.");
  given.textContent = written.textContent = "";
  let begun = { reset: true };
  for (let count = 0; count < CONTEXT && !stopped; ++count) {
    const found = await run({ token: [tokens[count]] }, { entry: "decode", ...begun });
    begun = { sequence: found.sequence };
    const shown = count < prompt.value.length ? given : written;
    shown.textContent += String.fromCharCode(tokens[count]);
    if (count + 1 === tokens.length) tokens.push(choose(found.outputs));
    showCount(count + 1);
    showNext(found.outputs.output1[0]);
    document.getElementById("cost").textContent = `A token: ${cost(found)}`;
  }
}

document.getElementById("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  stopped = false;
  write.disabled = prompt.disabled = true;
  stop.disabled = false;
  await attempt(generate);
  write.disabled = prompt.disabled = false;
  stop.disabled = true;
});
stop.addEventListener("click", () => {
  stopped = true;
});
temperature.addEventListener("input", () => {
  const degrees = Number(temperature.value);
  document.getElementById("warm").textContent = degrees ? degrees.toFixed(1) : "always the likeliest character";
});
showCount(0);
