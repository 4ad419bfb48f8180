// The page of the service: asks for the overview every second and shows it.

import { Chart } from "./chart.js";
import * as service from "./service.js";
import { bytes, duration, percent, plain, rate, seconds, share } from "./words.js";

const EVERY_MS = 1000;
const MOST_POINTS = { seconds: 600, minutes: 1440 };
const get = (id) => document.getElementById(id);

let line = "seconds";
let chosen = null;          // "NAME/VERSION"
let histories = new Map();  // the same -> columns by field
let models = [];
let programOf = null;       // what the program's text was fetched for
let timer = null;
let asking = false;

const keyOf = (model) => `${model.name}/${model.version}`;
const current = () => models.find((model) => keyOf(model) === chosen);

// title, fields, their names, words, whether the axis begins at zero, only where it learns
const CHARTS = [
  ["Requests", ["requests", "refused"], ["answered", "refused"], rate, true, false],
  ["Latency", ["p50", "p99"], ["p50", "p99"], seconds, true, false],
  ["AUC of served predictions", ["auc"], ["AUC"], share, false, true],
  ["Live against frozen AUC", ["frozen_live_auc", "frozen_auc"], ["live", "frozen"], share, false, true],
  ["Log loss", ["log_loss", "loss"], ["served", "newest step"], share, false, true],
  ["Calibration", ["calibration"], ["predicted / seen"], share, false, true],
  ["Drift", ["prediction_psi", "feature_psi"], ["PSI of predictions", "of features"], share, true, true],
  ["Learning", ["examples", "feedback"], ["examples", "feedback"], rate, true, true],
  ["Freshness", ["freshness"], ["p99"], seconds, true, true],
  ["Waiting", ["waiting"], ["examples"], plain, true, true],
  ["Log not read yet", ["lag_bytes"], ["bytes"], bytes, true, true],
  ["Rows of tables", ["rows"], ["rows"], plain, true, false],
  ["Memory of tables", ["table_bytes"], ["bytes"], bytes, true, false],
];
const charts = CHARTS.map(([title, fields, names, words, zero, learns]) => ({
  fields, learns, chart: new Chart(get("charts"), title, names, words, zero),
}));

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// A list of names and values; nodes are kept, so that a reader's selection stays.
function setPairs(list, pairs) {
  while (list.children.length > pairs.length) list.lastChild.remove();
  pairs.forEach(([name, value], i) => {
    if (!list.children[i]) {
      const pair = document.createElement("div");
      pair.append(document.createElement("dt"), document.createElement("dd"));
      list.append(pair);
    }
    setText(list.children[i].children[0], name);
    setText(list.children[i].children[1], value);
  });
}

function keep(model) {
  const fresh = model.history;
  if (!fresh) return;
  const kept = histories.get(keyOf(model)) ?? {};
  for (const [field, values] of Object.entries(fresh)) {
    if (!Array.isArray(values)) continue;
    kept[field] = (kept[field] ?? []).concat(values).slice(-MOST_POINTS[line]);
  }
  histories.set(keyOf(model), kept);
}

function newestPoint() {
  let newest = 0;
  for (const { time_ms: times } of histories.values()) newest = Math.max(newest, times?.at(-1) ?? 0);
  return newest;
}

function showServer(server) {
  const badge = get("ready");
  setText(badge, server.ready ? "ready" : "not ready");
  badge.className = "badge " + (server.ready ? "good" : "bad");
  setText(get("about"), `version ${server.version}, up ${duration(server.uptime_seconds)}, ` +
    `${bytes(server.memory_bytes)} of memory`);
}

function showModels() {
  const nav = get("models");
  const names = models.map(keyOf);
  if (nav.dataset.names !== JSON.stringify(names)) {
    nav.dataset.names = JSON.stringify(names);
    nav.replaceChildren(...models.map((model) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${model.name} ${model.version}`;
      button.addEventListener("click", () => choose(keyOf(model)));
      return button;
    }));
  }
  models.forEach((model, i) => {
    nav.children[i].setAttribute("aria-pressed", String(keyOf(model) === chosen));
  });
  nav.hidden = models.length < 2;
}

function choose(key) {
  chosen = key;
  setText(get("answer"), "");
  show();
}

function showLearning(model) {
  const learning = model.learning;
  get("learning").hidden = !learning;
  get("join-section").hidden = !learning;
  if (!learning) return;
  const problem = get("problem");
  problem.hidden = !learning.problem;
  setText(problem, learning.problem);
  const past = get("past-problem");
  past.hidden = !learning.past_problem;
  setText(past, learning.past_problem ? `Resolved at ` +
    `${new Date(learning.past_problem_ns / 1e6).toLocaleString()}: ${learning.past_problem}` : "");
  get("drift").hidden = !learning.drift;
  setText(get("drift"), learning.drift ? `Drift: ${learning.drift_why}` : "");
  get("pause").hidden = learning.paused;
  get("resume").hidden = !learning.paused;
  const select = get("commits");
  const commits = learning.commits ?? [];
  const wanted = JSON.stringify(commits);
  if (select.dataset.commits !== wanted) {
    const before = select.value;
    select.dataset.commits = wanted;
    select.replaceChildren(...commits.map(({ commit, step }) => {
      const option = document.createElement("option");
      option.value = commit;
      option.textContent = `commit ${commit}, step ${step}`;
      return option;
    }));
    if (commits.some(({ commit }) => String(commit) === before)) select.value = before;
  }
  get("rollback").disabled = commits.length === 0;
  setPairs(get("join"), [
    ["log, bytes", bytes(learning.log_end - learning.log_begin)],
    ["not synced yet", bytes(learning.log_end - learning.log_durable)],
    ["impressions", plain(learning.impressions)],
    ["waiting for their outcome", plain(learning.open_impressions)],
    ["memory of the join", bytes(learning.join_bytes)],
    ["feedback", plain(learning.feedback)],
    ["matched", plain(learning.matched_feedback)],
    ["waiting for an impression", plain(learning.waiting_feedback)],
    ["for unknown ids", plain(learning.unmatched_feedback)],
    ["answers that the log did not take", plain(learning.lost_impressions)],
    ["feedback for those", plain(learning.feedback_for_lost)],
    ["late", plain(learning.late_feedback)],
    ["repeated", plain(learning.duplicate_feedback + learning.duplicate_keys)],
    ["steps refused by a guard", plain(learning.refused_steps)],
    ["steps rolled back", plain(learning.skipped_steps)],
    ["examples dropped", plain(learning.dropped_examples)],
  ]);
}

// The first row has the titles.
function setTable(table, rows) {
  table.replaceChildren(...rows.map((cells, i) => {
    const row = document.createElement("tr");
    for (const text of cells) {
      const cell = document.createElement(i === 0 ? "th" : "td");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }));
}

function showFeatures(features) {
  const seen = features.filter((feature) => feature.rows > 0);
  get("features-section").hidden = seen.length === 0;
  const part = (count, rows) => (count === 0 ? "0" : percent(count / rows));
  setTable(get("features"), [["feature", "rows", "missing", "out of range"],
    ...seen.map(({ name, rows, missing, out_of_range: outside }) =>
      [name, plain(rows), part(missing, rows), part(outside, rows)])]);
}

function showTables(tables) {
  get("tables-section").hidden = tables.length === 0;
  const rows = [["table", "width", "rows", "not admitted yet", "expired", "memory", "disk"],
    ...tables.map((table) => [`@${table.name}`, plain(table.width), plain(table.rows),
      plain(table.waiting), plain(table.expired), bytes(table.bytes), bytes(table.bytes_on_disk)])];
  setTable(get("tables"), rows);
}

async function showProgram() {
  const model = current();
  if (!model || !get("program-section").open || programOf === chosen) return;
  programOf = chosen;
  const pre = get("program");
  try {
    const text = await service.program(model.name, model.version);
    pre.replaceChildren(...text.replace(/\n$/, "").split("\n").map((code, i) => {
      const row = document.createElement("div");
      const number = document.createElement("span");
      number.className = "number";
      number.textContent = i + 1;
      const time = document.createElement("span");
      time.className = "time";
      row.append(number, time, code || " ");
      return row;
    }));
    showTimes();
  } catch (error) {
    programOf = null;
    pre.textContent = error.message;
    get("program-section").open = error.status !== 0;
    if (error.status) programOf = chosen;
  }
}

// What each line takes of a run, beside it.
function showTimes() {
  const model = current();
  const pre = get("program");
  if (!model || programOf !== chosen) return;
  const all = (model.lines ?? []).reduce((sum, { seconds: one }) => sum + one, 0);
  const by = new Map((model.lines ?? []).map((one) => [one.line, one.seconds]));
  pre.querySelectorAll(".time").forEach((time, i) => {
    const one = by.get(i + 1);
    setText(time, one === undefined ? "" : `${seconds(one)} ${percent(one / all)}`);
    time.classList.toggle("most", one > all / 4);
  });
  setText(get("program-about"), model.measured_runs > 0
    ? `Time of a line in a run: mean of ${plain(model.measured_runs)} that were measured, one in 128.` : "");
}

function showCharts(model) {
  const history = histories.get(chosen) ?? {};
  const tables = (model.tables ?? []).length > 0;
  for (const { chart, fields, learns } of charts) {
    const figure = chart.svg.parentElement;
    figure.hidden = (learns && !model.learns) ||
      (fields[0] === "frozen_live_auc" && !(model.learning?.frozen_examples > 0)) ||
      ((fields[0] === "rows" || fields[0] === "table_bytes") && !tables);
    if (!figure.hidden) chart.draw(history.time_ms ?? [], fields.map((field) => history[field] ?? []));
  }
}

function show() {
  if (!current()) chosen = models.length > 0 ? keyOf(models[0]) : null;
  showModels();
  const model = current();
  get("model").hidden = !model;
  if (!model) return;
  document.title = `${model.name} – Catamaran`;
  setText(get("name"), model.name);
  const paused = model.learning?.paused ? ", paused" : "";
  setText(get("version"), `version ${model.version}, ${model.state.toLowerCase()}` +
    (model.learns ? `, learning${paused}` : ""));
  get("reason").hidden = !model.reason;
  setText(get("reason"), model.reason);
  const lately = model.lately ?? {};
  const learning = model.learning;
  setPairs(get("tiles"), [
    ["requests", rate(lately.requests)],
    ["latency p50", seconds(lately.p50)],
    ["latency p99", seconds(lately.p99)],
    ["latency p99.9", seconds(lately.p999)],
    ["answered", plain(model.requests)],
    ["refused, failed", `${plain(model.refused)}, ${plain(model.failed)}`],
    ["waiting", plain(model.waiting_requests)],
    ...(model.lenient_rows > 0 ? [["rows taken leniently", plain(model.lenient_rows)]] : []),
    ["parameters", bytes(model.parameter_bytes)],
    ...(learning ? [
      ["AUC", share(learning.window_auc)],
      ...(learning.frozen_examples > 0 ? [
        ["AUC, live", share(learning.frozen_live_auc)],
        ["AUC, frozen", share(learning.frozen_auc)],
      ] : []),
      ["log loss", share(learning.window_log_loss)],
      ["drift alarms", plain(learning.drift_alarms) + (learning.drift ? ", now" : "")],
      ["step", plain(learning.step)],
      ["examples learned", plain(learning.examples)],
      ["freshness p99", learning.freshness_count ? seconds(learning.freshness_p99) : seconds(null)],
      ["log not read yet", bytes(learning.log_end - learning.log_consumed)],
      ["newest commit", plain(learning.commit)],
      ["its step", plain(learning.commit_step)],
    ] : [["step", plain(model.step)]]),
  ]);
  showLearning(model);
  showTables(model.tables ?? []);
  showFeatures(model.features ?? []);
  showCharts(model);
  showProgram();
  showTimes();
}

function trouble(text) {
  get("trouble").hidden = !text;
  setText(get("trouble"), text);
}

function askForToken() {
  const dialog = get("token-dialog");
  if (!dialog.open) dialog.showModal();
}

async function look() {
  if (asking) return;
  asking = true;
  clearTimeout(timer);
  try {
    const asked = line;
    const answer = await service.overview(asked, newestPoint());
    if (asked === line) {
      models = answer.models;
      const there = new Set(models.map(keyOf));
      for (const key of histories.keys()) if (!there.has(key)) histories.delete(key);
      models.forEach(keep);
      trouble("");
      showServer(answer.server);
      show();
    }
  } catch (error) {
    if (!(error instanceof service.Refusal)) throw error;
    get("ready").className = "badge bad";
    setText(get("ready"), "no answer");
    trouble(`${error.message}; trying again`);
    // With a wrong token there is no use in asking every second.
    if (error.status === 401) {
      askForToken();
      return;
    }
  } finally {
    asking = false;
  }
  if (!document.hidden) timer = setTimeout(look, EVERY_MS);
}

// A button's call, and what became of it.
async function tell(button, what, body, words) {
  const model = current();
  const answer = get("answer");
  button.disabled = true;
  answer.className = "";
  answer.textContent = "…";
  try {
    answer.textContent = words(await service.tell(model.name, what, body));
  } catch (error) {
    if (!(error instanceof service.Refusal)) throw error;
    answer.className = "bad";
    answer.textContent = error.message;
    if (error.status === 401 || error.status === 403) askForToken();
  } finally {
    button.disabled = false;
  }
  look();
}

get("commit").addEventListener("click", (event) => tell(event.currentTarget, "commit", {},
  (reply) => `commit ${reply.commit} holds step ${reply.step}`));
get("pause").addEventListener("click", (event) => tell(event.currentTarget, "pause", {},
  () => "paused: what comes in waits in the log"));
get("resume").addEventListener("click", (event) => tell(event.currentTarget, "resume", {},
  () => "learning goes on"));
get("rollback").addEventListener("click", () => {
  const model = current();
  const option = get("commits").selectedOptions[0];
  if (!model || !option) return;
  setText(get("rollback-text"), `Model ${model.name} goes back to ${option.textContent}. What it ` +
    "learned since then is skipped for good, and listed so in the log.");
  get("rollback-dialog").dataset.commit = option.value;
  get("rollback-dialog").showModal();
});
get("rollback-dialog").addEventListener("close", (event) => {
  const dialog = event.currentTarget;
  if (dialog.returnValue !== "yes") return;
  dialog.returnValue = "";
  tell(get("rollback"), "rollback", { commit: Number(dialog.dataset.commit) },
    (reply) => `back at commit ${reply.commit}, step ${reply.step}; ` +
      `${reply.skipped_steps} steps with ${reply.skipped_examples} examples are skipped`);
});
get("token-button").addEventListener("click", askForToken);
get("token-dialog").addEventListener("close", (event) => {
  const dialog = event.currentTarget;
  if (dialog.returnValue === "use") {
    service.setToken(get("token").value);
    programOf = null;
    look();
  }
  dialog.returnValue = "";
  get("token").value = "";
});
get("lines").addEventListener("change", (event) => {
  line = event.target.value;
  histories = new Map();
  look();
});
get("program-section").addEventListener("toggle", showProgram);
get("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("catamaran-theme", root.dataset.theme);
});
const theme = localStorage.getItem("catamaran-theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
addEventListener("resize", show);
look();
