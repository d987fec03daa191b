// What the paper claims, and whether these records bear it out.

const VERDICTS = ["reproduced", "contradicted", "undecided", "not run"];
const claims = { verdict: "all", tables: [] };

function claimsView() {
  const view = h("section", { id: "view-claims", class: "view", "aria-label": "Claims of the paper", hidden: true });
  watchers.push((changed) => {
    if (state.view === "claims" && ["view", "profile", "theme"].some((name) => changed.has(name))) drawClaims(view);
  });
  return view;
}

async function drawClaims(view) {
  for (const table of claims.tables.splice(0)) table.destroy();
  const chunk = profile().claims;
  if (chunk === null || chunk === undefined) {
    return view.replaceChildren(h("p", { class: "hint" }, "This page has a part of the records alone, so the paper's claims are not held against them."));
  }
  const found = await readJson(chunk);
  const wanted = choice("Verdict", [["all", "all"], ...VERDICTS.map((name) => [name, name])], claims.verdict, (verdict) => {
    claims.verdict = verdict;
    for (const table of claims.tables) table.setFilter((row) => verdict === "all" || row.state === undefined || row.state === verdict);
  }, "verdict");
  view.replaceChildren(
    ...found.warnings.map((text) => h("p", { class: "callout" }, text)),
    plainTable(["", ...VERDICTS, "all"], Object.entries(found.counts).map(([name, counts]) =>
      [name, ...VERDICTS.map((verdict) => String(counts[verdict])), String(VERDICTS.reduce((sum, verdict) => sum + counts[verdict], 0))])),
    h("p", { class: "hint" }, "Tested at the 5 % level on the same trajectories, adjusted after Holm. Undecided: tested, and shown neither way, or not all of a claim is run. ",
      "Own: whether the paper's own numbers bear the claim out, and in how many of its cells."),
    h("div", { class: "controls" }, wanted),
    h("h2", {}, "Claims"), h("div", { id: "claim-list" }),
    h("h2", {}, "Orderings"), h("p", { class: "hint" }, "Every pair of methods whose errors the paper prints for the same task of the same dataset. Ratio: our error of the first over that of the second."),
    h("div", { id: "ordering-list" }),
    h("h2", {}, "Contradictions inside the paper"), h("ul", { class: "prose" }, found.contradictions.map((one) =>
      h("li", {}, h("strong", {}, one.id), ` (${one.how}; ${one.where}): ${one.text}`))),
    ...(found.numbers.length ? [h("h2", {}, "Numbers"), h("div", { id: "number-list" })] : []));
  claims.tables.push(listOf("#claim-list", found.claims, claimColumns()), listOf("#ordering-list", found.orderings, orderingColumns(found.orderings)));
  if (found.numbers.length) claims.tables.push(listOf("#number-list", found.numbers, numberColumns()));
}

const listOf = (where, data, columns) => new Tabulator(where, { data, columns, layout: "fitColumns", maxHeight: "70vh", placeholder: "None.",
  columnDefaults: { headerSortTristate: true, resizable: false, titleFormatter: headerButton, minWidth: 90 } });

const badge = (cell) => h("span", {}, h("b", { class: `verdict ${cell.getValue().replace(" ", "-")}` }, cell.getValue()));

const claimColumns = () => [
  textual("Claim", "id", { width: 90 }), textual("The paper says", "text", { cssClass: "long", widthGrow: 4, minWidth: 260 }),
  { title: "Verdict", field: "state", formatter: badge, width: 130 },
  textual("Cells", "counts", { cssClass: "long", widthGrow: 1.5, minWidth: 130, formatter: (cell) => h("span", {}, cell.getValue().map(([name, n]) => `${n} ${name}`).join(", ")) }),
  textual("Own", "own", { width: 110 }), textual("Our reading", "reading", { cssClass: "long", widthGrow: 2, minWidth: 180 }),
];

const orderingColumns = (orderings) => [
  textual("Column", "column", { widthGrow: 1.4, minWidth: 170 }), textual("The paper's order", "text", { widthGrow: 1.6, minWidth: 200 }), { title: "Verdict", field: "state", formatter: badge, width: 130 },
  { ...numeric("Ratio", "ratio"), width: 100 }, { ...numeric("p", "p"), width: 100 },
  ...(orderings.some((one) => one.printed) ? [textual("Printed", "printed", { formatter: pairOf }), textual("Ours", "ours", { formatter: pairOf })] : []),
  textual("Note", "note", { cssClass: "long", widthGrow: 3, minWidth: 160 }),
];

const pairOf = (cell) => h("span", {}, cell.getValue() ? cell.getValue().map(number).join(", ") : DASH);

const numberColumns = () => [textual("Table", "table"), textual("Number", "place", { cssClass: "long", widthGrow: 3, minWidth: 220 }), textual("Unit", "unit"), numeric("Ours", "ours"),
  textual("Published", "printed", { hozAlign: "right", headerHozAlign: "right" }), numeric("Difference", "difference"), textual("Note", "note", { cssClass: "long", widthGrow: 3, minWidth: 160 })];
