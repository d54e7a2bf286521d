"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours"); };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  label();
  const find = document.getElementById("find");
  const rows = [...document.querySelectorAll("tr[data-find]")];
  const told = document.getElementById("found");
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const hit = words.every((word) => row.dataset.find.includes(word));
      row.hidden = !hit;
      if (hit) shown += 1;
    }
    told.textContent = words.length ? `${shown} of ${rows.length} shown` : `${rows.length} in all`;
  };
  find.addEventListener("input", filter);
  find.addEventListener("keydown", (event) => { if (event.key === "Escape") { find.value = ""; filter(); } });
  document.getElementById("finding").hidden = false;
  filter();
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      try { await navigator.clipboard.writeText(code.textContent); } catch {
        const range = document.createRange();
        range.selectNodeContents(code);
        const chosen = getSelection();
        chosen.removeAllRanges();
        chosen.addRange(range);
      }
      const before = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  }
})();
