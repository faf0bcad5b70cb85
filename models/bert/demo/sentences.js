// Ranks sentences by how similar their vectors are to that of the query.
import { attempt, cost, element, run } from "./common.js";

// The sentences that the model encodes at once.
const BATCH = 4;
const MOST = 24;

const form = document.getElementById("form");
const button = document.getElementById("rank");
const note = document.getElementById("cost");
const ranking = document.getElementById("ranking");
// Sentence to vector, of all that were encoded since the page was loaded.
const vectors = new Map();

const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

/** Encodes the sentences that were not seen yet, and calls `show` after each batch. */
async function encode(sentences, show) {
  const missing = sentences.filter((sentence) => !vectors.has(sentence));
  let found = null;
  for (let first = 0; first < missing.length; first += BATCH) {
    const batch = missing.slice(first, first + BATCH);
    const started = Date.now();
    const tell = () => {
      const seconds = Math.round((Date.now() - started) / 1000);
      note.textContent = `The firmware encodes ${first + batch.length} of ${missing.length} sentences: ${seconds} s`;
    };
    tell();
    const clock = setInterval(tell, 500);
    try {
      found = await run({ sentences: batch });
    } finally {
      clearInterval(clock);
    }
    batch.forEach((sentence, index) => vectors.set(sentence, found.outputs.sentence_vectors[index]));
    show();
  }
  note.textContent = found
    ? `${BATCH} sentences at a time: ${cost(found)}`
    : "All of these were encoded before; the page compares their vectors.";
}

function show(query, sentences) {
  const wanted = vectors.get(query);
  const rows = sentences.map((sentence) => {
    const vector = vectors.get(sentence);
    return { sentence, score: wanted && vector ? dot(wanted, vector) : null };
  });
  rows.sort((a, b) => (b.score ?? -2) - (a.score ?? -2));
  ranking.replaceChildren(
    ...rows.map(({ sentence, score }) => {
      const bar = element("div", { className: "bar" });
      bar.style.width = `${100 * Math.max(0, score ?? 0)}%`;
      return element(
        "li",
        { className: score === null ? "waiting" : "" },
        element("span", { className: "sentence", textContent: sentence }),
        element("span", { className: "number", textContent: score === null ? "…" : score.toFixed(3) }),
        element("div", { className: "track" }, bar),
      );
    }),
  );
}

async function rank() {
  const query = document.getElementById("query").value.trim();
  const lines = document.getElementById("sentences").value.split("\n");
  const sentences = [...new Set(lines.map((line) => line.trim()).filter(Boolean))];
  if (!query || !sentences.length) throw new Error("Type what you look for, and at least one sentence to compare.");
  if (sentences.length > MOST) throw new Error(`${sentences.length} sentences take long: leave ${MOST} at most.`);
  show(query, sentences);
  await encode([query, ...sentences.filter((sentence) => sentence !== query)], () => show(query, sentences));
  show(query, sentences);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  await attempt(async () => {
    try {
      await rank();
    } catch (error) {
      note.textContent = "";
      throw error;
    }
  });
  button.disabled = false;
});
document.getElementById("sentences").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
