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
    if (name === "automata") window.dispatchEvent(new Event("automata"));
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
  const bring = (element) => {
    if (!element) return;
    const box = element.getBoundingClientRect();
    const around = element.closest(".code, #steps").getBoundingClientRect();
    const low = Math.max(around.top, 0) + 48, high = Math.min(around.bottom, innerHeight) - 48;
    if (box.top < low || box.bottom > high) {
      const behavior = calm || Math.abs(box.top - low) > 3000 ? "instant" : "smooth";
      element.scrollIntoView({ block: "center", behavior });
    }
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
    if (window.certusNode && window.certusNode(number)) {
      const button = make("button", "", "automaton");
      button.addEventListener("click", () => window.certusNode(number)());
      found.push(button);
    }
    return found;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#L"]');
    if (!link) return;
    event.preventDefault();
    choose(Number(link.getAttribute("href").slice(2)));
  });
  for (const number of document.querySelectorAll(".no")) number.tabIndex = -1;

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
      const step = trace.steps[k], stack = trace.stacks[step.stack];
      if (step.gap) { globals = new Map(); memory = new Map(); frames = []; }
      if (frames.length > stack.length) frames.length = stack.length;
      stack.forEach(([procedure, line], depth) => {
        if (!frames[depth] || frames[depth].procedure !== procedure || frames[depth].line !== line)
          frames[depth] = { procedure, line, values: new Map() };
      });
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
    return values.size ? make("table", "", body) : make("p", "quiet", "no value is known");
  };
  const lineLink = (number) => {
    const link = make("a", "go", "line " + number);
    link.href = "#L" + number;
    return link;
  };
  const showState = (n) => {
    const { globals, memory, frames, fresh } = stateAfter(n);
    const parts = [];
    for (let depth = frames.length - 1; depth >= 0; depth--) {
      const { procedure, line } = frames[depth];
      const now = depth === frames.length - 1 ? trace.steps[n].line : frames[depth + 1].line;
      const values = new Map([...frames[depth].values].filter(([key]) => inScope(key, now)));
      const head = make("h3", "", procedure === "?" ? "(a caller)" : procedure);
      if (line) head.append(make("span", "", "called at ", lineLink(line)));
      parts.push(make("div", "frame", head, rows(values, fresh)));
    }
    for (const [title, values] of [["globals", globals], ["memory", memory]])
      if (values.size) parts.push(make("div", "frame", make("h3", "", title), rows(values, fresh)));
    const title = make("h2", "", frames.length > 1 ? "Call stack and values" : "Values");
    $("state").replaceChildren(title, ...parts);
  };

  const showStep = (n) => {
    const step = trace.steps[n], parts = [];
    const statement = make("p", "statement", code($("S" + n).querySelector("code").textContent));
    parts.push(statement);
    if (step.why) {
      const [condition, taken, values] = step.why;
      const why = make("p", "why", code(condition), " was ", make("em", String(taken), String(taken)));
      if (values.length) why.append(": ", ...values.flatMap(([name, value], k) => [k ? ", " : "", code(`${name} = ${value}`)]));
      parts.push(why);
    }
    if (step.set.length)
      parts.push(make("div", "chips", ...step.set.map(([, , name, value]) => code(`${name} = ${value}`))));
    if (n === trace.steps.length - 1) parts.push(make("p", "verdict", trace.claim));
    else if (step.reason) parts.push(make("p", "reason", "It matters: " + step.reason + "."));
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
    const list = $("steps"), top = row.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + row.offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = top - list.clientHeight / 2;
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
})();
