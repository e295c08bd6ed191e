// What an operator must know first, from the status alone. Nothing here is measured: `limited_by` and
// `reason` are the box's, and this file adds what can be done about them.

// Stations whose reasons stand at the top of the page.
const SHOWN_REASONS = 1;

const WORDS = {
  "passing": { level: "bad", name: "not paced" },
  "exempt": { level: "info", name: "exempt" },
  "idle": { level: "none", name: "idle" },
  "backhaul": { level: "bad", name: "backhaul" },
  "sensor-lost": { level: "bad", name: "sensor lost" },
  "no-sensor": { level: "info", name: "no sensor" },
  "slow-station": { level: "warn", name: "slow station" },
  "contention": { level: "warn", name: "busy air" },
  "fair-share": { level: "ok", name: "fair share" },
  "sender": { level: "ok", name: "sender" },
};

// The level and the name of what limits a station.
export function cause(limitedBy) {
  return WORDS[limitedBy] ?? { level: "none", name: limitedBy || "unknown" };
}

const CAUSES = [
  {
    by: "backhaul",
    level: "bad",
    title: (who) => `Backhaul bottleneck: ${who}`,
    advice: "Check the link on the side named above: cable, switch and mesh link towards the access point, or the internet connection. Pacing the air cannot help there.",
  },
  {
    by: "slow-station",
    level: "warn",
    title: (who, n) => `Slow ${n === 1 ? "station" : "stations"}: ${who}`,
    advice: "Move it closer to the access point, or to the 5 GHz band. Its share of the air is bounded, so the others do not wait for it.",
  },
  {
    by: "contention",
    level: "warn",
    title: (who) => `Busy air: little is left for ${who}`,
    advice: "Another network or an uploading station occupies this channel. Try another channel, or find the station that uploads.",
  },
  {
    by: "no-sensor",
    level: "info",
    title: (who) => `No sensor: ${who}`,
    advice: "A radio near the access point (--radio) or an agent on the station would replace the estimate by a measurement.",
  },
];

const SENSOR_ADVICE = {
  "agent": "Check that airpace-agent runs on it and that it reaches the box.",
  "block-ack": "Check the radio near the access point: its interface, its channel, and whether it is in range.",
};

// The problems of a status, the worst first: { level, title, text, advice }.
export function problems(status) {
  const found = [];
  if (status.passing) {
    found.push({
      level: "bad",
      title: "Nothing is paced: all frames pass",
      text: status.passing,
      advice: "The network works as without airpace. Pacing resumes by itself when the cause has ended.",
    });
  }
  const stations = status.aps.flatMap((ap) => ap.stations);
  addLostSensors(found, status.aps);
  for (const { by, level, title, advice } of CAUSES) {
    const hit = stations.filter((station) => station.limited_by === by);
    if (hit.length > 0) {
      found.push({ level, title: title(list(hit), hit.length), text: reasons(hit), advice });
    }
  }
  status.aps.forEach((ap) => addRadio(found, ap));
  status.aps.forEach((ap) => addDelays(found, ap));
  addLosses(found, status);
  if (status.dry_run) {
    found.push({
      level: "info",
      title: "Dry run: nothing is paced",
      text: "Rates are those that would have been granted.",
    });
  }
  const rank = { bad: 0, warn: 1, info: 2 };
  found.sort((a, b) => rank[a.level] - rank[b.level]);
  return found.some((problem) => problem.level !== "info") ? found : [allIsWell(stations), ...found];
}

function allIsWell(stations) {
  const active = stations.filter((station) => station.limited_by !== "idle").length;
  const text = stations.length === 0
    ? "No station has been heard yet."
    : `${count(stations.length, "station")}, ${active} active. Only their senders and their fair share of the air limit them.`;
  return { level: "ok", title: "All is well", text };
}

function addLostSensors(found, aps) {
  const lost = aps.flatMap((ap) => ap.stations).filter(hasLostSensor);
  if (lost.length === 0) return;
  const decides = lost.some((station) => station.limited_by === "sensor-lost");
  // A radio that has never heard a station is none that it has lost.
  const sensors = [...new Set(lost.map((station) => station.lost_sensor ?? "block-ack"))];
  found.push({
    level: decides ? "bad" : "warn",
    title: `Sensor lost: ${list(lost)}`,
    text: radioTroubles(aps) || reasons(lost),
    advice: sensors.map((sensor) => SENSOR_ADVICE[sensor] ?? "It returns with traffic that reveals its frames, such as TCP.").join(" "),
  });
}

// A radio that shows nothing, although no station needs it at the moment.
function addRadio(found, ap) {
  if (!ap.radio_trouble || ap.stations.some(hasLostSensor)) return;
  found.push({
    level: "warn",
    title: `No radio at ${ap.name}`,
    text: sentence(ap.radio_trouble),
    advice: "Other sensors observe the stations meanwhile, less exactly.",
  });
}

// What is wrong with the radios of access points whose stations miss nothing else.
function radioTroubles(aps) {
  const missing = aps.filter((ap) => ap.stations.some(hasLostSensor));
  const isOfRadio = (ap) => ap.radio_trouble && !ap.stations.some((station) => station.lost_sensor === "agent");
  return missing.every(isOfRadio) ? missing.map((ap) => sentence(ap.radio_trouble)).join("\n") : "";
}

// The sensor that needs TCP comes and goes with it, which matters only where it limits.
function hasLostSensor(station) {
  const { limited_by: by, lost_sensor: lost } = station;
  return by === "sensor-lost" || Boolean(lost && lost !== "ack-burst");
}

// Waiting at the access point that is far above the aim is what airpace is there to prevent.
function addDelays(found, ap) {
  if (ap.least_latency_ms != null) {
    found.push({
      level: "warn",
      title: `${ap.name}: the latency that was asked for cannot be met`,
      text: `The least that seems feasible is ${number(ap.least_latency_ms)} ms.`,
      advice: "It takes fewer or faster stations, or a longer latency must be allowed.",
    });
  }
  const limit = Math.max(20, 3 * (ap.aimed_round_ms ?? Infinity));
  const late = ap.stations.filter((station) => station.wait_p95_ms > limit && !station.exempt);
  if (late.length > 0) {
    found.push({
      level: "warn",
      title: `Packets wait long at ${ap.name}: ${list(late)}`,
      text: late.slice(0, 3).map((station) => `${station.name}: ${number(station.wait_p95_ms)} ms`).join(", ")
        + ` (95th percentile; the aim is ${number(ap.aimed_round_ms)} ms between two frames to a station).`,
      advice: "See what limits these stations below.",
    });
  }
}

function addLosses(found, status) {
  const lost = (status.rows_lost ?? 0) + (status.rows_left_out ?? 0);
  if (lost > 0) {
    found.push({
      level: "info",
      title: `${count(lost, "row")} of telemetry lost or left out`,
      text: "Packets are not affected. The file's disk or reader is slow, or there are too many stations.",
    });
  }
}

// The reasons of a few stations, a line for each.
function reasons(stations) {
  if (stations.length === 1) return sentence(stations[0].reason);
  const told = stations.slice(0, SHOWN_REASONS).map((station) => `${station.name}: ${station.reason}`);
  const more = stations.length - SHOWN_REASONS;
  if (more > 0) told.push(`The table below has the ${more === 1 ? "other one" : `other ${more}`}.`);
  return told.join("\n");
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function list(stations) {
  const names = stations.map((station) => station.name);
  if (names.length <= 3) return names.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${names.slice(0, 2).join(", ")} and ${names.length - 2} more stations`;
}

export function count(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

// A figure with two or three digits that count.
export function number(value) {
  if (value == null) return "–";
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(value % 1 ? 1 : 0) : value.toFixed(1);
}
