// Strokes become the 8 by 8 pixels of the dataset, and the firmware classifies them while you draw.
import { attempt, bars, cost, run, softmax } from "./common.js";

// The scans of the dataset (UCI, optical recognition of handwritten digits) are bitmaps of 32 x 32 that the digit
// fills from top to bottom; a pixel is how many of its 4 x 4 bits are black. PEN is the width of their strokes, in bits:
// with it, drawings are as dark as the scans, of which 31 % is black. Digits are at most BROADEST bits wide.
const BITS = 32;
const SIDE = 8;
const PEN = 5.5;
const BROADEST = 22;
// Canvas points that an arrow key moves the pen by.
const STEP = 32;

const paper = document.getElementById("paper");
const context = paper.getContext("2d");
const pixels = document.getElementById("pixels");
const digit = document.getElementById("digit");
const classes = document.getElementById("classes");

let strokes = [];
let pen = null; // by keyboard: where it is, and whether it is down
let waiting = false;
let newer = false;

/** Returns how far the point (x, y) is from the segment from a to b. */
function distance(x, y, a, b) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const length = dx * dx + dy * dy;
  const along = length ? Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / length)) : 0;
  return Math.hypot(x - a[0] - along * dx, y - a[1] - along * dy);
}

/** Returns the strokes, centered and scaled to the bitmap. */
function scaled() {
  const points = strokes.flat();
  const span = (axis) => {
    const all = points.map((point) => point[axis]);
    return [Math.min(...all), Math.max(...all)];
  };
  const [[left, right], [top, bottom]] = [span(0), span(1)];
  const tall = (BITS - PEN) / Math.max(bottom - top, 1);
  const wide = Math.min(tall, (BROADEST - PEN) / Math.max(right - left, 1));
  // A dot or a dash is not blown up.
  const limit = (2 * BITS) / paper.height;
  const [sx, sy] = [Math.min(wide, limit), Math.min(tall, limit)];
  return strokes.map((stroke) =>
    stroke.map(([x, y]) => [(x - (left + right) / 2) * sx + BITS / 2, (y - (top + bottom) / 2) * sy + BITS / 2]),
  );
}

/** Returns the pixels of the model's input, 0 to 1 in steps of 1/16, row by row. */
function image() {
  const counts = new Array(SIDE * SIDE).fill(0);
  if (!strokes.length) return counts;
  const lines = scaled().flatMap((stroke) => stroke.map((point, index) => [point, stroke[index + 1] ?? point]));
  const block = BITS / SIDE;
  for (let row = 0; row < BITS; ++row) {
    for (let column = 0; column < BITS; ++column) {
      const black = lines.some(([a, b]) => distance(column + 0.5, row + 0.5, a, b) <= PEN / 2);
      counts[Math.floor(row / block) * SIDE + Math.floor(column / block)] += black;
    }
  }
  return counts.map((count) => count / block ** 2);
}

function draw() {
  const style = getComputedStyle(document.body);
  context.clearRect(0, 0, paper.width, paper.height);
  context.lineCap = context.lineJoin = "round";
  context.strokeStyle = context.fillStyle = style.color;
  context.lineWidth = (paper.height * PEN) / BITS / 2;
  for (const stroke of strokes) {
    context.beginPath();
    context.moveTo(...stroke[0]);
    for (const point of [...stroke.slice(1), stroke.at(-1)]) context.lineTo(...point);
    context.stroke();
  }
  if (pen) {
    context.fillStyle = style.getPropertyValue("--accent");
    context.beginPath();
    context.arc(pen.x, pen.y, pen.down ? 16 : 10, 0, 2 * Math.PI);
    context.fill();
  }
}

/** Shows the drawing, and what the firmware says about it: one request at a time, the newest drawing next. */
async function changed() {
  draw();
  newer = true;
  if (waiting) return;
  waiting = true;
  while (newer) {
    newer = false;
    await attempt(classify);
  }
  waiting = false;
}

async function classify() {
  const values = image();
  pixels.replaceChildren(
    ...values.map((value) => {
      const pixel = document.createElement("i");
      pixel.style.opacity = value;
      pixel.dataset.value = value;
      return pixel;
    }),
  );
  if (!strokes.length) return show(null);
  const found = await run({ image: values });
  show(softmax(found.outputs.logits[0]), found);
}

function show(shares, found) {
  const empty = shares === null;
  const rows = Array.from({ length: 10 }, (_, index) => ({ label: index, share: empty ? 0 : shares[index] }));
  bars(classes, rows);
  const best = empty ? 0 : Math.max(...shares);
  digit.textContent = empty ? "?" : shares.indexOf(best);
  digit.classList.toggle("unsure", best < 0.6);
  document.getElementById("cost").textContent = empty ? "\u00a0" : cost(found);
}

function at(event) {
  const box = paper.getBoundingClientRect();
  const scale = paper.width / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

paper.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  pen = null;
  paper.setPointerCapture(event.pointerId);
  strokes.push([at(event)]);
  changed();
});
paper.addEventListener("pointermove", (event) => {
  if (!paper.hasPointerCapture(event.pointerId)) return;
  strokes.at(-1).push(at(event));
  changed();
});

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
paper.addEventListener("keydown", (event) => {
  const move = MOVES[event.key];
  if (!move && event.key !== " ") return;
  event.preventDefault();
  pen ??= { x: paper.width / 2, y: paper.height / 4, down: false };
  if (!move) {
    pen.down = !pen.down;
    if (pen.down) strokes.push([[pen.x, pen.y]]);
  } else {
    pen.x = Math.min(paper.width, Math.max(0, pen.x + STEP * move[0]));
    pen.y = Math.min(paper.height, Math.max(0, pen.y + STEP * move[1]));
    if (pen.down) strokes.at(-1).push([pen.x, pen.y]);
  }
  changed();
});

function clear() {
  strokes = [];
  pen = null;
  changed();
}
document.getElementById("clear").addEventListener("click", clear);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") clear();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
changed();
