"use strict";
// Asks for the page again every data-refresh seconds and takes over the parts that are marked data-live.
// A part stays as it is while the pointer, the focus or a selection is in it; what is under the pointer does
// not move. Without it, a page shows the state at which it was loaded.
const main = document.querySelector("main");
let seconds = Number(main.dataset.refresh);
let faults = 0;

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
    if (!now || now.innerHTML === part.innerHTML || isInUse(part)) continue;
    const opened = [...part.querySelectorAll("details")].map((one) => one.open);
    now.querySelectorAll("details").forEach((one, place) => (one.open = opened[place] || false));
    part.replaceChildren(...now.childNodes);
  }
  if (pointed) scrollBy(0, pointed.getBoundingClientRect().top - before);
  seconds = Number(fresh.querySelector("main").dataset.refresh);
}

async function refresh() {
  try {
    const answer = await fetch(location.href);
    if (answer.status === 401 || answer.status === 403) return;
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
  setTimeout(() => {
    if (document.hidden) document.addEventListener("visibilitychange", refresh, { once: true });
    else refresh();
  }, 1000 * Math.min(seconds * 2 ** faults, 300));
}

wait();
