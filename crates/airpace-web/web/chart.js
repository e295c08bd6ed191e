// A chart of lines over time on a canvas, with each line's name at its end.

const MARGIN = { top: 8, bottom: 22, left: 44 };
// Where there is no room for names beside the lines, the table's colours are the key.
const LEAST_WIDTH_FOR_NAMES = 480;

export class Chart {
  // `text` turns a value into what the pointer shows.
  constructor(canvas, text) {
    this.canvas = canvas;
    this.text = text;
    this.lines = [];
    this.pointer = null;
    canvas.addEventListener("pointermove", (event) => this.point(event.offsetX));
    canvas.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // Shows lines { name, colour, values } over `times`, the last `span` seconds of them. `chosen` is the
  // name of the line that stands out.
  show(times, lines, span, chosen) {
    Object.assign(this, { times, lines, span, chosen });
    this.draw();
  }

  point(x) {
    this.pointer = x;
    this.draw();
  }

  draw() {
    const { canvas, times } = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!times || width === 0) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "13px system-ui, 'DejaVu Sans', sans-serif";
    const style = getComputedStyle(document.documentElement);
    this.colours = { text: style.getPropertyValue("--faint"), strong: style.getPropertyValue("--text"), line: style.getPropertyValue("--line"), card: style.getPropertyValue("--card") };
    const end = times.at(-1) ?? 0;
    const start = end - this.span;
    const names = width >= LEAST_WIDTH_FOR_NAMES ? Math.min(150, 12 + Math.max(0, ...this.lines.map((line) => context.measureText(short(line.name)).width))) : 8;
    const top = this.highest(start);
    const right = width - names;
    const bottom = height - MARGIN.bottom;
    const x = (time) => MARGIN.left + ((time - start) / this.span) * (right - MARGIN.left);
    const y = (value) => bottom - (value / top) * (bottom - MARGIN.top);
    const area = { context, x, y, start, end, top, right, bottom, width };
    this.drawAxes(area);
    for (const line of this.lines) this.drawLine(area, line);
    if (names > 8) this.drawNames(area);
    this.drawPointer(area);
  }

  // The end of the vertical axis: a round number above all values.
  highest(start) {
    let most = 0;
    for (const line of this.lines) {
      for (let at = this.times.length - 1; at >= 0 && this.times[at] >= start; at--) most = Math.max(most, line.values[at] ?? 0);
    }
    this.step = stepOf(Math.max(most, 1) / 4);
    return Math.max(this.step, Math.ceil((most * 1.05) / this.step) * this.step);
  }

  drawAxes({ context, x, y, start, end, top, right, bottom }) {
    context.strokeStyle = this.colours.line;
    context.fillStyle = this.colours.text;
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let value = 0; value <= top * 1.001; value += this.step) {
      line(context, MARGIN.left, y(value), right, y(value));
      context.fillText(String(+value.toFixed(2)), MARGIN.left - 8, y(value));
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const steps = [60, 120, 300, 600, 900, 1800].find((seconds) => (seconds / this.span) * (right - MARGIN.left) >= 64) ?? 1800;
    for (let time = Math.ceil(start / steps) * steps; time <= end; time += steps) {
      if (x(time) < MARGIN.left + 16 || x(time) > right - 12) continue;
      context.fillText(clock(time, false), x(time), bottom + 6);
      line(context, x(time), bottom, x(time), bottom + 4);
    }
  }

  drawLine({ context, x, y, start }, { name, colour, values }) {
    const fades = this.chosen && this.chosen !== name;
    context.globalAlpha = fades ? 0.25 : 1;
    context.strokeStyle = colour;
    context.lineWidth = this.chosen === name ? 3 : 2;
    context.lineJoin = "round";
    context.beginPath();
    let pen = false;
    this.times.forEach((time, at) => {
      const value = values[at];
      if (time < start) return;
      if (value == null) {
        pen = false;
        return;
      }
      if (pen) context.lineTo(x(time), y(value));
      else context.moveTo(x(time), y(value));
      pen = true;
    });
    context.stroke();
    context.globalAlpha = 1;
  }

  // Names stand where their lines end, and apart from each other.
  drawNames({ context, y, right, bottom }) {
    const ends = this.lines.map((line) => ({ line, at: y(lastOf(line.values) ?? 0) })).filter(({ line }) => lastOf(line.values) != null);
    ends.sort((a, b) => a.at - b.at);
    const gap = 15;
    for (let i = 1; i < ends.length; i++) ends[i].at = Math.max(ends[i].at, ends[i - 1].at + gap);
    let lowest = bottom;
    for (let i = ends.length - 1; i >= 0; i--) {
      ends[i].at = Math.min(ends[i].at, lowest);
      lowest = ends[i].at - gap;
    }
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const { line, at } of ends) {
      if (at < 4) continue;
      context.fillStyle = line.colour;
      context.fillText(short(line.name), right + 7, at);
    }
  }

  // The values at the pointer, in a box beside it.
  drawPointer({ context, x, start, right, bottom }) {
    if (this.pointer == null || this.pointer < MARGIN.left || this.pointer > right) return;
    const time = start + ((this.pointer - MARGIN.left) / (right - MARGIN.left)) * this.span;
    let at = 0;
    for (let i = 0; i < this.times.length; i++) if (Math.abs(this.times[i] - time) < Math.abs(this.times[at] - time)) at = i;
    const shown = this.lines.filter((one) => one.values[at] != null).sort((a, b) => b.values[at] - a.values[at]).slice(0, 10);
    const rows = [{ text: clock(this.times[at], true), colour: this.colours.strong }, ...shown.map((one) => ({ text: `${short(one.name)}  ${this.text(one.values[at])}`, colour: one.colour }))];
    const wide = Math.max(...rows.map((row) => context.measureText(row.text).width)) + 16;
    const left = this.pointer + wide + 12 > right ? this.pointer - wide - 12 : this.pointer + 12;
    context.strokeStyle = this.colours.text;
    line(context, x(this.times[at]), MARGIN.top, x(this.times[at]), bottom);
    context.fillStyle = this.colours.card;
    context.strokeStyle = this.colours.line;
    context.fillRect(left, MARGIN.top, wide, rows.length * 17 + 8);
    context.strokeRect(left, MARGIN.top, wide, rows.length * 17 + 8);
    context.textAlign = "left";
    context.textBaseline = "top";
    rows.forEach((row, i) => {
      context.fillStyle = row.colour;
      context.fillText(row.text, left + 8, MARGIN.top + 5 + 17 * i);
    });
  }
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}

// The round number (1, 2, 2.5 or 5 times a power of ten) that is nearest above.
function stepOf(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].find((digit) => digit * power >= value * 0.999) * power;
}

function lastOf(values) {
  return values.at(-1);
}

function short(name) {
  return name.length > 18 ? `${name.slice(0, 17)}…` : name;
}

export function clock(unixSeconds, withSeconds) {
  const options = { hour: "2-digit", minute: "2-digit", second: withSeconds ? "2-digit" : undefined, hourCycle: "h23" };
  return new Date(unixSeconds * 1000).toLocaleTimeString([], options);
}
