"use strict";
// Shows the value of the point under the pointer below its plot. The arrow keys go from point to point.
function showPoint(plot, point) {
  for (const one of plot.querySelectorAll(".point.shown")) one.classList.remove("shown");
  const line = plot.parentElement.nextElementSibling;
  if (!line || !line.matches(".readout")) return;
  line.textContent = point ? point.dataset.shown : "\u00a0";
  if (point) point.classList.add("shown");
}

function prepare(within) {
  for (const plot of within.querySelectorAll("svg.plot:not([tabindex])")) {
    if (!plot.querySelector(".point")) continue;
    plot.setAttribute("tabindex", "0");
    const line = document.createElement("p");
    line.className = "readout";
    line.setAttribute("aria-live", "polite");
    line.textContent = "\u00a0";
    plot.parentElement.after(line);
    for (const one of plot.querySelectorAll("title")) one.remove(); // tooltips would cover the plot
  }
}

prepare(document);
document.addEventListener("partreplaced", (event) => prepare(event.target));
document.addEventListener("pointermove", (event) => {
  const plot = event.target.closest("svg.plot");
  if (!plot) return;
  // The nearest point, so that thin lines need no exact pointer.
  const points = [...plot.querySelectorAll(".point")];
  const far = (one) => {
    const box = one.getBoundingClientRect();
    return Math.abs(box.left + box.width / 2 - event.clientX);
  };
  showPoint(plot, points.reduce((best, one) => (far(one) < far(best) ? one : best), points[0]));
});
document.addEventListener("pointerout", (event) => {
  const plot = event.target.closest && event.target.closest("svg.plot");
  if (plot && !plot.contains(event.relatedTarget)) showPoint(plot, null);
});
document.addEventListener("keydown", (event) => {
  const plot = event.target.closest && event.target.closest("svg.plot");
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!plot || !by) return;
  event.preventDefault();
  const points = [...plot.querySelectorAll(".point")];
  const at = points.findIndex((one) => one.classList.contains("shown"));
  const next = at < 0 ? (by > 0 ? 0 : points.length - 1) : at + by;
  showPoint(plot, points[Math.max(0, Math.min(points.length - 1, next))]);
});
