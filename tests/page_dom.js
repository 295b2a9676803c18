"use strict";
// A page of the explorer and a width in, what its script does under as little of a browser as it needs out, as JSON.
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8"), width = Number(process.argv[3]);
let made = 0;

class Node {
  constructor(tag) {
    made++;
    Object.assign(this, {tag, style: {}, dataset: {}, children: [], textContent: "", scrollTop: 0, clientHeight: 600, clientWidth: 400});
    this.classList = {add() {}, toggle() {}};
  }
  append(...more) { this.children.push(...more); }
  replaceChildren(...more) { this.children = more; }
  remove() {}
  setAttribute(name, value) { this[name] = value; }
  removeAttribute(name) { delete this[name]; }
  focus() { if (this.onfocus) this.onfocus(); }
  getBoundingClientRect() { return {top: 0, left: 0}; }
  getContext() { return new Proxy({}, {get: () => () => 0, set: () => true}); }
}

const ids = {}, [, size, data] = /id="data" data-size="(\d+)">([^<]*)</.exec(page);
globalThis.document = {
  getElementById: id => ids[id] ??= new Node(id), createElement: tag => new Node(tag),
  createDocumentFragment: () => new Node("fragment"), documentElement: new Node("html"),
};
Object.assign(document.getElementById("data"), {textContent: data, dataset: {size}});
Object.assign(globalThis, {
  innerWidth: width, addEventListener() {}, devicePixelRatio: 1, getComputedStyle: () => ({getPropertyValue: () => ""}),
  matchMedia: query => ({matches: query.includes("700") && width <= 700, addEventListener() {}}),
});
const script = page.slice(page.lastIndexOf("<script>") + 8, page.lastIndexOf("</script>")), begin = process.cpuUsage();
const {D, panes} = new Function(script + "\nreturn {D, panes};")();
const spent = process.cpuUsage(begin), elements = made;
const opened = panes.filter(p => p.opened).map(p => p.key);
for (const p of panes) p.show(true);
const all = made;
for (const p of panes) if (p.find) { p.find("tan"); p.move(1e9); }
for (const e of panes.flatMap(p => p.target.children)) if (e.onclick && e.tag === "button") e.onclick();
const ms = (spent.user + spent.system) / 1000;
process.stdout.write(JSON.stringify({data: D, ms, elements, opened, all, after: made, panes: panes.map(p => p.key)}));
