// What keeps people from using the page, one sentence each: names, structure, contrast. Run inside the page.
const problems = [];
const describe = (node) => node.outerHTML.slice(0, 90);
if (!document.documentElement.lang) problems.push("the page has no language");
if (!document.title) problems.push("the page has no title");
const nameOf = (node) => {
  const by = node.getAttribute("aria-labelledby");
  if (by) return by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  const label = node.getAttribute("aria-label") ?? (node.labels?.[0]?.textContent ?? "");
  return (label || (["INPUT", "SELECT"].includes(node.tagName) ? "" : node.textContent)).trim();
};
for (const node of document.querySelectorAll("input, select, button, a, [role=region], [role=img], svg")) {
  if (!nameOf(node)) problems.push("no name: " + describe(node));
}
const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) problems.push("id twice: " + id);
let level = 0;
for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
  const own = Number(heading.tagName[1]);
  if (own > level + 1) problems.push("heading skips a level: " + describe(heading));
  level = own;
}
for (const cell of document.querySelectorAll("th")) if (!cell.scope) problems.push("no scope: " + describe(cell));
for (const box of document.querySelectorAll(".scroll")) if (box.tabIndex < 0) problems.push("not reachable by keyboard: " + describe(box));

const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
const luminance = (colour) => {
  const [r, g, b] = channels(colour).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor, parts = channels(colour);
    if (parts.length < 4 || parts[3] === 1) return colour;
  }
  return "rgb(255, 255, 255)";
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const bad = new Set();
let checked = 0;
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement, style = getComputedStyle(node);
  if (!walker.currentNode.textContent.trim() || ["SCRIPT", "STYLE"].includes(node.tagName) || !node.getClientRects().length) continue;
  const [dark, light] = [luminance(style.color), luminance(ground(node))].sort((a, b) => a - b);
  const contrast = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
  const enough = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  checked += 1;
  if (contrast < enough) bad.add(`contrast ${contrast.toFixed(2)}: ${node.tagName} ${node.className} ${style.color} on ${ground(node)}`);
}
if (checked < 20) problems.push(`only ${checked} texts are visible`);
return [...problems, ...bad].join("\n");
