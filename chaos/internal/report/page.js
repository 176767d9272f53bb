'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const tip = document.getElementById('tip');
  const LANE = 15, HEAD = 22, AXIS = 26, BAND = 18;
  let LABEL = 130; // narrower on a narrow screen
  const colour = m => ['mutex', 'writer', 'reader', 'reentrant', 'several'].includes(m) ? `var(--${m})` : 'var(--mutex)';

  function node(parent, name, attributes, text) {
    const n = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const k in attributes) n.setAttribute(k, attributes[k]);
    if (text !== undefined) n.textContent = text;
    parent.appendChild(n);
    return n;
  }
  const seconds = (ms, step) => (ms / 1000).toFixed(step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : step >= 1 ? 3 : 4) + ' s';
  function niceStep(span, steps) {
    const raw = span / steps, power = Math.pow(10, Math.floor(Math.log10(raw)));
    return power * [1, 2, 5, 10].find(f => f * power >= raw);
  }

  const fitted = name => { const room = Math.floor((LABEL - 10) / 6); return name.length > room ? '…' + name.slice(1 - room) : name; };
  const count = (n, what) => n === 1 ? `1 ${what}` : `${n} ${what}s`;

  let pictures = 0;
  // Draws the stretch of time from..to of the groups into an element, with what is wrong in red, and lets a reader ask what is under the pointer.
  function draw(box, from, to, groups, marks, wrongs) {
    const id = box.dataset.picture || (box.dataset.picture = ++pictures);
    const width = Math.max(300, box.clientWidth), rows = [];
    LABEL = width < 700 ? 76 : 130;
    let y = AXIS;
    const section = (text) => { rows.push({ kind: 'head', text, y, h: HEAD }); y += HEAD; };
    const fold = (text) => { rows.push({ kind: 'fold', text, y, h: LANE }); y += LANE; }; // in place of what is empty here
    const hit = t => t.bands.some(b => b.to >= from && b.from <= to);
    const targets = (title, what, all) => {
      const shown = all.filter(hit), empty = all.length - shown.length;
      if (!shown.length && !box.id) return; // a close-up has only what there is to see
      section(title);
      for (const t of shown) { rows.push({ kind: 'target', of: t, y, h: BAND }); y += BAND; }
      if (empty && box.id) fold(`${count(empty, what)} without a fault here`);
    };
    if (data.masters.length) targets('Masters', 'master', data.masters);
    if (data.clients.length) targets('Clients with faults', 'client', data.clients);
    let emptyGroups = 0;
    const single = []; // a name with one lane stands beside it, below all names with several
    for (const g of groups) {
      const lanes = g.lanes.filter(l => l.attempts.some(a => end(a) >= from && a.a <= to)), empty = g.lanes.length - lanes.length;
      if (!lanes.length) { emptyGroups++; continue; }
      if (lanes.length === 1 && !empty && !lanes[0].attempts.some(a => a.x)) { single.push([g, lanes[0]]); continue; }
      const top = y;
      section('“' + g.short + '”');
      const head = rows[rows.length - 1];
      head.name = g.name;
      for (const lane of lanes) { rows.push({ kind: 'lane', of: lane, label: lane.label, y, h: LANE }); y += LANE; }
      if (empty && box.id) fold(`${count(empty, 'lane')} with nothing here`);
      head.span = y - top;
    }
    if (single.length) section('Names of one client');
    for (const [g, lane] of single) { rows.push({ kind: 'lane', of: lane, label: fitted(g.short), y, h: LANE }); y += LANE; }
    if (emptyGroups && box.id) fold(`${count(emptyGroups, 'name')} with nothing here`);
    const height = y + 6, plot = width - LABEL - 8;
    const x = t => LABEL + (t - from) / (to - from) * plot;
    const clip = t => Math.max(LABEL, Math.min(LABEL + plot, x(t)));

    box.replaceChildren();
    const svg = node(box, 'svg', { viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': 'Timeline of locks, holders and faults' });
    const defs = node(svg, 'defs', {});
    const hatch = node(defs, 'pattern', { id: 'hatch' + id, width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' });
    node(hatch, 'rect', { width: 4, height: 7, fill: 'var(--faultback)' });
    const cross = node(defs, 'pattern', { id: 'cross' + id, width: 8, height: 8, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(-45)' });
    node(cross, 'rect', { width: 3, height: 8, fill: 'var(--wrong)' });

    const step = niceStep(to - from, Math.max(3, Math.min(9, plot / 75)));
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      node(svg, 'line', { x1: x(t), x2: x(t), y1: AXIS - 6, y2: height, stroke: 'var(--line)' });
      node(svg, 'text', { x: x(t) + 3, y: AXIS - 10, fill: 'var(--dim)' }, seconds(t, step));
    }
    data.phases.forEach((p, i) => {
      if (p.t < from || p.t > to) return;
      node(svg, 'line', { x1: x(p.t), x2: x(p.t), y1: AXIS - 4, y2: height, stroke: 'var(--dim)', 'stroke-dasharray': '2 4' });
      const next = data.phases[i + 1] ? x(data.phases[i + 1].t) : LABEL + plot;
      const right = LABEL + plot - x(p.t) < 90, room = right ? x(p.t) - (data.phases[i - 1] ? Math.max(LABEL, x(data.phases[i - 1].t)) : LABEL) - 80 : next - x(p.t);
      if (room > 75) {
        node(svg, 'text', { x: x(p.t) + (right ? -4 : 4), y: AXIS + 12, fill: 'var(--dim)', 'font-style': 'italic', 'text-anchor': right ? 'end' : 'start' }, 'phase: ' + p.text);
      }
    });

    for (const r of rows) {
      if (r.kind === 'head') {
        node(svg, 'rect', { x: 0, y: r.y + 3, width: LABEL + (r.name ? plot : 0), height: r.name ? HEAD - 5 : 0, fill: 'var(--soft)' });
        node(svg, 'text', { x: 6, y: r.y + 15, fill: 'var(--text)', 'font-weight': 600, 'font-size': 12 }, r.text);
        continue;
      }
      if (r.kind === 'fold') {
        node(svg, 'text', { x: LABEL + 6, y: r.y + r.h - 4, fill: 'var(--dim)', 'font-style': 'italic' }, r.text);
        continue;
      }
      node(svg, 'text', { x: LABEL - 8, y: r.y + r.h - 4, fill: 'var(--dim)', 'text-anchor': 'end' }, r.label || r.of.label);
      node(svg, 'line', { x1: LABEL, x2: LABEL + plot, y1: r.y + r.h - 0.5, y2: r.y + r.h - 0.5, stroke: 'var(--line)', 'stroke-opacity': 0.6 });
      if (r.kind === 'target') bands(svg, r, r.of.bands, 1, true);
      else lane(svg, r);
    }
    function bands(svg, r, list, opacity, named) {
      for (const b of list) {
        if (b.to < from || b.from > to) continue;
        const left = clip(b.from), w = Math.max(2, clip(b.to) - left);
        node(svg, 'rect', { x: left, y: r.y + 1, width: w, height: r.h - 2, fill: `url(#hatch${id})`, stroke: named ? 'var(--fault)' : 'none', opacity });
        const room = Math.floor((w - 6) / 5.6);
        if (named && room > 3) {
          const text = b.fault.length > room ? b.fault.slice(0, room - 1) + '…' : b.fault;
          node(svg, 'text', { x: left + 4, y: r.y + 13, fill: 'var(--text)', stroke: 'var(--back)', 'stroke-width': 3, 'paint-order': 'stroke' }, text);
        }
      }
    }
    function lane(svg, r) {
      const client = data.clients.find(c => c.label === r.of.client);
      if (client) bands(svg, r, client.bands, 0.7, false);
      const top = r.y + 2, h = LANE - 5, mid = r.y + LANE / 2 - 0.5;
      const bars = {}, wrong = []; // one path for each colour: thousands of holds are a few nodes
      let waits = '', refusals = '', losses = '', until = -1;
      for (const a of r.of.attempts) {
        if (end(a) < from || a.a > to) continue;
        const l = clip(a.a), answered = clip(a.b);
        if (answered > until) { waits += `M${Math.max(l, until)} ${mid}H${Math.max(answered, l + 0.5)}`; until = answered; }
        if (!a.h && a.o.startsWith('refused') && a.b >= from && a.b <= to) refusals += `M${answered} ${top + 1}V${top + h - 1}`;
        (a.h || []).forEach((s, i) => {
          if (s[1] < from || s[0] > to) return;
          const c = colour(a.m[i]), bx = clip(s[0]), w = Math.max(1.2, clip(s[1]) - bx);
          bars[c] = (bars[c] || '') + `M${bx} ${top}h${w}v${h}h${-w}z`;
          if (wrongs(a)) wrong.push([bx, Math.max(3, w)]);
        });
        if (a.l && a.l >= from && a.l <= to) losses += `M${x(a.l)} ${r.y}V${r.y + LANE - 1}`;
      }
      if (waits) node(svg, 'path', { d: waits, stroke: 'var(--wait)', 'stroke-width': 1.5, fill: 'none' });
      if (refusals) node(svg, 'path', { d: refusals, stroke: 'var(--wait)', 'stroke-width': 2, fill: 'none' });
      for (const c in bars) node(svg, 'path', { d: bars[c], fill: c });
      for (const [bx, w] of wrong) {
        node(svg, 'rect', { x: bx, y: top - 1, width: w, height: h + 2, fill: w > 8 ? `url(#cross${id})` : 'var(--wrong)', stroke: 'var(--wrong)', 'stroke-width': 2 });
      }
      if (losses) node(svg, 'path', { d: losses, stroke: 'var(--text)', 'stroke-width': 2.5, fill: 'none' });
    }
    for (const r of rows) {
      if (!r.name) continue;
      for (const m of marks) {
        if (m.t < from || m.t > to || m.name && !r.name.split(',').concat(r.name).includes(m.name)) continue;
        if (!m.name) continue;
        const at = x(m.t);
        node(svg, 'line', { x1: at, x2: at, y1: r.y + 12, y2: r.y + r.span, stroke: 'var(--wrong)', 'stroke-width': 1.5, 'stroke-dasharray': '5 3' });
        node(svg, 'path', { d: `M${at - 6} ${r.y + 4}h12l-6 10z`, class: 'pins' });
      }
    }
    node(svg, 'line', { x1: LABEL, x2: LABEL, y1: 0, y2: height, stroke: 'var(--line)' });

    svg.onmousemove = e => {
      const at = svg.getBoundingClientRect(), scale = width / at.width;
      const px = (e.clientX - at.left) * scale, py = (e.clientY - at.top) * scale;
      const row = rows.find(r => py >= r.y && py < r.y + r.h), t = from + (px - LABEL) / plot * (to - from);
      tell(e, row && px >= LABEL ? about(row, t, (to - from) / plot * 3) : '');
    };
    svg.onmouseleave = () => { tip.hidden = true; };
    return { plot: () => plot * svg.getBoundingClientRect().width / width };
  }

  const end = a => Math.max(a.b, a.l || 0, ...(a.h || []).map(s => s[1]));
  const ms = d => d >= 1000 ? (d / 1000).toFixed(3) + ' s' : d.toFixed(3) + ' ms';

  // Says in words what is in a row at a moment, give or take slack.
  function about(row, t, slack) {
    if (row.kind === 'target') {
      return row.of.bands.filter(b => b.from - slack <= t && t <= b.to + slack)
        .map(b => `${row.of.label}: ${b.fault}\nfrom ${seconds(b.from, 1)} to ${seconds(b.to, 1)}${b.open ? ', not seen to recover' : ', when it answered again'}`).join('\n');
    }
    if (row.kind !== 'lane') {
      return row.name ? data.marks.filter(m => m.name && row.name.split(',').concat(row.name).includes(m.name) && Math.abs(m.t - t) < 3 * slack).slice(0, 3).map(m => m.text).join('\n') : '';
    }
    const near = row.of.attempts.filter(a => a.a - slack <= t && t <= end(a) + slack);
    const held = near.filter(a => (a.h || []).some(s => s[0] - slack <= t && t <= s[1] + slack));
    const a = (held.length ? held : near).at(-1);
    if (!a) return '';
    let text = `${a.w}${a.x ? '  ✕ part of a finding' : ''}\nasked at ${seconds(a.a, 1)}, answered after ${ms(a.b - a.a)}\n`;
    (a.h || []).forEach((s, i) => { text += `believed itself ${a.m[i]} from ${seconds(s[0], 1)} to ${seconds(s[1], 1)}, for ${ms(s[1] - s[0])}\n`; });
    text += a.o;
    if (a.l) text += ` (at ${seconds(a.l, 1)})`;
    if (a.f) text += '\n' + a.f;
    if (a.v) text += '\nvotes:\n' + a.v.map(v => '  master ' + v).join('\n');
    return text;
  }
  function tell(e, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = (e.clientY + 18 + tip.offsetHeight > window.innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18) + 'px';
  }

  const main = document.getElementById('timeline');
  const whole = { from: 0, to: Math.max(1, data.end) };
  let view = { ...whole }, drawn, waiting = false;
  function show(from, to) {
    const span = Math.min(Math.max(to - from, 0.05), whole.to), start = Math.min(Math.max(0, from), whole.to - span);
    view = { from: start, to: start + span };
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawn = draw(main, view.from, view.to, data.groups, data.marks, a => a.x);
      document.getElementById('range').textContent = `${seconds(view.from, 1)} to ${seconds(view.to, 1)} of ${seconds(whole.to, 1)}`;
    });
  }
  function zoom(factor, at) {
    const t = at === undefined ? (view.from + view.to) / 2 : at;
    show(t - (t - view.from) * factor, t + (view.to - t) * factor);
  }
  const pan = part => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const acts = { in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.4), right: () => pan(0.4), all: () => show(whole.from, whole.to) };
  for (const b of document.querySelectorAll('[data-zoom]')) b.onclick = acts[b.dataset.zoom];
  document.addEventListener('keydown', e => {
    if (e.key === 'ArrowLeft') pan(-0.2); else if (e.key === 'ArrowRight') pan(0.2); else if (e.key === '+') zoom(0.5); else if (e.key === '-') zoom(2);
  });
  main.addEventListener('wheel', e => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    const at = main.getBoundingClientRect(), px = e.clientX - at.left - LABEL;
    zoom(e.deltaY > 0 ? 1.25 : 0.8, view.from + px / drawn.plot() * (view.to - view.from));
  }, { passive: false });
  main.onpointerdown = e => {
    const begin = e.clientX, was = { ...view };
    const move = m => { const d = (begin - m.clientX) / drawn.plot() * (was.to - was.from); show(was.from + d, was.to + d); };
    const up = () => { removeEventListener('pointermove', move); removeEventListener('pointerup', up); };
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
  };
  for (const b of document.querySelectorAll('.show')) b.onclick = () => { show(+b.dataset.from, +b.dataset.to); main.scrollIntoView({ behavior: 'smooth', block: 'center' }); };
  function closeups() {
    for (const c of document.querySelectorAll('.closeup')) {
      if (!c.closest('details').open) continue;
      const name = c.dataset.name, who = JSON.parse(c.dataset.who);
      draw(c, +c.dataset.from, +c.dataset.to, data.groups.filter(g => g.name === name), [{ t: +c.dataset.at, name }], a => who.includes(a.w));
    }
  }
  for (const d of document.querySelectorAll('.first > details')) d.open = true;
  for (const d of document.querySelectorAll('details')) d.addEventListener('toggle', closeups);
  addEventListener('resize', () => { show(view.from, view.to); closeups(); });
  show(view.from, view.to);
  closeups();
})();
