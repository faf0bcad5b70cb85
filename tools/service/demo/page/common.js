// What pages of models share: asking the firmware, and showing where it runs, what it takes and what went wrong.
// Text from elsewhere only ever becomes text: nothing here makes HTML of a string.

const where = document.querySelector(".where");
const alarm = document.querySelector(".alarm");
let asked = 0;

/** Shows a sentence on what went wrong; an empty one takes it away. */
export function complain(sentence) {
  alarm.textContent = sentence;
  alarm.hidden = !sentence;
}

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    where.classList.add("lost");
    throw new Error("The demo has ended: start it again in the terminal, then load this page again.");
  }
  const found = await response.json();
  if (response.ok) return found;
  if (response.status === 503) where.classList.add("lost");
  throw new Error(`${found.error[0].toUpperCase()}${found.error.slice(1)}.`);
}

/**
 * Runs the model once. `inputs` has a list of numbers for each input, or whatever the demo's `prepare` takes.
 * `more` may have `entry`, `reset` and `sequence`, for a model with entry points or state. Returns `outputs` by name,
 * `instructions`, `seconds` and `sequence`. Throws an Error with a sentence.
 */
export async function run(inputs, more = {}) {
  where.classList.toggle("busy", ++asked > 0);
  try {
    return await answer("run", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ inputs, ...more }),
    });
  } finally {
    where.classList.toggle("busy", --asked > 0);
  }
}

/** Calls `act`, and shows the sentence of an Error that it throws. */
export async function attempt(act) {
  try {
    complain("");
    await act();
  } catch (error) {
    complain(error.message);
  }
}

/** Says what a run took. */
export function cost({ instructions, seconds }) {
  const counted = instructions ? `${instructions.toLocaleString("en")} instructions` : "instructions not counted";
  const time = seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`;
  return `${counted}, answered in ${time}`;
}

/** Returns numbers that add up to 1 and grow with exp(scores). */
export function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Shows bars in a <dl class="bars">: rows have `label` and `share` from 0 to 1; the largest stands out. */
export function bars(list, rows) {
  while (list.children.length < rows.length) {
    const track = element("div", { className: "track" }, element("div", { className: "bar" }));
    list.append(element("div", {}, element("dt"), element("dd", {}, track), element("dd", { className: "number" })));
  }
  const most = Math.max(...rows.map((row) => row.share));
  rows.forEach((row, index) => {
    const line = list.children[index];
    line.classList.toggle("best", row.share === most && most > 0);
    line.querySelector("dt").textContent = row.label;
    line.querySelector(".bar").style.width = `${100 * row.share}%`;
    line.querySelector(".number").textContent = `${Math.round(100 * row.share)} %`;
  });
}

await attempt(async () => {
  const facts = await answer("facts.json");
  where.textContent = `${facts.name}, firmware ${facts.where}`;
  const list = element("dl", { className: "facts card" });
  for (const { label, value, note } of facts.rows) {
    list.append(
      element(
        "div",
        {},
        element("dt", { textContent: label }),
        // Names of instruction sets may be broken where they have an underscore.
        element("dd", { textContent: value.replaceAll("_", "_\u200b") }),
        element("dd", { textContent: note }),
      ),
    );
  }
  document.querySelector("footer").append(list);
});
