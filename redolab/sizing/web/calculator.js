"use strict";
// The calculator of the report. It looks up predictions that `redolab size` made (redolab/sizing/page.py), and answers for the worst
// crash. tests/sizing/test_report_in_browser.py compares the two.

const GIB = 2 ** 30;

function known(question) {
  return DATA.servers[question.server].workloads[question.workload];
}

function predict(place, question) {
  // `place`: of the log among those that the server can have.
  const server = DATA.servers[question.server], learnt = known(question), pool = DATA.pools.indexOf(question.pool);
  const found = learnt.storages[question.storage].pools[pool];
  const ready = found.ready[place], age = server.ages[place], [low, high, ...within] = learnt.bounds[found.bounds][place];
  const mayTakeBatches = place >= learnt.one_batch[pool];
  // null: more recoveries than one in twenty get stuck.
  const stuck = mayTakeBatches ? within[threadClass(question)] : high;
  return { logSize: DATA.sizes[server.first + place], place, age, ready, low: ready * low, high: ready * high,
    sure: stuck === null ? Infinity : ready * stuck, minutes: (age / question.redoPerHour) * 60 };
}

function threadClass(question) {
  return DATA.thread_classes.filter((least) => least <= question.readThreads).length - 1;
}

function advise(question) {
  const server = DATA.servers[question.server];
  const rows = server.ages.map((_, place) => predict(place, question));
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

function reservations(question, row) {
  const learnt = known(question), pool = DATA.pools.indexOf(question.pool);
  const numbers = [...learnt.storages[question.storage].said, ...learnt.reservations[pool][row.place][threadClass(question)]];
  return numbers.map((number) => `${learnt.said[number]}. `).join("");
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
    pool: Number(value("pool")), readThreads: Number(value("threads")), redoPerHour: Number(value("redo")) * GIB, rto: Number(value("rto")),
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
  if (!(question.redoPerHour > 0 && question.rto > 0)) {
    refuse("Redo and recovery time have to be greater than 0.");
    return;
  }
  if (!(question.readThreads >= 1 && question.readThreads <= 64)) {
    refuse("innodb_read_io_threads is 1 to 64.");
    return;
  }
  const onStorage = known(question).storages[question.storage];
  if (onStorage.refused) {
    refuse(`${onStorage.refused}.`);
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
  const said = reservations(question, found.answer || found.rows[0]);
  document.getElementById("rests").textContent = `For the worst crash, with the log full. ${said}Predicted from ${onStorage.rests}.`;
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
  fill("pool", DATA.pools.map((bytes) => [String(bytes), size(bytes)]), String(8 * GIB));
  byServer();
  document.getElementById("server").addEventListener("input", byServer);
  for (const name of ["server", "storage", "workload", "pool", "threads", "redo", "rto"]) document.getElementById(name).addEventListener("input", show);
  show();
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", start);
