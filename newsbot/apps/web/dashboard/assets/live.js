"use strict";
// Loads the page again every data-refresh seconds and replaces the parts that are marked data-live.
// A part is not replaced while the pointer, the focus or a selection is in it, and the element under the pointer
// does not move. Without this script, a page shows its state at the time of loading.
const main = document.querySelector("main");
let seconds = Number(main.dataset.refresh);
let faults = 0;
const sent = new Map(); // id of a part -> its HTML, as the server sent it last
for (const part of main.querySelectorAll("[data-live]")) sent.set(part.id, part.innerHTML);

function isInUse(part) {
  const selection = getSelection();
  const selected = !selection.isCollapsed && part.contains(selection.anchorNode);
  return part.matches(":hover") || part.contains(document.activeElement) || selected;
}

function takeOver(fresh) {
  const pointed = [...main.querySelectorAll(":hover")].pop();
  const before = pointed && pointed.getBoundingClientRect().top;
  for (const part of main.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    // The HTML as the server sent it is compared, because other scripts have changed the part.
    if (!now || now.innerHTML === sent.get(part.id) || isInUse(part)) continue;
    sent.set(part.id, now.innerHTML);
    // Details that the user has opened stay open.
    const opened = [...part.querySelectorAll("details")].map((one) => one.open);
    now.querySelectorAll("details").forEach((one, place) => (one.open = opened[place] || false));
    part.replaceChildren(...now.childNodes);
    part.dispatchEvent(new Event("partreplaced", { bubbles: true })); // for times.js and plots.js
  }
  // The height of parts above the pointer can have changed, so the page is scrolled by the difference.
  if (pointed) scrollBy(0, pointed.getBoundingClientRect().top - before);
  seconds = Number(fresh.querySelector("main").dataset.refresh);
}

async function refresh() {
  try {
    const answer = await fetch(location.href);
    if (answer.status === 401 || answer.status === 403) return; // the session has ended, so no further request is sent
    if (!answer.ok) throw new Error(answer.status);
    takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
    faults = 0;
  } catch {
    faults += 1;
  }
  wait();
}

function wait() {
  if (!seconds) return;
  // A hidden page is refreshed when it is shown again. After errors the interval doubles, up to 5 minutes.
  setTimeout(() => {
    if (document.hidden) document.addEventListener("visibilitychange", refresh, { once: true });
    else refresh();
  }, 1000 * Math.min(seconds * 2 ** faults, 300));
}

wait();
