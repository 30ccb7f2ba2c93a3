"use strict";
(() => {
  const root = document.documentElement;

  // Theme: the system's until it is chosen.
  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const showTheme = () => theme.setAttribute("aria-pressed", String(dark()));
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  // Sorting: rows that may not be ranked stay last, whatever the order.
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!("value" in cell.dataset)) return cell.textContent.trim().toLowerCase();
    return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  };
  const compare = (first, second) => {
    if (typeof first === "number") return first - second;
    return first < second ? -1 : Number(first > second);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const button of table.tHead.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        const heading = button.parentElement;
        const up = heading.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const column = Number(button.dataset.column);
        const rows = [...table.tBodies[0].rows].map((row) => [row, key(row, column)]);
        rows.sort(([one, first], [two, second]) => {
          const ranked = two.dataset.ranked - one.dataset.ranked;
          if (ranked) return ranked;
          if (first === null || second === null) return (first === null) - (second === null);
          return (up ? 1 : -1) * compare(first, second);
        });
        table.tBodies[0].append(...rows.map(([row]) => row));
      });
    }
  }

  // Filtering.
  for (const form of document.querySelectorAll("form.filters")) {
    const rows = [...document.getElementById(form.dataset.table).tBodies[0].rows];
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const apply = () => {
      const find = form.elements.find.value.trim().toLowerCase();
      const kind = form.elements.kind.value;
      const reader = form.elements.reader.value;
      let shown = 0;
      for (const row of rows) {
        row.hidden =
          (find && !texts.get(row).includes(find)) ||
          (kind && row.dataset.kind !== kind) ||
          (reader && row.dataset.reader !== reader) ||
          (form.elements.ranked.checked && row.dataset.ranked === "0");
        shown += Number(!row.hidden);
      }
      form.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
    };
    for (const name of ["input", "change"]) form.addEventListener(name, apply);
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  // Tables of many cells: one stop for Tab, then arrow keys. Without this script they stay plain.
  for (const table of document.querySelectorAll("table.told")) {
    table.setAttribute("role", "grid");
    const first = table.tBodies[0].rows[0];
    if (first) first.cells[0].tabIndex = 0;
  }
  const last = (list) => list.length - 1;
  const steps = {
    ArrowUp: (row, column) => [row - 1, column],
    ArrowDown: (row, column) => [row + 1, column],
    ArrowLeft: (row, column) => [row, column - 1],
    ArrowRight: (row, column) => [row, column + 1],
    Home: (row) => [row, 0],
    End: (row, column, rows) => [row, last(rows[row].cells)],
  };
  const focusCell = (cell) => {
    for (const other of cell.closest("tbody").querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  };
  document.addEventListener("keydown", (event) => {
    const cell = event.target;
    if (!(event.key in steps) || !cell.matches || !cell.matches("table.told tbody td")) return;
    const rows = cell.closest("tbody").rows;
    const row = cell.parentElement.sectionRowIndex;
    const [up, along] = steps[event.key](row, cell.cellIndex, rows);
    const next = rows[up] && rows[up].cells[along];
    event.preventDefault();
    if (next) focusCell(next);
  });

  // How something was made: on hover, focus or touch; Escape closes. A number of a headline table
  // has its own text, a cell its column's heading and the table's note, a picture its note and
  // words.
  const how = document.getElementById("how");
  const ids = (value) => value.split(" ").map((id) => document.getElementById(id).textContent);
  const tellers = [
    [".number", (number) => number.dataset.how],
    [
      "table.told tbody td",
      (cell) => {
        const table = cell.closest("table");
        const heading = table.tHead.rows[0].cells[cell.cellIndex].textContent;
        const name = cell.cellIndex ? `${cell.parentElement.cells[0].textContent}, ` : "";
        const note = ids(table.getAttribute("aria-describedby"));
        return [`${name}${heading}: ${cell.textContent}`, table.caption.textContent, ...note]
          .filter((part) => part.trim())
          .join(" – ");
      },
    ],
    ["[data-tells]", (picture) => ids(picture.dataset.tells).join(" – ")],
  ];
  let owner = null;
  let kept = null;
  const hide = () => {
    if (owner && kept === null) owner.removeAttribute("aria-describedby");
    else if (owner) owner.setAttribute("aria-describedby", kept);
    owner = null;
    how.hidden = true;
  };
  const show = (event) => {
    if (!event.target.closest) return;
    for (const [selector, tell] of tellers) {
      const found = event.target.closest(selector);
      if (!found) continue;
      // A click on a cell moves the stop there too.
      if (event.type === "click" && found.matches("td")) focusCell(found);
      if (found === owner) return;
      hide();
      owner = found;
      kept = found.getAttribute("aria-describedby");
      found.removeAttribute("title");
      how.textContent = tell(found);
      how.hidden = false;
      found.setAttribute("aria-describedby", "how");
      return;
    }
  };
  for (const name of ["focusin", "mouseover", "click"]) document.addEventListener(name, show);
  document.addEventListener("focusout", hide);
  document.addEventListener("mouseout", (event) => {
    if (!owner || document.activeElement === owner || owner.contains(event.relatedTarget)) return;
    if (owner.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
})();
