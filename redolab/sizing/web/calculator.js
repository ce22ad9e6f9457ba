"use strict";
// The calculator of the report: the model of redolab/models/recovery_time and redolab/models/sizing.py, on the coefficients that
// `redolab predict` and `redolab size` use. tests/sizing/test_report_in_browser.py compares the two.

const GB = 1e9, MILLION = 1e6, FREE_STORED_BYTES = 64e6, GIB = 2 ** 30;

function needed(memory, crash) {
  return memory.per_byte * crash.redo;
}

function workOf(crash, pool, memory) {
  const need = needed(memory, crash);
  const batches = Math.max(1, Math.ceil(need / pool));
  const pages = crash.dirtyPages * memory.pages_per_dirty_page * batches ** memory.repetition;
  const filled = (need + pages * DATA.page_size) / pool;
  const pressed = Math.min(1, Math.max(0, (filled - DATA.roomy) / (DATA.crowded - DATA.roomy)));
  return {
    redo: crash.redo,
    stored: Math.min(crash.redo, pool / memory.per_byte),
    batches,
    pages,
    written: pages * (batches > 1 ? 1 : pressed),
  };
}

const redoRead = (work, disk) => work.redo / (disk.sequential_mb_s * MILLION);
const AMOUNTS = {
  "redo": (work) => work.redo / GB,
  "crowding": (work) => (work.stored / GB) * Math.log2(1 + work.stored / FREE_STORED_BYTES),
  "log reads": redoRead,
  "applied redo": (work) => work.redo / GB,
  "batches": (work) => work.batches,
  "later stored redo": (work) => (work.redo - work.stored) / GB,
  "page reads": (work, disk) => work.pages / disk.queued_reads_per_s,
  "page writes": (work, disk) => work.written / disk.queued_reads_per_s,
  "write waits": (work, disk) => (work.pages * disk.write_us) / MILLION,
  "later log reads": (work, disk) => (work.batches - 1) * redoRead(work, disk),
  "start": () => 1,
  "single reads": (work, disk) => disk.read_us / MILLION,
};

function crashAt(age, learnt) {
  const pages = learnt.dirty_pages, share = age / pages.most_redo;
  return { redo: age, dirtyPages: pages.at_most * share ** (share > 1 ? 1 : pages.power) };
}

function wayToStorage(question, learnt) {
  if (learnt.storages.includes(question.storage)) return null;
  const seen = DATA.servers[question.server].storages_of_family.includes(question.storage);
  if (seen && DATA.spreads["another storage"]) return "another storage";
  return DATA.spreads["a storage nobody measured"] ? "a storage nobody measured" : "another storage";
}

function spreadFor(logSize, question, learnt) {
  const within = DATA.spreads["another crash"];
  const machine = question.storage === DATA.home ? "another machine" : "another machine, a limited disk";
  const ways = [wayToStorage(question, learnt), machine];
  if (question.pool < learnt.pools[0] / DATA.beyond || question.pool > learnt.pools[1] * DATA.beyond) ways.push("another pool");
  const largest = learnt.known_up_to || learnt.log_sizes[1];
  if (logSize > largest * DATA.beyond) ways.push("a larger log");
  const beyond = ways.filter((way) => DATA.spreads[way]).map((way) => {
    const spread = DATA.spreads[way];
    return { ...spread, further: way === "a larger log" ? spread.doubling * Math.log2(logSize / largest) : 0 };
  });
  const addedUp = (side) => {
    const scale = (spread) => spread[side] ?? spread.deviation;
    const own = within.deviation ** 2;
    const more = (each) => Math.max(0, scale(each) ** 2 + each.further ** 2 - own);
    return Math.max(scale(within), Math.sqrt(beyond.reduce((variance, each) => variance + more(each), own)));
  };
  return { above: addedUp("above"), below: addedUp("below"), count: Math.min(within.count, ...beyond.map((each) => each.count)) };
}

function stuckOf(question) {
  const least = Math.max(...DATA.thread_classes.filter((each) => each <= question.readThreads));
  return DATA.servers[question.server].stuck[question.workload][least];
}

function predict(logSize, question) {
  const server = DATA.servers[question.server], learnt = server.workloads[question.workload];
  const disk = DATA.storages[question.storage].disk;
  const age = server.ages[DATA.sizes.indexOf(logSize)];
  const crash = crashAt(age, learnt);
  const work = workOf(crash, question.pool, learnt.memory);
  let ready = 0;
  for (const [name, rate] of Object.entries(learnt.rates)) ready += rate * AMOUNTS[name](work, disk);
  const spread = spreadFor(logSize, question, learnt);
  const reach = DATA.quantiles[spread.count];
  // What may get stuck has to end sooner, so that as many recoveries end in time; null: too many get stuck.
  const mayTakeBatches = DATA.sure_of_one_batch * needed(learnt.memory, crash) > question.pool;
  const stuck = mayTakeBatches ? stuckOf(question).quantiles : DATA.quantiles;
  const sure = stuck === null ? Infinity : ready * Math.exp(stuck[spread.count] * spread.above);
  return { logSize, age, ready, low: ready * Math.exp(-reach * spread.below), high: ready * Math.exp(reach * spread.above), sure,
    mayTakeBatches, batches: work.batches, minutes: (age / question.redoPerHour) * 60 };
}

function advise(question) {
  const server = DATA.servers[question.server];
  const possible = DATA.sizes.filter((size, place) => server.ages[place] !== null);
  const rows = possible.map((size) => predict(size, question));
  const lastBefore = (meets) => {
    const first = rows.findIndex((row) => !meets(row));
    return first === -1 ? rows[rows.length - 1] : rows[first - 1] || null;
  };
  const holds = rows.find((row) => row.age >= question.redoPerHour) || null;
  const within = lastBefore((row) => row.sure < question.rto);
  const holdsInTime = holds && within && holds.logSize <= within.logSize;
  const answer = holdsInTime ? holds : within;
  return { holdsInTime, rows: rows.filter((row) => DATA.shown.includes(row.logSize)), holds, within, answer,
    withinMedian: lastBefore((row) => row.ready <= question.rto) };
}

function size(bytes) {
  for (const [unit, scale] of [["T", 2 ** 40], ["G", GIB], ["M", 2 ** 20]]) {
    if (bytes % scale === 0 && bytes / scale > 0 && bytes / scale < 10000) return `${bytes / scale}${unit}`;
  }
  for (const [unit, scale] of [["T", 2 ** 40], ["G", GIB], ["M", 2 ** 20], ["K", 1024]]) {
    if (bytes >= scale) {
      const value = bytes / scale;
      return `${Number.isInteger(value) ? value : value.toFixed(value < 10 ? 2 : 1)}${unit}`;
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

function reservations(question, learnt, logSize) {
  // As `Model.beyond_at` (redolab/sizing/question.py).
  const most = learnt.log_sizes[1], [least, largest] = learnt.pools;
  const said = [];
  if (logSize > most * DATA.beyond) said.push(`${size(logSize)} is more than the largest log measured, ${size(most)}.`);
  else if (logSize > (learnt.known_up_to || most) * DATA.beyond) said.push(`Few crashes with logs of more than ${size(learnt.known_up_to)} were measured.`);
  if (question.pool < least / DATA.beyond || question.pool > largest * DATA.beyond) {
    const span = least === largest ? size(least) : `${size(least)} to ${size(largest)}`;
    said.push(`Pools of ${span} were measured, not ${size(question.pool)}.`);
  }
  const row = predict(logSize, question);
  const { said: chance } = stuckOf(question);
  if (row.mayTakeBatches && chance !== null) {
    said.push(`A recovery of this server with more than one batch may get stuck for ever (docs/results/stuck.md has the way out): ${chance}.`);
  }
  if (DATA.spreads["another machine"]) said.push("Calibrated on redolab's machines, not on yours: the upper end allows for that.");
  return said.map((each) => `${each} `).join("");
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

function asked() {
  const value = (name) => document.getElementById(name).value;
  return {
    server: value("server"), storage: value("storage"), workload: value("workload"),
    pool: Number(value("pool")) * GIB, readThreads: Number(value("threads")), redoPerHour: Number(value("redo")) * GIB, rto: Number(value("rto")),
  };
}

function chart(question, found) {
  const width = 640, height = 280, left = 64, bottom = 32, top = 12;
  const xs = found.rows.map((_, place) => left + (place * (width - left - 20)) / Math.max(1, found.rows.length - 1));
  const most = Math.max(question.rto, ...found.rows.map((row) => row.high)) * 1.3;
  const least = Math.min(question.rto, ...found.rows.map((row) => row.low)) / 1.3;
  const y = (seconds) => top + ((Math.log(most) - Math.log(seconds)) / (Math.log(most) - Math.log(least))) * (height - top - bottom);
  const points = (key) => found.rows.map((row, place) => `${xs[place]},${y(row[key])}`);
  const band = [...points("high"), ...points("low").reverse()].join(" ");
  const labels = found.rows.map((row, place) => `<text x="${xs[place]}" y="${height - 10}" text-anchor="middle">${size(row.logSize)}</text>`);
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
  for (const name of ["sizes", "lines", "chart", "rests"]) document.getElementById(name).textContent = "";
}

function show() {
  const question = asked();
  const out = document.getElementById("answer"), table = document.getElementById("sizes");
  if (!(question.pool > 0 && question.redoPerHour > 0 && question.rto > 0)) {
    refuse("Pool, redo and recovery time have to be greater than 0.");
    return;
  }
  if (!(question.readThreads >= 1 && question.readThreads <= 64)) {
    refuse("innodb_read_io_threads is 1 to 64.");
    return;
  }
  if (question.pool < DATA.smallest_pool) {
    refuse(`A buffer pool of less than ${size(DATA.smallest_pool)} is too small.`);
    return;
  }
  const learnt = DATA.servers[question.server].workloads[question.workload];
  const measured = learnt.storages.includes(question.storage);
  if (!measured && !DATA.spreads[wayToStorage(question, learnt)]) {
    refuse(`No recovery of this server on ${question.storage} was measured under ${question.workload}, and how far a prediction ` +
      `from another storage is off is not known yet. Measured: ${learnt.storages.join(", ")}.`);
    return;
  }
  const found = advise(question);
  out.textContent = sentence(question, found);
  table.innerHTML = found.rows.map((row) =>
    `<tr${found.answer && row.logSize === found.answer.logSize ? ' class="chosen"' : ""}><th scope="row">${size(row.logSize)}</th><td>${size(row.age)}</td>` +
    `<td>${duration(row.ready)}</td><td>${duration(row.low)} to ${duration(row.high)}</td><td>${duration(row.minutes * 60)}</td>` +
    `<td>${row.age < question.redoPerHour ? "under an hour" : ""}${tooLong(row, question)}</td></tr>`).join("");
  document.getElementById("lines").textContent = found.answer ? linesFor(question, found.answer) : "";
  document.getElementById("chart").innerHTML = chart(question, found);
  const unmeasured = measured ? "" :
    `No recovery of this server on ${question.storage} was measured: predicted from the figures of the disk alone. `;
  const beyond = reservations(question, learnt, (found.answer || found.rows[0]).logSize);
  document.getElementById("rests").textContent = `${unmeasured}${beyond}Predicted from ${learnt.rests_on}.`;
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
  fill("storage", Object.entries(DATA.storages).map(([name, storage]) => [name, `${name}: ${storage.about}`]));
  byServer();
  document.getElementById("server").addEventListener("input", byServer);
  for (const name of ["server", "storage", "workload", "pool", "threads", "redo", "rto"]) document.getElementById(name).addEventListener("input", show);
  show();
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
