"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const trace = JSON.parse($("trace").textContent);

  const make = (tag, kind, ...inside) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    made.append(...inside);
    return made;
  };
  const code = (words) => make("code", "", words);

  /* ------------------------------------------------------------------------ light and dark */

  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("certus-theme", value);
      return localStorage.getItem("certus-theme");
    } catch {
      return null; // a page from disk may not be allowed to remember
    }
  };
  const root = document.documentElement;
  if (remembered()) root.dataset.theme = remembered();
  $("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remembered(root.dataset.theme);
  });

  /* ---------------------------------------------------------------------------------- tabs */

  const tabs = [...document.querySelectorAll('[role="tab"]')];
  const open = (name) => {
    for (const tab of tabs) {
      const chosen = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (name === "automata" && !$("picture").childElementCount) show();
  };
  for (const [n, tab] of tabs.entries()) {
    tab.addEventListener("click", () => open(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      const next = tabs[(to + tabs.length) % tabs.length];
      next.focus();
      next.click();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /* --------------------------------------------------------------------------------- lines */

  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const lineOf = (number) => $("L" + number);
  const bring = (element, again = true) => {
    if (!element) return;
    const pane = element.closest(".code, #steps");
    const box = element.getBoundingClientRect(), around = pane.getBoundingClientRect();
    const margin = Math.min(48, around.height / 6);
    if (box.top >= around.top + margin && box.bottom <= around.bottom - margin) return;
    const by = box.top - around.top - (pane.clientHeight - box.height) / 2;
    const far = Math.abs(by) > 2000;
    pane.scrollBy({ top: by, behavior: calm || far ? "instant" : "smooth" });
    if (far && again) requestAnimationFrame(() => bring(element, false)); // lines not seen before have got their size
  };
  const mark = (number, kind) => {
    for (const old of document.querySelectorAll(".line." + kind)) old.classList.remove(kind);
    const line = lineOf(number);
    if (line) line.classList.add(kind);
    return line;
  };
  const choose = (number) => {
    open("source");
    const line = mark(number, "chosen");
    for (const old of document.querySelectorAll(".here")) old.remove();
    if (!line) return;
    const here = make("span", "here", ...offers(number));
    if (here.childElementCount) line.append(here);
    bring(line);
  };
  const offers = (number) => {
    const found = [];
    const steps = trace ? visible().filter((n) => trace.steps[n].line === number) : [];
    if (steps.length) {
      const next = () => steps.find((n) => n > at) ?? steps[0];
      const button = make("button", "", `step here (${steps.length})`);
      button.addEventListener("click", () => go(next()));
      found.push(button);
    }
    const spot = spotOf(number);
    if (spot) {
      const button = make("button", "", "automaton");
      button.addEventListener("click", () => {
        open("automata");
        show(spot.number, spot.way, `[data-line="${number}"]`);
      });
      found.push(button);
    }
    return found;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#L"]');
    if (!link) return;
    event.preventDefault();
    const key = link.getAttribute("href").slice(2);
    choose(key.includes(".") ? key : Number(key)); // a line of another file has the number of the file in front
  });
  for (const number of document.querySelectorAll(".no")) number.tabIndex = -1;

  /* ------------------------------------------------------------------------------ automata */

  let zoom = 1;
  const way = () => document.querySelector('input[name="way"]:checked').value;
  const templates = [...document.querySelectorAll("template")];
  const spotOf = (line) => {
    const chosen = $("procedure") ? way() : "";
    const found = templates.filter((t) => t.content.querySelector(`[data-line="${line}"]`));
    const best = found.find((t) => t.id.startsWith(chosen)) || found[0];
    return best && { way: best.id.split("-")[0], number: best.id.split("-")[1] };
  };
  const show = (number = $("procedure").value, how = way(), wanted = null) => {
    $("procedure").value = number;
    document.querySelector(`input[name="way"][value="${how}"]`).checked = true;
    const template = $(`${how}-${number}`);
    if (!template) {
      $("size").textContent = "";
      $("picture").replaceChildren(make("p", "absent", "Large blocks have merged this procedure into others, or removed it."));
      return;
    }
    $("size").textContent = template.dataset.size;
    $("picture").replaceChildren(template.content.cloneNode(true));
    const nodes = [...$("picture").querySelectorAll("[data-at]")];
    for (const [n, node] of nodes.entries()) {
      node.tabIndex = n ? -1 : 0;
      node.setAttribute("role", "button");
      node.setAttribute("aria-label", node.textContent);
      if (trace && at >= 0 && trace.steps[at].at === node.dataset.at) node.classList.add("now");
      const leave = () => node.dataset.line && choose(Number(node.dataset.line));
      node.addEventListener("click", leave);
      node.addEventListener("keydown", (event) => {
        const to = { ArrowDown: n + 1, ArrowRight: n + 1, ArrowUp: n - 1, ArrowLeft: n - 1 }[event.key];
        if (event.key === "Enter" || event.key === " ") leave();
        else if (nodes[to]) nodes[to].focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
    }
    scale(1);
    const first = wanted && $("picture").querySelector(wanted);
    if (first) {
      first.classList.add("chosen");
      first.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      first.focus({ preventScroll: true });
    }
  };
  const scale = (by) => {
    const drawn = $("picture").querySelector("svg");
    zoom = Math.min(3, Math.max(0.2, zoom * by));
    if (drawn) drawn.style.width = `${drawn.viewBox.baseVal.width * zoom}px`;
  };
  if ($("procedure")) {
    const ends = trace && templates.find((t) => t.content.querySelector(`[data-at="${trace.steps.at(-1).at}"]`));
    const main = [...$("procedure").options].find((option) => option.text === "main") || $("procedure").options[0];
    $("procedure").value = ends ? ends.id.split("-")[1] : main.value;
    $("procedure").addEventListener("change", () => show());
    for (const each of document.querySelectorAll('input[name="way"]')) each.addEventListener("change", () => show());
    $("smaller").addEventListener("click", () => scale(0.8));
    $("larger").addEventListener("click", () => scale(1.25));
  }

  /* ------------------------------------------------------------------------- step by step */

  let at = -1;
  let all = false;
  const folded = (n) => !trace.steps[n].reason;
  const visible = () => {
    const every = trace.steps.map((_, n) => n);
    const some = all ? every : every.filter((n) => !folded(n));
    return some.length ? some : every;
  };

  /* The state after step n: what is known of globals, memory and every frame. */
  const stackOf = (top) => {
    const stack = [];
    for (let k = top; k >= 0; k = trace.frames[k][0]) stack.push(trace.frames[k]);
    return stack.reverse();
  };
  const stateAfter = (n) => {
    let globals = new Map(), memory = new Map(), frames = [];
    const fresh = new Set();
    const put = ([scope, key, name, value], last) => {
      const into = scope === -1 ? globals : scope === -2 ? memory : frames[scope] && frames[scope].values;
      if (!into) return;
      into.set(key, [name, value]);
      if (last) fresh.add(into.get(key));
    };
    for (const change of trace.initially) put(change, false);
    for (let k = 0; k <= n; k++) {
      const step = trace.steps[k], stack = k && step.stack === trace.steps[k - 1].stack && !step.gap ? [] : stackOf(step.stack);
      if (step.gap) { globals = new Map(); memory = new Map(); frames = []; }
      if (stack.length && frames.length > stack.length) frames.length = stack.length;
      stack.forEach(([, procedure, line], depth) => {
        if (!frames[depth] || frames[depth].procedure !== procedure || frames[depth].line !== line)
          frames[depth] = { procedure, line, values: new Map() };
      });
      for (const each of step.noticed ?? []) {
        if (typeof each === "string") memory.delete(each);
        else put(each, false);
      }
      if (step.call) frames.at(-1).values = new Map();
      for (const change of step.set) put(change, k === n);
    }
    return { globals, memory, frames, fresh };
  };

  const inScope = (key, line) => {
    const scope = trace.scopes[key];
    return !scope || !line || (scope[0] <= line && line <= scope[1]);
  };
  const rows = (values, fresh) => {
    const body = make("tbody", "");
    for (const pair of values.values()) {
      const shown = make("span", fresh.has(pair) ? "fresh" : "", pair[1]);
      body.append(make("tr", "", make("td", "", pair[0]), make("td", "", shown)));
    }
    return values.size ? make("table", "", body) : make("p", "quiet", "no known values");
  };
  const lineLink = (key) => {
    const [file, line] = typeof key === "string" ? key.split(".") : [1, key];
    const link = make("a", "go", file === 1 ? "line " + line : `${trace.files[file - 1]}:${line}`);
    link.href = "#L" + key;
    return link;
  };
  const MANY = 12, FEW = 12;
  const unfolded = {};
  const showState = (n) => {
    const { globals, memory, frames, fresh } = stateAfter(n);
    const parts = [];
    for (let depth = frames.length - 1; depth >= 0; depth--) {
      const { procedure, line } = frames[depth];
      if (procedure.startsWith("$")) continue;
      if (depth > FEW && depth < frames.length - FEW) {
        parts.push(make("p", "quiet", `${frames.length - 2 * FEW - 1} more calls`));
        depth = FEW + 1;
        continue;
      }
      const now = depth === frames.length - 1 ? trace.steps[n].line : frames[depth + 1].line;
      const values = new Map([...frames[depth].values].filter(([key]) => inScope(key, now)));
      const head = make("h3", "", procedure === "?" ? "(a caller)" : procedure);
      if (line && !frames[depth - 1].procedure.startsWith("$")) head.append(make("span", "", "called at ", lineLink(line)));
      parts.push(make("div", "frame", head, rows(values, fresh)));
    }
    for (const [title, values] of [["globals", globals], ["memory", memory]]) {
      if (!values.size) continue;
      const box = make("details", "frame", make("summary", "", `${title} (${values.size})`), rows(values, fresh));
      box.open = unfolded[title] ?? values.size <= MANY;
      box.addEventListener("toggle", () => { unfolded[title] = box.open; });
      parts.push(box);
    }
    const title = make("h2", "", "Call stack and values");
    $("state").replaceChildren(title, ...parts);
  };

  const linked = (words) => words.split(/\bline (\d+\b(?! of ))/).map((part, k) => (k % 2 ? lineLink(Number(part)) : part));
  const showStep = (n) => {
    const step = trace.steps[n], parts = [];
    const statement = make("p", "statement", code($("S" + n).querySelector("code").textContent));
    const place = make("p", "place quiet");
    if (step.line) place.append(lineLink(step.line), " ");
    if (step.in) place.append(step.in);
    parts.push(place, statement);
    if (step.why) {
      const [condition, taken, values] = step.why;
      const why = make("p", "why", code(condition), " was ", make("em", String(taken), String(taken)));
      if (values.length) why.append(": ", ...values.flatMap(([name, value], k) => [k ? ", " : "", code(`${name} = ${value}`)]));
      parts.push(why);
    }
    if (step.set.length)
      parts.push(make("div", "chips", ...step.set.map(([, , name, value]) => code(`${name} = ${value}`))));
    if (n === trace.steps.length - 1) parts.push(make("p", "verdict", trace.claim));
    else if (step.reason) parts.push(make("p", "reason", "Why it matters: ", ...linked(step.reason), "."));
    else if (trace.folds) parts.push(make("p", "reason", "The violation does not depend on this step."));
    $("now").classList.toggle("end", n === trace.steps.length - 1);
    $("now").replaceChildren(...parts);
  };

  const go = (n) => {
    at = n;
    const seen = visible(), place = seen.indexOf(n);
    showStep(n);
    showState(n);
    const line = mark(trace.steps[n].line, "now");
    bring(line);
    for (const old of $("steps").querySelectorAll('[aria-selected="true"]')) old.removeAttribute("aria-selected");
    const row = $("S" + n);
    row.setAttribute("aria-selected", "true");
    $("steps").setAttribute("aria-activedescendant", row.id);
    bring(row);
    $("slider").max = seen.length - 1;
    $("slider").value = place;
    $("slider").setAttribute("aria-valuetext", `step ${place + 1} of ${seen.length}`);
    $("position").textContent = `${place + 1} / ${seen.length}`;
    $("first").disabled = $("back").disabled = place <= 0;
    $("forth").disabled = $("last").disabled = place === seen.length - 1;
  };
  const move = (key) => {
    const seen = visible(), place = seen.indexOf(at);
    const to = { back: place - 1, forth: place + 1, first: 0, last: seen.length - 1 }[key];
    if (to >= 0 && to < seen.length) go(seen[to]);
  };

  if (trace) {
    for (const name of ["first", "back", "forth", "last"]) $(name).addEventListener("click", () => move(name));
    $("slider").addEventListener("input", () => go(visible()[Number($("slider").value)]));
    $("all").addEventListener("change", () => {
      all = $("all").checked;
      $("steps").classList.toggle("some", !all);
      const seen = visible();
      go(seen.includes(at) ? at : seen.filter((n) => n <= at).pop() ?? seen[0]);
    });
    $("all").closest("p").hidden = !trace.folds;
    $("steps").classList.add("some");
    $("steps").addEventListener("click", (event) => {
      const row = event.target.closest('[role="option"]');
      if (row) go(Number(row.id.slice(1)));
    });
    document.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || $("source").hidden) return;
      if (event.target.closest("select, input[type=range]")) return;
      const inList = event.target.id === "steps";
      const keys = { ArrowLeft: "back", ArrowRight: "forth", Home: "first", End: "last" };
      if (inList) Object.assign(keys, { ArrowUp: "back", ArrowDown: "forth" });
      if (!keys[event.key]) return;
      move(keys[event.key]);
      event.preventDefault();
    });
  }

  open("source");
  if (trace) go(visible()[0]);
  else bring(lineOf(document.querySelector(".code").dataset.start));
})();
