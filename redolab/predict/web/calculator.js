"use strict";
// The calculator of the report. It interpolates between predictions that Python made on a grid (redolab/predict/page.py), and answers for
// the worst crash. tests/predict/test_report_in_browser.py compares it with `redolab size`.

const GIB = 2 ** 30;

function known(question) {
  return DATA.servers[question.server].workloads[question.workload];
}

function between(points, x) {
  // The place of the point before `x`, and how far it is to the next one, in logarithms.
  let place = 0;
  while (place < points.length - 2 && points[place + 1] <= x) place += 1;
  const share = Math.log(x / points[place]) / Math.log(points[place + 1] / points[place]);
  return [place, Math.min(1, Math.max(0, share))];
}

function interpolated(values, [place, share]) {
  return share === 0 ? values[place] : Math.exp((1 - share) * Math.log(values[place]) + share * Math.log(values[place + 1]));
}

function isMeasured(question) {
  const [least, most] = known(question).measured_pools;
  return question.pool >= least && question.pool <= most;
}

function ageOf(question, logSize) {
  const server = DATA.servers[question.server];
  return interpolated(server.ages, between(server.sizes, logSize));
}

function crowding(question, age) {
  // How many times the parsed redo would fill the buffer pool.
  return (known(question).per_byte * age) / question.pool;
}

function predict(question, logSize) {
  const fitted = known(question), found = fitted.storages[question.storage], age = ageOf(question, logSize);
  const crowded = between(fitted.crowding, crowding(question, age)), [row, share] = between(fitted.redo, age);
  const ready = interpolated([row, row + 1].map((each) => interpolated(found.ready[each], crowded)), [0, share]);
  const bounds = fitted.bounds[found.bounds[isMeasured(question) ? 0 : 1]], at = between(fitted.sizes, logSize);
  // null: more recoveries than one in twenty get stuck.
  const end = (number) => (bounds[at[0]][number] === null ? null : interpolated(bounds.map((each) => each[number]), at));
  const stuck = crowding(question, age) > fitted.one_batch ? end(2 + threadClass(question)) : end(1);
  return { logSize, age, ready, low: ready * end(0), high: ready * end(1),
    sure: stuck === null ? Infinity : ready * stuck, minutes: (age / question.redoPerHour) * 60 };
}

function threadClass(question) {
  return DATA.thread_classes.filter((least) => least <= question.readThreads).length - 1;
}

function advise(question) {
  const rows = possible(question, DATA.sizes).map((each) => predict(question, each));
  const holds = rows.find((row) => row.age >= question.redoPerHour) || null;
  const late = rows.findIndex((row) => row.sure >= question.rto);
  const within = late === -1 ? rows[rows.length - 1] : rows[late - 1] || null;
  const holdsInTime = holds && within && holds.logSize <= within.logSize;
  const answer = holdsInTime ? holds : within;
  const yours = question.logSize ? predict(question, question.logSize) : null;
  const shown = rows.filter((row) => DATA.shown.includes(row.logSize) && row.logSize !== question.logSize);
  return { holdsInTime, rows: [...shown, ...(yours ? [yours] : [])].sort((one, other) => one.logSize - other.logSize), holds, within,
    answer, yours };
}

function possible(question, sizes) {
  const known = DATA.servers[question.server].sizes;
  return sizes.filter((each) => each >= known[0] && each <= known[known.length - 1]);
}

function parsed(text) {
  // Bytes of `8G`, `512M`, `1.5G` or a number; null for anything else.
  const found = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?$/i.exec(text.trim());
  return found && Math.floor(Number(found[1]) * 1024 ** " KMGT".indexOf(found[2].toUpperCase() || " "));
}

function size(bytes) {
  for (const [unit, scale] of [["T", 2 ** 40], ["G", GIB], ["M", 2 ** 20]]) {
    if (bytes % scale === 0 && bytes / scale > 0 && bytes / scale < 10000) return `${bytes / scale}${unit}`;
  }
  for (const [unit, scale] of [["T", 2 ** 40], ["G", GIB], ["M", 2 ** 20], ["K", 1024]]) {
    if (bytes >= scale) {
      const value = bytes / scale;
      return `${Number.isInteger(value) ? value : fixed(value, value < 10 ? 2 : 1)}${unit}`;
    }
  }
  return `${bytes}B`;
}

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (seconds < 3600) return `${minutes} min ${Math.round(seconds) % 60} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

function round(seconds) {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;
}

function fixed(value, places) {
  // As Python rounds: a half to the even digit.
  const scale = 10 ** places, below = Math.floor(scale * value);
  return ((scale * value - below === 0.5 ? below + (below % 2) : Math.round(scale * value)) / scale).toFixed(places);
}

function reservations(question, rows) {
  const fitted = known(question), numbers = (row) => [
    ...(row.logSize > fitted.beyond_from ? [fitted.beyond] : row.logSize > fitted.few_from ? [fitted.few] : []),
    ...(isMeasured(question) ? [] : [fitted.other_pool]),
    ...(crowding(question, row.age) > fitted.one_batch ? fitted.stuck[threadClass(question)] : []),
  ];
  const filled = (row) => [...fitted.storages[question.storage].sentences, ...numbers(row)].map((number) => fitted.sentences[number]
    .replace("{log}", size(row.logSize)).replace("{times}", Number(fixed(row.logSize / fitted.largest, 1)))
    .replace("{pool}", size(question.pool)));
  return [...new Set(rows.flatMap(filled))].map((each) => `${each}. `).join("");
}

function linesFor(question, row) {
  const server = DATA.servers[question.server];
  const needed = Math.ceil((2 * row.high) / 10) * 10;
  const values = {
    size: row.logSize, half: Math.floor(row.logSize / 2 ** 21) * 2 ** 20, log: size(row.logSize), median: duration(row.ready),
    upper: duration(row.high), wait: Math.ceil(row.high), needed, failures: needed / 10,
    grace: Math.max(30, Math.ceil(row.high)),
  };
  const filled = (text) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const places = needed <= server.start_timeout_s ? server.enough : server.raised;
  return places.map((place) => [`# ${place.where}: ${place.why}`, ...place.lines].map(filled).join("\n")).join("\n\n");
}

function tooLong(row, question) {
  if (row.sure < question.rto) return "";
  return row.high < question.rto ? " may get stuck" : " too long";
}

function sentence(question, found) {
  const row = found.answer, limit = duration(question.rto);
  if (!row) return `No size recovers in time: even with the smallest more than one recovery in twenty takes longer than ${limit}.`;
  const why = found.holdsInTime ? "It is the smallest that holds an hour of peak redo, and it recovers in time." :
    `It is the largest that recovers within ${limit}, and holds ${duration(row.minutes * 60)} of peak redo; ` +
    (found.holds ? `an hour takes ${size(found.holds.logSize)}.` : "an hour fits into no log.");
  return `Set the redo log to ${size(row.logSize)}. After a crash with the log full, the worst, recovery then typically takes ` +
    `${duration(row.ready)}, 95 % sure less than ${duration(row.high)}. ${why}`;
}

function yours(question, row) {
  if (!row) return "";
  return `Your redo log of ${size(row.logSize)}: after the worst crash recovery typically takes ${duration(row.ready)}, 95 % sure less than ` +
    `${duration(row.high)}${row.sure < question.rto ? "" : `; more than one in twenty takes longer than ${duration(question.rto)}`}. ` +
    `It holds ${duration(row.minutes * 60)} of peak redo.`;
}

function asked() {
  const value = (name) => document.getElementById(name).value;
  return {
    server: value("server"), storage: value("storage"), workload: value("workload"), pool: parsed(value("pool")),
    logSize: value("log").trim() ? parsed(value("log")) : 0, readThreads: Number(value("threads")),
    redoPerHour: Number(value("redo")) * GIB, rto: Number(value("rto")),
  };
}

function whyNot(question) {
  // The reason why a question has no answer; empty if it has one.
  const [least, most] = DATA.pools, sizes = DATA.servers[question.server].sizes, last = sizes[sizes.length - 1];
  if (question.pool === null || question.logSize === null) return "Write sizes as 512M, 1.5G or 8G.";
  if (question.pool < least || question.pool > most) return `The calculator knows buffer pools of ${size(least)} to ${size(most)}.`;
  if (question.logSize && !possible(question, [question.logSize]).length) {
    return `The calculator knows redo logs of this server of ${size(sizes[0])} to ${size(last)}.`;
  }
  if (!(question.redoPerHour > 0 && question.rto > 0)) return "Redo and recovery time have to be greater than 0.";
  if (!(question.readThreads >= 1 && question.readThreads <= 64)) return "innodb_read_io_threads is 1 to 64.";
  const { refused } = known(question).storages[question.storage];
  return refused ? `${refused}.` : "";
}

function chart(question, found) {
  const width = 640, height = 280, left = 64, bottom = 32, top = 12;
  const [smallest, largest] = [found.rows[0].logSize, found.rows[found.rows.length - 1].logSize];
  const xs = found.rows.map((row) => left + (Math.log(row.logSize / smallest) * (width - left - 20)) / Math.log(largest / smallest));
  const most = Math.max(question.rto, ...found.rows.map((row) => row.high)) * 1.3;
  const least = Math.min(question.rto, ...found.rows.map((row) => row.low)) / 1.3;
  const y = (seconds) => top + ((Math.log(most) - Math.log(seconds)) / (Math.log(most) - Math.log(least))) * (height - top - bottom);
  const points = (key) => found.rows.map((row, place) => `${xs[place]},${y(row[key])}`);
  const band = [...points("high"), ...points("low").reverse()].join(" ");
  const labels = found.rows.map((row, place) => DATA.shown.includes(row.logSize) ?
    `<text x="${xs[place]}" y="${height - 10}" text-anchor="middle">${size(row.logSize)}</text>` : "");
  const ticks = [1, 10, 60, 600, 3600, 36000].filter((tick) => tick > least && tick < most).map(
    (tick) => `<text x="${left - 8}" y="${y(tick) + 4}" text-anchor="end">${round(tick)}</text>` +
      `<line x1="${left}" x2="${width}" y1="${y(tick)}" y2="${y(tick)}" class="grid"/>`);
  const line = y(question.rto);
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="predicted recovery time over redo log size">${ticks.join("")}` +
    `<polygon points="${band}" class="band"/><polyline points="${points("ready").join(" ")}" class="line"/>` +
    `<line x1="${left}" x2="${width}" y1="${line}" y2="${line}" class="rto"/>` +
    `<text x="${width - 4}" y="${line - 6}" text-anchor="end" class="rto-label">your limit: ${duration(question.rto)}</text>${labels.join("")}</svg>`;
}

function refuse(why) {
  document.getElementById("answer").textContent = why;
  for (const name of ["yours", "sizes", "lines", "chart", "rests"]) document.getElementById(name).textContent = "";
}

function show() {
  const question = asked(), why = whyNot(question);
  const out = document.getElementById("answer"), table = document.getElementById("sizes");
  if (why) {
    refuse(why);
    return;
  }
  const found = advise(question);
  out.textContent = sentence(question, found);
  document.getElementById("yours").textContent = yours(question, found.yours);
  table.innerHTML = found.rows.map((row) =>
    `<tr${found.answer && row.logSize === found.answer.logSize ? ' class="chosen"' : ""}><th scope="row">${size(row.logSize)}</th><td>${size(row.age)}</td>` +
    `<td>${duration(row.ready)}</td><td>${duration(row.low)} to ${duration(row.high)}</td><td>${duration(row.minutes * 60)}</td>` +
    `<td>${row.age < question.redoPerHour ? "under an hour" : ""}${tooLong(row, question)}</td></tr>`).join("");
  document.getElementById("lines").textContent = found.answer ? linesFor(question, found.answer) : "";
  document.getElementById("chart").innerHTML = chart(question, found);
  const said = reservations(question, [found.answer || found.rows[0], ...(found.yours ? [found.yours] : [])]);
  document.getElementById("rests").textContent = `For the worst crash, with the log full. ${said}Predicted from ${known(question).storages[question.storage].rests}.`;
}

function start() {
  const fill = (name, values, chosen) => {
    document.getElementById(name).replaceChildren(
      ...values.map(([value, label]) => new Option(label, value, value === chosen, value === chosen)));
  };
  const byServer = () => {
    const server = DATA.servers[document.getElementById("server").value];
    fill("workload", Object.keys(server.workloads).map((name) => [name, name]), server.slowest);
  };
  fill("server", Object.entries(DATA.servers).map(([name, server]) => [name, server.label]));
  fill("storage", Object.entries(DATA.storages).map(([name, about]) => [name, `${name}: ${about}`]));
  byServer();
  document.getElementById("server").addEventListener("input", byServer);
  for (const name of ["server", "storage", "workload", "pool", "log", "threads", "redo", "rto"]) document.getElementById(name).addEventListener("input", show);
  show();
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
