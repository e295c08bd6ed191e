// The page: it asks the box for its status every two seconds while it is visible, and shows it.
// Names come from stations, so text is only ever set as text.

import { Chart, clock } from "/chart.js";
import { cause, count, number, problems } from "/verdict.js";

const POLL_MS = 2000;
const KEPT_S = 3600;
const COLOURS = 8;
const SPANS = [[300, "5 min"], [1200, "20 min"], [3600, "1 h"]];
const SHOWN_EVENTS = 8;
// A station that has never been sent more has no line in the charts.
const LEAST_MBPS = 0.1;
const DAY_S = 86400;

const $ = (id) => document.getElementById(id);
const charts = {
  delay_ms: new Chart($("delay"), (value) => `${number(value)} ms`),
  goodput_mbps: new Chart($("goodput"), (value) => `${number(value)} Mbit/s`),
};

let status = null;
let history = { times: [], stations: new Map() };
// Of the charts; until somebody chooses, it grows with what there is to show.
let span = SPANS[0][0];
let hasChosenSpan = false;
let chosen = null;
let allEvents = false;
// Numbers of the stations' colours, by hardware address: they stay while the page is open.
const colours = new Map();

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

async function get(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(8000) });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

async function loadHistory() {
  const told = await get("/api/history");
  history = { times: told.unix_s, stations: new Map(told.stations.map((station) => [station.mac, station])) };
}

// Adds the status as the newest point, and forgets what is older than an hour.
function extendHistory() {
  const { times, stations } = history;
  if (times.length > 0 && status.unix_s <= times.at(-1)) return;
  const known = times.length;
  const now = new Map(allStations().map((station) => [station.mac, station]));
  for (const mac of now.keys()) {
    if (!stations.has(mac)) stations.set(mac, { mac, delay_ms: Array(known).fill(null), goodput_mbps: Array(known).fill(null), share: Array(known).fill(null) });
  }
  times.push(status.unix_s);
  const tooOld = times.findIndex((time) => time >= status.unix_s - KEPT_S);
  times.splice(0, tooOld);
  for (const [mac, series] of stations) {
    const station = now.get(mac);
    series.delay_ms.push(station?.wifi_delay_ms ?? null);
    series.goodput_mbps.push(station ? station.mean_goodput_mbps ?? station.mean_sent_mbps : null);
    series.share.push(station?.share ?? null);
    for (const values of [series.delay_ms, series.goodput_mbps, series.share]) values.splice(0, tooOld);
    if (!station && series.goodput_mbps.every((value) => value == null)) stations.delete(mac);
  }
}

function allStations() {
  return status.aps.flatMap((ap) => ap.stations);
}

// Gives colours to the stations that are used most; the others share one.
function assignColours() {
  const used = allStations().filter((station) => station.limited_by !== "idle");
  used.sort((a, b) => b.mean_sent_mbps - a.mean_sent_mbps);
  for (const { mac } of used) {
    if (!colours.has(mac) && colours.size < COLOURS) colours.set(mac, colours.size);
  }
}

function colourOf(mac) {
  const index = colours.get(mac) ?? "rest";
  return getComputedStyle(document.documentElement).getPropertyValue(`--series-${index}`).trim();
}

function swatch(colour) {
  const mark = element("span", { class: "swatch", "aria-hidden": "true" });
  mark.style.backgroundColor = colour;
  return mark;
}

function show() {
  growSpan();
  assignColours();
  showHead();
  showVerdict();
  showCharts();
  $("air").replaceChildren(...status.aps.map(airOf));
  showStations();
  showEvents();
  showChoices();
}

function showHead() {
  $("where").textContent = `${status.wan} → ${status.aps.map((ap) => ap.name).join(", ")}`;
  const facts = [`aim: ${status.aim}`, `running for ${duration(status.uptime_s)}`, status.datapath];
  if (!status.fail_open) facts.push("not fail-open");
  $("facts").textContent = facts.join(" · ");
  document.title = `${problems(status)[0].title} – airpace`;
}

function duration(seconds) {
  if (seconds < 120) return `${seconds.toFixed(0)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(0)} h` : `${(seconds / 86400).toFixed(0)} days`;
}

const SIGNS = { bad: "✖", warn: "⚠", info: "ℹ", ok: "✔" };

function showVerdict() {
  const items = problems(status).map(({ level, title, text, advice }) => {
    const item = element("li", { class: level }, element("strong", {}, `${SIGNS[level]} ${title}`), element("p", {}, text));
    if (advice) item.append(element("p", { class: "advice" }, advice));
    return item;
  });
  // An unchanged list is left alone, so that a screen reader is silent.
  const now = items.map((item) => item.textContent).join("\n");
  if ($("verdict").dataset.text === now) return;
  $("verdict").dataset.text = now;
  $("verdict").replaceChildren(...items);
}

function showCharts() {
  const names = new Map(allStations().map((station) => [station.mac, station.name]));
  for (const [figure, chart] of Object.entries(charts)) {
    const lines = [];
    for (const [mac, series] of history.stations) {
      if (!colours.has(mac) && series.goodput_mbps.every((value) => !(value >= LEAST_MBPS))) continue;
      lines.push({ name: names.get(mac) ?? mac, colour: colourOf(mac), values: series[figure] });
    }
    chart.show(history.times, lines, span, chosen);
  }
}

// The air of an access point: a bar, and the same in words below it.
function airOf(ap) {
  const parts = ap.stations.filter((station) => station.share >= 0.005).sort((a, b) => b.share - a.share)
    .map((station) => ({ name: station.name, share: station.share, colour: colourOf(station.mac) }));
  const style = getComputedStyle(document.documentElement);
  if (ap.air_of_others >= 0.005) parts.push({ name: "other networks", share: ap.air_of_others, colour: style.getPropertyValue("--others") });
  const used = parts.reduce((sum, part) => sum + part.share, 0);
  const whole = Math.max(1, used);
  const stack = element("div", { class: "stack", "aria-hidden": "true" });
  const key = element("ul", { class: "key" });
  for (const part of parts) {
    const bar = element("span", {});
    bar.style.width = `${(100 * part.share) / whole}%`;
    bar.style.backgroundColor = part.colour;
    stack.append(bar);
    key.append(element("li", {}, swatch(part.colour), `${part.name} ${percent(part.share)}`));
  }
  if (used < 0.995) key.append(element("li", {}, swatch(style.getPropertyValue("--free")), `free or not known ${percent(1 - used)}`));
  const note = `${count(ap.stations.length, "station")}, ${ap.active_stations} active`;
  return element("div", { class: "air-of-ap" }, element("h3", {}, `${ap.name} `, element("small", {}, note)), stack, key);
}

function percent(share) {
  return share == null ? "–" : `${(100 * share).toFixed(0)} %`;
}

function showStations() {
  const rank = { bad: 0, warn: 1, info: 2, ok: 3, none: 4 };
  const rows = [];
  for (const ap of status.aps) {
    for (const station of ap.stations) rows.push({ station, ap, limit: cause(station.limited_by) });
  }
  rows.sort((a, b) => rank[a.limit.level] - rank[b.limit.level] || b.station.mean_sent_mbps - a.station.mean_sent_mbps);
  $("stations").replaceChildren(...rows.slice(0, 200).map(rowOf));
  $("idle-note").textContent = rows.length > 200 ? `${rows.length - 200} more stations are not shown: airpace edge status lists all.` : "";
}

function rowOf({ station, ap, limit }) {
  const where = [station.addresses[0], status.aps.length > 1 ? ap.name : null, station.name === station.mac ? null : station.mac].filter(Boolean).join(" · ");
  const head = element("th", { scope: "row" }, swatch(colourOf(station.mac)), station.name, element("small", {}, where));
  const goodput = station.mean_goodput_mbps ?? station.mean_sent_mbps;
  const figures = [["Delay", station.wifi_delay_ms, "ms"], ["Goodput", goodput, "Mbit/s"], ["Granted", station.mean_rate_mbps ?? station.rate_mbps, "Mbit/s"]];
  const cells = figures.map(([label, value, unit]) =>
    element("td", { class: "number", "data-label": label }, figure(value), element("span", { class: "unit" }, value == null ? "" : ` ${unit}`)));
  const air = element("td", { class: "number", "data-label": "Air" }, percent(station.share));
  const badge = element("td", { class: "limit" }, element("span", { class: `cause ${limit.level}` }, limit.name));
  const row = element("tr", {}, head, ...cells, air, badge, element("td", { class: "why" }, station.reason));
  row.addEventListener("pointerenter", () => choose(station.name));
  row.addEventListener("pointerleave", () => choose(null));
  return row;
}

// A figure of the table; next to nothing is 0.
function figure(value) {
  return value != null && value < 0.05 ? "0" : number(value);
}

function choose(name) {
  chosen = name;
  showCharts();
}

const LOUD = { "sensor-lost": "bad", "reload-refused": "bad", "passing": "bad" };

function showEvents() {
  const events = status.events.toReversed();
  const shown = allEvents ? events : events.slice(0, SHOWN_EVENTS);
  $("events").replaceChildren(...shown.map((event) => {
    const time = element("time", { datetime: new Date(event.unix_s * 1000).toISOString() }, when(event.unix_s));
    return element("li", {}, time, element("b", {}, event.name ?? event.station ?? event.ap ?? "box"), element("span", { class: LOUD[event.kind] ?? "" }, event.text));
  }));
  $("more-events").hidden = allEvents || events.length <= SHOWN_EVENTS;
}

// The time of day, or the date of what happened long ago.
function when(unixSeconds) {
  const isRecent = status.unix_s - unixSeconds < DAY_S / 2;
  if (isRecent) return clock(unixSeconds, true);
  return new Date(unixSeconds * 1000).toLocaleDateString([], { day: "numeric", month: "short" });
}

function showChoices() {
  const options = allStations().map((station) => [station.mac, `${station.name}${station.exempt ? " (exempt)" : ""}`]);
  const now = options.join("\n");
  if ($("which").dataset.options === now) return;
  const before = $("which").value;
  $("which").dataset.options = now;
  $("which").replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  if (before) $("which").value = before;
}

async function change(what) {
  const bodies = {
    exempt: ["/api/exempt", { station: $("which").value, exempt: true }],
    pace: ["/api/exempt", { station: $("which").value, exempt: false }],
    aim: ["/api/aim", { aim: $("aim").value }],
    reload: ["/api/reload", {}],
  };
  const [path, body] = bodies[what];
  try {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${$("token").value}` };
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    const told = await answer.json();
    $("outcome").textContent = told.done ?? `Refused: ${told.error}`;
  } catch (error) {
    $("outcome").textContent = `The box does not answer: ${error.message}`;
  }
}

async function poll() {
  if (document.hidden) return;
  try {
    if (history.times.length === 0) await loadHistory();
    status = await get("/api/status");
    extendHistory();
    show();
    $("live").className = "";
    $("live").textContent = `live, as of ${clock(status.unix_s, true)}`;
  } catch (error) {
    $("live").className = "stale";
    $("live").textContent = status ? `No answer since ${clock(status.unix_s, true)}: ${error.message}` : `No answer: ${error.message}`;
  }
}

// Shows what is known up to 20 minutes back: a box that has just begun does not have empty charts.
function growSpan() {
  const known = status.unix_s - (history.times[0] ?? status.unix_s);
  const fitting = known > SPANS[0][0] ? SPANS[1][0] : SPANS[0][0];
  if (hasChosenSpan || fitting === span) return;
  span = fitting;
  showSpans();
}

function showSpans() {
  const buttons = SPANS.map(([seconds, text]) => {
    const button = element("button", { type: "button", "aria-pressed": String(seconds === span) }, text);
    button.addEventListener("click", () => {
      span = seconds;
      hasChosenSpan = true;
      showSpans();
      if (status) showCharts();
    });
    return button;
  });
  $("spans").replaceChildren(...buttons);
}

showSpans();
$("more-events").addEventListener("click", () => {
  allEvents = true;
  showEvents();
});
$("change-form").addEventListener("submit", (event) => event.preventDefault());
document.querySelectorAll("[data-change]").forEach((button) => button.addEventListener("click", () => change(button.dataset.change)));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => status && show());
document.addEventListener("visibilitychange", () => {
  // What happened meanwhile is in the box's history.
  history = { times: [], stations: new Map() };
  poll();
});
poll();
setInterval(poll, POLL_MS);
