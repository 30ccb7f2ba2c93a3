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

  // How a number was made: on hover, focus or touch; Escape closes.
  const how = document.getElementById("how");
  let owner = null;
  const hide = () => {
    if (owner) owner.removeAttribute("aria-describedby");
    owner = null;
    how.hidden = true;
  };
  const show = (event) => {
    const number = event.target.closest ? event.target.closest(".number") : null;
    if (!number) return;
    hide();
    owner = number;
    number.removeAttribute("title");
    how.textContent = number.dataset.how;
    how.hidden = false;
    number.setAttribute("aria-describedby", "how");
  };
  for (const name of ["focusin", "mouseover", "click"]) document.addEventListener(name, show);
  document.addEventListener("focusout", hide);
  document.addEventListener("mouseout", (event) => {
    if (event.target === owner && document.activeElement !== owner) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
})();
